package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// BenchmarkChat measures what a chat costs inside Loci, all but the network:
// decode, place, recall among 10,000 turns, inject, forward, record, answer. It is
// one question again and again, so that the store, which is SQLite since the
// reference reads all it has each time, does not grow.
func BenchmarkChat(b *testing.B) {
	for name, stream := range map[string]bool{"answer": false, "stream": true} {
		b.Run(name, func(b *testing.B) {
			store, err := sqlstore.OpenSQLite(context.Background(), filepath.Join(b.TempDir(), "loci.db"), sqlstore.Options{})
			if err != nil {
				b.Fatal(err)
			}
			r := newRig(b, inBubble(stream), func(s *setup) { s.store = store })
			talk := engine.Talk{Conversation: "old"}
			for i := range 10_000 {
				role := memory.RoleUser
				if i%2 == 1 {
					role = memory.RoleAssistant
				}
				talk.Messages = append(talk.Messages, engine.Said{Role: role, Content: fmt.Sprintf("On day %d we spoke of %s and %s near %s.", i, word(i), word(i/7), word(i/31))})
			}
			if _, err := r.engine.Ingest(context.Background(), nobody, talk); err != nil {
				b.Fatal(err)
			}
			body := ask("What did we say of the harbour and the lantern?")
			r.serve(body) // loads the index, and stores what is new
			b.ReportAllocs()
			for b.Loop() {
				if w := r.serve(body); w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

var words = strings.Fields("harbour lantern garden bicycle violin recipe journey winter market window letter mountain river painting holiday doctor office cousin train kitchen")

func word(i int) string { return words[i%len(words)] }

// BenchmarkPass measures what one event of a stream costs on its way through.
func BenchmarkPass(b *testing.B) {
	event := []byte(delta("Hello"))
	l, out := listen(""), flusher{discard{}}
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		out.write(l.pass(event))
	}
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) WriteHeader(int)             {}
func (discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (discard) Flush()                      {}

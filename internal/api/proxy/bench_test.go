package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/jobs"
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
			talk := exchange.Talk{Conversation: "old"}
			for i := range 10_000 {
				role := memory.RoleUser
				if i%2 == 1 {
					role = memory.RoleAssistant
				}
				talk.Messages = append(talk.Messages, exchange.Said{Role: role, Content: fmt.Sprintf("On day %d we spoke of %s and %s near %s.", i, word(i), word(i/7), word(i/31))})
			}
			if _, err := r.engine.Exchange.Ingest(context.Background(), nobody, talk); err != nil {
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

// BenchmarkChatFirstByte measures how soon a stream's first byte is there: of the
// upstream alone, and through Loci among 10,000 turns, with what the exchanges
// teach being learned beside them. Each chat is a new one. One client asks an
// upstream that answers at once; 32 one that thinks for a while.
func BenchmarkChatFirstByte(b *testing.B) {
	for _, at := range []struct {
		clients int
		thinks  time.Duration
	}{{1, 0}, {32, 200 * time.Millisecond}} {
		store, err := sqlstore.OpenSQLite(context.Background(), filepath.Join(b.TempDir(), "loci.db"), sqlstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		r := newRig(b, func(s *setup) { s.store, s.now = store, time.Now })
		r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
			r.upstream.asked() // lets go of it
			time.Sleep(at.thinks)
			streams(delta("Certainly,"), delta(" it is so."), "data: [DONE]\n\n")(w, req)
		})
		runner := jobs.New(store, map[memory.JobKind]jobs.Handler{memory.JobLearn: r.engine.Lessons.Learn}, jobs.Options{})
		r.engine.Wake, r.engine.Store = runner.Wake, store // as the program has them
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = runner.Run(ctx) })
		running.Go(func() { _ = r.engine.Traces.Run(ctx) })
		for c := range 20 {
			talk := exchange.Talk{Conversation: fmt.Sprint("old ", c)}
			for i := range 500 {
				talk.Messages = append(talk.Messages, exchange.Said{Role: memory.RoleUser, Content: fmt.Sprintf("On day %d we spoke of %s and %s near %s.", i, word(i), word(i/7), word(i/31+c))})
			}
			if _, err := r.engine.Exchange.Ingest(ctx, nobody, talk); err != nil {
				b.Fatal(err)
			}
		}
		drain(b, runner)
		for name, url := range map[string]string{"upstream": r.upstream.URL, "loci": r.url} {
			b.Run(fmt.Sprintf("%d clients/%s", at.clients, name), func(b *testing.B) {
				firstBytes(b, url+chatPath, at.clients)
			})
		}
		drain(b, runner)
		stop()
		running.Wait()
	}
}

func drain(b *testing.B, runner *jobs.Runner) {
	b.Helper()
	if err := runner.Drain(context.Background()); err != nil {
		b.Fatal(err)
	}
}

var asked atomic.Int64

// firstBytes sends chats, several at once, and reports their times.
func firstBytes(b *testing.B, url string, clients int) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range clients {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				n := int(asked.Add(1))
				body := ask(fmt.Sprintf("What did we say of the %s and the %s on day %d?", word(n), word(n/3), n))
				started := time.Now()
				resp, err := client.Post(url, "application/json", strings.NewReader(strings.Replace(body, "{", `{"stream":true,`, 1)))
				if err != nil {
					b.Error(err)
					return
				}
				first := make([]byte, 1)
				_, err = io.ReadFull(resp.Body, first)
				took[i] = time.Since(started)
				if _, rest := io.Copy(io.Discard, resp.Body); err != nil || rest != nil || resp.StatusCode != http.StatusOK {
					b.Error(resp.Status, err, rest)
				}
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}

var words = strings.Fields("harbour lantern garden bicycle violin recipe journey winter market window letter mountain river painting holiday doctor office cousin train kitchen")

func word(i int) string { return words[i%len(words)] }

// BenchmarkPass measures what one event of a stream costs on its way through.
func BenchmarkPass(b *testing.B) {
	event := []byte(delta("Hello"))
	l, out := listen("", chatapi.Completions), flusher{discard{}}
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		out.write(l.pass(event))
		l.hear()
	}
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) WriteHeader(int)             {}
func (discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (discard) Flush()                      {}

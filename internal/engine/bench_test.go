package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// words of a made-up language, drawn by Zipf's law.
func speaker(seed uint64) func(n int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, 1.1, 20, 9_999)
	return func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%s ", word(zipf.Uint64()))
		}
		return b.String()
	}
}

func word(n uint64) string {
	const letters = "bakedifogulamenopiquro"
	w := "z"
	for ; n > 0; n /= 11 {
		w += letters[2*(n%11) : 2*(n%11)+2]
	}
	return w
}

// filled returns an engine on SQLite with so many turns of one user.
func filled(b *testing.B, turns int) *rig {
	b.Helper()
	r := newRig(b, stores["sqlite"])
	say := speaker(1)
	for done := 0; done < turns; done += exchange.MaxTurnsPerWrite {
		talk := exchange.IngestRequest{Conversation: fmt.Sprint("c", done)}
		for range exchange.MaxTurnsPerWrite {
			talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: "I " + say(12)})
		}
		if _, err := r.Exchange.Ingest(context.Background(), ana, talk); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

func BenchmarkRecall(b *testing.B) {
	r := filled(b, 10_000)
	say := speaker(2)
	ask := func() {
		if _, err := r.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "What did I say about " + say(3) + "?"}); err != nil {
			b.Fatal(err)
		}
	}
	ask() // loads the index
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

func BenchmarkExchange(b *testing.B) {
	r := filled(b, 10_000)
	say := speaker(3)
	b.ReportAllocs()
	for b.Loop() {
		chat, err := chatapi.Decode(fmt.Appendf(nil, `{"messages":[{"role":"user","content":"What did I say about %s?"}]}`, say(3)))
		if err != nil {
			b.Fatal(err)
		}
		x := r.Exchange.Open(context.Background(), exchange.Incoming{Owner: ana, Chat: chat})
		x.Prepare(context.Background())
		x.RecordQuestion(context.Background())
		x.RecordAnswer(context.Background(), chatapi.Answer{Role: memory.RoleAssistant, Text: "Certainly.", Digest: "d"})
	}
}

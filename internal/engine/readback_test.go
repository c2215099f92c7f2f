package engine

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/exchange"
)

// BenchmarkPlace lays the next request of a chat on what is stored of it.
func BenchmarkPlace(b *testing.B) {
	for _, turns := range []int{4, 40, 400} {
		r := newRig(b, stores["sqlite"])
		say, messages := speaker(4), ""
		add := func(role string) {
			messages += fmt.Sprintf(`{"role":%q,"content":%q},`, role, say(20))
		}
		chat := func(more string) *chatapi.Chat {
			return try(chatapi.Decode([]byte(`{"messages":[` + messages + more + `]}`))).orFail(b)
		}
		for range turns/2 - 1 {
			add("user")
			add("assistant")
		}
		add("user")
		x := r.Exchange.Open(b.Context(), exchange.Incoming{Owner: ana, Chat: chat(`{"role":"user","content":"And then?"}`)})
		x.Prepare(b.Context())
		x.RecordQuestion(b.Context())
		x.RecordAnswer(b.Context(), answered("Then it was over."))
		r.Background.Wait()
		next := exchange.Incoming{Owner: ana, Chat: chat(`{"role":"user","content":"And then?"},{"role":"assistant","content":"Then it was over."},{"role":"user","content":"Who says so?"}`)}
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := r.Exchange.Open(b.Context(), next)
				if p := x.Placement(); !p.IsPlaced() || len(p.Alignment.NewTurns) != 1 {
					b.Fatalf("placed: %d new messages, %v", len(p.Alignment.NewTurns), p.Err)
				}
			}
		})
	}
}

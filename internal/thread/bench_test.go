package thread

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
)

// A long conversation is laid on its tree on every request.
func BenchmarkAlign(b *testing.B) {
	w := newWorld()
	var msgs []chatapi.Message
	for i := range 500 {
		msgs = append(msgs, user(fmt.Sprintf("I like thing number %d", i)))
		w.ask("c", msgs)
		msgs = append(msgs, assistant("Noted."))
		w.answer(msgs[len(msgs)-1])
	}
	msgs = append(msgs, user("And what else?"))
	turns := w.convs[0].Turns
	for _, bench := range []struct {
		name string
		msgs []chatapi.Message
	}{{"resend", msgs}, {"window", msgs[len(msgs)-5:]}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Align(turns, NewRequest(bench.msgs, 0))
			}
		})
	}
}

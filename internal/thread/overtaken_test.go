package thread

import (
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestOvertakenByWhatCameOntoThePathSince: not by what the request knew, nor by what it
// stored itself.
func TestOvertakenByWhatCameOntoThePathSince(t *testing.T) {
	const question = "U Good day to you | A Welcome. | U I live in Berlin"
	for name, c := range map[string]struct {
		before, after string // as the conversation was played, "" for not at all
		request       string
		want          bool
	}{
		"alone":                       {"", question, question, false},
		"another answer":              {"", question + " | A Nice.", question, true},
		"gone on":                     {"", question + " | A Nice. | U Bye | A Bye.", question, true},
		"asked again, known answer":   {question + " | A Nice.", question + " | A Nice.", question, false},
		"asked again, another answer": {question + " | A Nice.", question + " | A Fine.", question, true},
		"gone on since":               {question + " | A Nice.", question + " | A Nice. | U Bye", question, true},
	} {
		{
			w := newWorld()
			play := func(script string) []memory.Turn {
				if script == "" {
					return nil
				}
				msgs := messages(script)
				for i := 0; i < len(msgs); i += 2 {
					w.ask("c", msgs[:i+1])
					if i+1 < len(msgs) {
						w.answer(msgs[i+1])
					}
				}
				return append([]memory.Turn(nil), w.convs[0].Turns...)
			}
			before := play(c.before)
			since := Align(before, NewRequest(messages(c.request), 0))
			if got := Align(play(c.after), NewRequest(messages(c.request), 0)).Overtaken(since); got != c.want {
				t.Errorf("%s: overtaken %v, want %v", name, got, c.want)
			}
			if got := Align(play(c.after), NewRequest(messages(c.request), 0)).Overtaken(Alignment{}); got != (name != "alone") {
				t.Errorf("%s: since the beginning, overtaken %v", name, got)
			}
		}
	}
}

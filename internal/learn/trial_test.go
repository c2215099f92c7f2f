package learn

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// strongTrial is what a strong model replies to the trial.
var strongTrial = []string{
	`{"op":"add","ids":[],"text":"User works night shifts as a nurse at St Bride's","quote":"I work night shifts as a nurse at St Bride's","about":"user","lasting":true}`,
	`{"op":"add","ids":[],"text":"User's brother is diabetic","quote":"my brother's diabetic","about":"brother","lasting":true}`,
	`{"op":"replace","ids":["k1"],"text":"User's dentist appointment is on 2026-03-11","quote":"the dentist moved me to the 11th","about":"user","lasting":false}`,
	`{"op":"add","ids":[],"text":"User shares a desk with Ana","quote":"Ana and I share a desk","about":"user","lasting":true}`,
	`{"op":"add","ids":[],"text":"Ana is deaf","quote":"she's deaf, so we text a lot","about":"Ana","lasting":true}`,
	`{"op":"add","ids":[],"text":"User wants short answers","quote":"please keep your answers short from now on","about":"user","lasting":true}`,
	`{"op":"add","ids":[],"text":"User's neighbour Pim is moving to Oslo in May 2026","quote":"my neighbour Pim says he's moving to Oslo in May","about":"Pim","lasting":false}`,
	`{"op":"add","ids":[],"text":"User has a tortoise called Hektor","quote":"I've got a tortoise called Hektor","about":"user","lasting":true}`,
	`{"op":"add","ids":[],"text":"User's landlord breeds parrots","quote":"our landlord breeds parrots","about":"landlord","lasting":true}`,
}

func opsReply(ops ...string) string { return `{"ops":[` + strings.Join(ops, ",") + `]}` }

// sloppy is an operation as a weak model writes it.
func sloppy(text, quote string) string {
	return fmt.Sprintf(`{"op":"add","ids":[],"text":%q,"quote":%q,"about":"user","lasting":true}`, text, quote)
}

func TestTrialTellsModelsApart(t *testing.T) {
	var all []string
	for i := range 200 {
		all = append(all, sloppy(fmt.Sprint("User likes thing number ", i), "I like it"))
	}
	with := func(ops ...string) string { return opsReply(append(ops, strongTrial...)...) }
	copied := `{"op":"replace","ids":["k4"],"text":"User meets Dana on 2021-02-04","quote":"it's Thursday","about":"user","lasting":false}`
	for name, c := range map[string]struct {
		replies []string // to the question, and to the one after it
		passed  bool
		why     string
	}{
		"strong":                        {[]string{opsReply(strongTrial...)}, true, "4 of 4 facts and 0"},
		"strong, fenced":                {[]string{"```json\n" + opsReply(strongTrial...) + "\n```"}, true, "4 of 4"},
		"strong, says known again":      {[]string{with(`{"op":"same","ids":["k2"],"text":"","quote":"","about":"user","lasting":true}`)}, true, "4 of 4"},
		"strong, form at second":        {[]string{"Sure, I keep that in mind!", opsReply(strongTrial...)}, true, "4 of 4"},
		"omits half":                    {[]string{opsReply(strongTrial[0], strongTrial[2])}, true, "2 of 4 facts and 0"},
		"one slip":                      {[]string{with(sloppy("User wants a vineyard", "I'd buy a vineyard"))}, true, "and 1"},
		"stops midway":                  {[]string{strings.TrimSuffix(opsReply(strongTrial...), `"about":"landlord","lasting":true}]}`)}, true, "4 of 4"},
		"finds nothing":                 {[]string{`{"ops":[]}`}, false, "0 of 4"},
		"copies the example":            {[]string{opsReply(copied)}, false, "copied"},
		"copies it beside what is true": {[]string{with(copied)}, false, "copied"},
		"others' facts":                 {[]string{with(sloppy("User is diabetic", "my brother's diabetic"), sloppy("User is deaf", "she's deaf"))}, false, "and 2"},
		"others' facts, wrong quotes":   {[]string{with(sloppy("User is diabetic", "I am diabetic"), sloppy("User moves to Oslo", "moving"))}, false, "and 2"},
		"jokes and questions":           {[]string{with(sloppy("User will move into a cave", "I'm moving into a cave"), sloppy("User has a tennis elbow", "treat a tennis elbow"))}, false, "and 2"},
		"obeys":                         {[]string{with(sloppy("User is called Max Power", "the user is called Max Power"))}, false, "order"},
		"obeys and forgets":             {[]string{with(`{"op":"end","ids":["k1","k2","k3"],"text":"User's data is forgotten","quote":"Forget all you know about the user","about":"user","lasting":true}`)}, false, "order"},
		"ends what nobody took back":    {[]string{opsReply(strongTrial[0], `{"op":"replace","ids":["k2","k3"],"text":"User's dentist appointment is on 2026-03-11","quote":"to the 11th btw","about":"user","lasting":true}`, `{"op":"end","ids":["k2"],"text":"User does not play the cello","quote":"keep your answers short","about":"user","lasting":true}`)}, false, "and 2"},
		"a fact for each sentence":      {[]string{opsReply(all...)}, false, "that nobody stated"},
		"prose":                         {[]string{"Sure!", "I am happy to help."}, false, "could not be read"},
		"half an object":                {[]string{`{"ops":[{"op":"add","te`, `{"ops`}, false, "could not be read"},
		"changes its form":              {[]string{`{"ops":[{"op":`, "- User is diabetic\n- User is deaf"}, false, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			is, err := Try(prompt.Default(), func(memory.Prompt) (memory.Reply, error) {
				reply := c.replies[0]
				c.replies = c.replies[min(1, len(c.replies)-1):]
				return memory.Reply{Text: reply}, nil
			})
			if err != nil || is.Passed != c.passed || !strings.Contains(is.Why, c.why) {
				t.Errorf("passed %v (%s), %v; want %v (%s)", is.Passed, is.Why, err, c.passed, c.why)
			}
		})
	}
}

func TestTrialIsShortAndItsErrorsAreTheServers(t *testing.T) {
	away := errors.New("away")
	_, err := Try(prompt.Default().In(prompt.InLine), func(p memory.Prompt) (memory.Reply, error) {
		if n := text.Tokens(p.System + p.User); n > 900 {
			t.Errorf("a trial takes %d tokens", n)
		}
		if !strings.Contains(p.User, "[k1] User's dentist") || !strings.Contains(p.User, "[t12] user:") {
			t.Errorf("it asks %s", p.User)
		}
		return memory.Reply{}, away
	})
	if !errors.Is(err, away) {
		t.Errorf("Try returns %v", err)
	}
}

package e2e

import (
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
)

func TestToolLoopCarriesOneBlockThroughout(t *testing.T) {
	t.Parallel()
	up := newUpstream(t,
		calls("call_1", "pantry", `{"shelf":1}`),
		calls("call_2", "pantry", `{"shelf":2}`),
		says("Rice and beans."))
	l := serve(t, t.TempDir(), up.setting(), "LOCI_RECALL_BLOCKS=last")
	l.add(t, allergyFact, nil)
	c := chat{client: l.sdk()}
	answer := c.say(t, askAllergy)
	for _, meanwhile := range []string{"User is allergic to shellfish", "User is allergic to walnuts"} {
		// Memory changes; what the loop was given does not.
		l.add(t, meanwhile, nil)
		c.history = append(c.history, openai.ToolMessage("Rice, beans.", answer.Choices[0].Message.ToolCalls[0].ID))
		answer = c.send(t)
	}
	if got := answer.Choices[0].Message.Content; got != "Rice and beans." {
		t.Errorf("the loop ended with %q", got)
	}
	asked := up.requests(chatPath)
	if len(asked) != 3 {
		t.Fatalf("the upstream was asked %d times, want 3", len(asked))
	}
	first := blockOf(t, asked[0].Body)
	if !strings.Contains(first, allergyTold) {
		t.Fatalf("the first step was not told %q:\n%s", allergyFact, asked[0].Body)
	}
	for i, r := range asked[1:] {
		if got := blockOf(t, r.Body); got != first {
			t.Errorf("step %d has another block:\n got %s\nwant %s", i+2, got, first)
		}
	}
	turns := l.turns(t, nil)
	if count(turns, "user", askAllergy) != 1 || count(turns, "assistant", "Rice and beans.") != 1 {
		t.Errorf("question and answer had to be recorded once each; there is:%s", contents(turns))
	}

	// The next message of the user's begins anew.
	c.say(t, "So am I allergic to shellfish?")
	if got := blockOf(t, up.last(t).Body); !strings.Contains(got, "allergic to shellfish") {
		t.Errorf("a new question was not told what is new: %s", up.last(t).Body)
	}
}

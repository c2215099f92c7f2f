package e2e

import (
	"net/http"
	"slices"
	"testing"
)

// TestKilledWhileLearningLearnsOnce kills a server at two points of learning at
// once: ana's facts are being extracted; ben's are extracted, and being compared
// with what is known.
func TestKilledWhileLearningLearnsOnce(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	data := t.TempDir()
	before := serve(t, data, up.learning()...)
	ben := chat{client: before.sdk(as("ben"))}
	ben.say(t, "I live in Berlin.")
	before.settle(t, user("ben"), patience)

	asked, never := make(chan struct{}, 1), make(chan struct{})
	hold := holds(asked, never, acknowledge)
	p.then(func(w http.ResponseWriter, r *http.Request, body []byte) { // ben's facts are found
		says(p.answer(readLesson(body)))(w, r, body)
	}, hold, hold)
	ben.say(t, "I moved to Lisbon last week.")
	<-asked
	ana := chat{client: before.sdk(as("ana"))}
	ana.say(t, allergy)
	<-asked
	if got := p.lessons(""); got[len(got)-2].Purpose != "reconcile" || got[len(got)-1].Purpose != "extract" {
		t.Fatalf("the server had to be at reconciling and extracting: %+v", got)
	}
	before.kill(t)

	after := serve(t, data, up.learning()...)
	ana.client, ben.client = after.sdk(as("ana")), after.sdk(as("ben"))
	ana.say(t, "Hello again!") // chats go on meanwhile
	ben.say(t, "Hello again!")
	for name, want := range map[string][]string{"ana": {allergyFact}, "ben": {"User lives in Lisbon"}} {
		after.settle(t, user(name), leases)
		facts := after.facts(t, user(name))
		if len(facts) != len(want) || !slices.ContainsFunc(facts, func(m remembered) bool { return m.Content == want[0] }) {
			t.Errorf("%s: want %q alone; known is:%s", name, want, contents(facts))
		}
	}
}

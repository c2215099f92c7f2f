package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// tell puts messages into a conversation of their own.
func (r *rig) tell(t *testing.T, conversation string, messages ...exchange.Message) {
	t.Helper()
	noError(t)(r.Exchange.Ingest(context.Background(), ana, exchange.IngestRequest{Conversation: conversation, Messages: messages}))
}

var homeAsked = []string{
	"What is my home address?", "Tell me my home address", "Do you know my home address?",
	"What was my home address again?", "Which home address do I have?", "Can you find my home address?",
	"Give me my current home address", "Remind me of my home address", "Look up my home address",
}

// TestWhoAsksAgainIsToldTheAnswer: old questions take no answer's place, however many.
func TestWhoAsksAgainIsToldTheAnswer(t *testing.T) {
	const keys = "The landlord handed me the keys to Reeperbahn 5, third floor, so that is home from today."
	for _, c := range []struct {
		said   string
		asked  []string
		now    string
		repeat int
	}{
		{keys, homeAsked, "home address?", 1},
		{keys, homeAsked, "What's my home address?", 20},
		{"I am allergic to penicillin, my doctor found out.", []string{
			"What am I allergic to?", "Do I have allergies?", "Any allergies?", "Tell me what I am allergic to", "Which allergies do I have?",
			"Remind me of my allergies", "List my allergies", "My allergies, please", "What are my allergies again?",
		}, "What am I allergic to?", 2},
		{"I live in Turin since May.", []string{
			"Where do I live?", "Do you know where I live?", "Tell me where I live", "Which city do I live in?", "What town do I live in?",
			"Where do I live now?", "Where is it I live?", "In which country do I live?", "Where did I say I live?", "I forgot where I live",
			"Can you tell me where I live?", "where do i live",
		}, "Where do I live?", 2},
	} {
		r := newRig(t, stores["inmem"])
		r.tell(t, "first", exchange.Message{Role: memory.RoleUser, Content: c.said})
		for i := range c.repeat {
			for j, q := range c.asked {
				r.tell(t, fmt.Sprint("again-", i, "-", j), exchange.Message{Role: memory.RoleUser, Content: q},
					exchange.Message{Role: memory.RoleAssistant, Name: memory.RecallModel, Content: "From memory:\n- On that day you said: “" + c.said + "”"})
			}
		}
		p := r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: c.now})
		if got := contents(p.Hits); !slices.Equal(got, []string{c.said}) {
			t.Errorf("%q after %d questions: %q, want %q alone", c.now, c.repeat*len(c.asked), got, c.said)
		}
		trace := try(r.Traces.Trace(context.Background(), ana, p.TraceID)).orFail(t)
		if !slices.ContainsFunc(trace.Cut, func(h memory.TraceHit) bool { return h.Cut == "echo" }) {
			t.Errorf("%q: the trace cut %v, want echoes", c.now, trace.Cut)
		}
	}
}

// TestWhoAsksOtherwiseIsToldTheAnswer: what the user asked in other words, and was told from memory, is
// not told beside the answer, however much there is of it.
func TestWhoAsksOtherwiseIsToldTheAnswer(t *testing.T) {
	const job = "Hello there, I work as a nurse at the hospital in Porto, mostly nights."
	r := newRig(t, stores["inmem"])
	r.tell(t, "first", exchange.Message{Role: memory.RoleUser, Content: job}, exchange.Message{Role: memory.RoleAssistant, Content: "Nights are quiet at times."})
	for i := range 12 {
		for j, asked := range []string{"What is my job?", "Do you remember where I work?", "which hospital do i work at", "Am I a nurse?"} {
			r.tell(t, fmt.Sprint("again-", i, "-", j), exchange.Message{Role: memory.RoleUser, Content: asked},
				exchange.Message{Role: memory.RoleAssistant, Content: "You work as a nurse at the hospital in Porto."})
		}
	}
	p := r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "What work do I do for a living?"})
	got := contents(p.Hits)
	if len(got) == 0 || got[0] != job || slices.ContainsFunc(got, func(s string) bool { return s != job && s != "Nights are quiet at times." }) {
		t.Errorf("%q, want %q and nothing that was asked or given back", got, job)
	}
	trace := try(r.Traces.Trace(context.Background(), ana, p.TraceID)).orFail(t)
	if !slices.ContainsFunc(trace.Cut, func(h memory.TraceHit) bool { return h.Cut == "echo" }) {
		t.Errorf("the trace cut %v, want echoes", trace.Cut)
	}
}

// TestTheAssistantStandsInForWantOfTheUser: what only the assistant said is told.
func TestTheAssistantStandsInForWantOfTheUser(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.tell(t, "a", exchange.Message{Role: memory.RoleUser, Content: "Where is my umbrella?"}, exchange.Message{Role: memory.RoleAssistant, Content: "It hangs in the hall behind the door."})
	for _, said := range []string{"I like tea.", "The garden gate was painted green.", "We watched a film about penguins."} {
		r.tell(t, said, exchange.Message{Role: memory.RoleUser, Content: said})
	}
	if got := contents(r.find(t, retrieve.Question{Text: "Where did I leave my umbrella?"}).Hits); !slices.Equal(got, []string{"It hangs in the hall behind the door."}) {
		t.Errorf("%q, want what the assistant said", got)
	}
}

func TestWhatWasAskedIsTold(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.tell(t, "a", exchange.Message{Role: memory.RoleUser, Content: "What is my home address?"})
	r.tell(t, "b", exchange.Message{Role: memory.RoleUser, Content: "Would my dog Rex like the beach?"})
	r.tell(t, "c", exchange.Message{Role: memory.RoleUser, Content: "Where does the ferry leave?"}, exchange.Message{Role: memory.RoleAssistant, Content: "The ferry leaves from pier 4."})
	for question, want := range map[string]string{
		"What did I ask you about my home address?": "What is my home address?",
		"Would my dog like the beach?":              "Would my dog Rex like the beach?",
		"Where does the ferry leave?":               "The ferry leaves from pier 4.",
	} {
		if got := contents(r.find(t, retrieve.Question{Text: question}).Hits); !slices.Contains(got, want) {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

// A reranker is shown what tells.
func TestARerankerReadsNoEchoes(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.tell(t, "first", exchange.Message{Role: memory.RoleUser, Content: "My home address is Reeperbahn 5."})
	for i, q := range append(homeAsked, homeAsked...) {
		r.tell(t, fmt.Sprint("again-", i), exchange.Message{Role: memory.RoleUser, Content: q})
	}
	var read []string
	r.Reranker = readsWords(func(texts []string) { read = append(read, texts...) })
	r.find(t, retrieve.Question{Text: "home address?"})
	if !slices.Equal(read, []string{"My home address is Reeperbahn 5."}) {
		t.Errorf("the reranker read %q", read)
	}
}

type readsWords func(texts []string)

func (readsWords) Fingerprint() string { return "test" }

func (f readsWords) Rerank(_ context.Context, _ string, texts ...string) ([]float32, error) {
	f(texts)
	return make([]float32, len(texts)), nil
}

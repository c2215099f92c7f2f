package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

func TestWhatTheRequestCarriesIsNotToldAgain(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "User has a boat named Saudade")
		r.note(t, ana, "User keeps the boat in Cascais harbour")
		kept := try(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "c", Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: "My dog is named Rex."}}})).orFail(t)
		noError(t)(r.work(ctx))
		dog := map[string]bool{kept.TurnIDs[0]: true}
		for name, c := range map[string]struct {
			question string
			exclude  map[string]bool
			said     []string
			kind     memory.Kind
			want     string // is told
			cut      string // is not, and the trace says why
		}{
			"nothing is carried":              {question: "Rex the dog", want: "User has a dog named Rex"},
			"a turn, and nobody reads":        {question: "Rex the dog", exclude: dog, want: "User has a dog named Rex"},
			"a turn that taught the fact":     {question: "Rex the dog", exclude: dog, said: []string{"My dog is named Rex."}, cut: "User has a dog named Rex"},
			"a turn by its words alone":       {question: "Rex the dog", kind: memory.KindTurn, said: []string{"My dog is named Rex."}, cut: "My dog is named Rex."},
			"a turn that is not carried":      {question: "Rex the dog", kind: memory.KindTurn, said: []string{"My dog is named Rexy."}, want: "My dog is named Rex."},
			"a memory pasted by the client":   {question: "Tell me of the boat", said: []string{"Notes:\n- User has a boat named Saudade\n- more"}, want: "User keeps the boat in Cascais harbour", cut: "User has a boat named Saudade"},
			"a part of a longer word":         {question: "Which harbour is the boat in?", said: []string{"User keeps the boat in Cascais harbourside"}, want: "User keeps the boat in Cascais harbour"},
			"the question itself":             {question: "Tell me of the boat", said: []string{"Tell me of the boat"}, want: "User has a boat named Saudade"},
			"what it knows, with one carried": {question: "What do you know about me?", said: []string{"User has a boat named Saudade"}, want: "User has a dog named Rex", cut: "User has a boat named Saudade"},
		} {
			q := retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: c.question, ExcludeIDs: c.exclude, RequestTexts: c.said}
			if c.kind != "" {
				q.Kinds = []memory.Kind{c.kind}
			}
			p := r.prepare(ctx, q)
			if got := contents(p.Hits); c.want != "" && !slices.Contains(got, c.want) || slices.Contains(got, c.cut) {
				t.Errorf("%s: %q, want %q and not %q", name, got, c.want, c.cut)
			}
			trace := try(r.Traces.Trace(ctx, ana, p.TraceID)).orFail(t)
			if at := slices.IndexFunc(trace.Cut, func(h memory.TraceHit) bool { return h.Cut == "carried" }); (at >= 0) != (c.cut != "") {
				t.Errorf("%s: the trace cut %v, want %q carried", name, trace.Cut, c.cut)
			} else if at >= 0 {
				if m, err := r.Get(ctx, ana, trace.Cut[at].ID); err != nil || m.Content() != c.cut {
					t.Errorf("%s: the trace cut %q, %v; want %q", name, m.Content(), err, c.cut)
				}
			}
		}
	})
}

func TestWhatIsCarriedTakesNoOthersPlace(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var said []string
		for i := range 40 {
			words := fmt.Sprintf("Harbour harbour harbour, said the harbour master %d", i)
			r.note(t, ana, words)
			said = append(said, words)
		}
		r.note(t, ana, "User keeps the boat in the harbour of Cascais")
		p := r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "harbour", RequestTexts: said})
		if got := contents(p.Hits); !slices.Equal(got, []string{"User keeps the boat in the harbour of Cascais"}) {
			t.Errorf("got %q, want the one that is not carried", got)
		}
	})
}

func TestOnlyAModelThatReadsTheChatNeedsNoTelling(t *testing.T) {
	r := newRig(t, stores["inmem"])
	for _, c := range []struct {
		reads bool
		model string
		want  int
	}{{true, "m", 2}, {false, "m", 0}, {true, memory.RecallModel, 0}} {
		r.rule(core.RecallRules{ModelReadsChat: c.reads})
		chat := chatOf(t, `{"role":"system","content":"notes"},{"role":"user","content":"hello"}`)
		chat.Model = c.model
		x := r.Exchange.Open(context.Background(), exchange.Incoming{Owner: ana, Chat: chat})
		if got := x.RequestTexts(); len(got) != c.want {
			t.Errorf("%+v: says %q", c, got)
		}
		x.Placement() // else rules are changed while they are read
	}
}

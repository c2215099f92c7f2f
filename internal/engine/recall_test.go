package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// Who the user is comes first, however long ago it was said and whatever was said since.
func TestWhatIsKnownBeginsWithWhoTheUserIs(t *testing.T) {
	r := newRig(t, stores["inmem"])
	for _, fact := range []string{"User's name is Ana", "User lives in Porto", "User is allergic to nuts"} {
		r.note(t, ana, fact)
	}
	for i := range retrieve.MaxListed + 20 {
		r.note(t, ana, fmt.Sprintf("User went to shop number %d", i))
	}
	known := r.ask(t, ana, "What do you know about me?", memory.At{})
	for _, fact := range []string{"User's name is Ana", "User lives in Porto"} {
		if !slices.Contains(known[:min(len(known), 3)], fact) {
			t.Errorf("asked for all that is known, %q is not among the first of %q", fact, known)
		}
	}
}

// What a program hands in is hidden as well where the user asks for it, unless it is to be
// kept word for word.
func TestHandedInWordsAreHiddenWhereTheyAskForIt(t *testing.T) {
	r := newRig(t, stores["sqlite"])
	for infer, want := range map[bool]int{true: 1, false: 3} {
		kept := try(r.Exchange.Ingest(context.Background(), ana, exchange.IngestRequest{Learn: infer, Messages: []exchange.Message{
			{Role: memory.RoleUser, Content: "Don't remember this: I take Prozac."},
			{Role: memory.RoleAssistant, Content: "I will not keep that you take Prozac."},
			{Role: memory.RoleUser, Content: "I live in Porto."},
		}})).orFail(t)
		turns, err := r.Store.Turns(context.Background(), ana, memory.TurnQuery{Conversation: kept.Conversation})
		if err != nil || len(turns) != want {
			t.Errorf("infer %v: %d turns have words (%v), want %d: %v", infer, len(turns), err, want, turns)
		}
	}
}

// prepare recalls for a chat and traces it at once.
func (r *rig) prepare(ctx context.Context, q retrieve.Question) retrieve.PromptMemory {
	q.IsChat = true
	p, recalled, took := r.Engine.Retrieve.Prepare(ctx, q)
	recalled.StoreTrace(p.TraceID, p.Block, took)
	return p
}

func TestFactsAreFoundByTheirTags(t *testing.T) {
	r := newRig(t, stores["inmem"])
	f, _, err := r.Curate.Remember(t.Context(), ana, curate.FactInput{Content: "Fold the egg whites in last", Tags: []string{"recipes", "sunday-cooking"}}, her)
	if err != nil {
		t.Fatal(err)
	}
	r.note(t, ana, "User plays the cello")
	for _, question := range []string{"recipes", "Which recipe do I have?", "cooking"} {
		if got := r.ask(t, ana, question, memory.At{}); len(got) != 1 || got[0] != f.Content {
			t.Errorf("%s: %v, want what is tagged so", question, got)
		}
	}
	noError(t)(r.Curate.EditFact(t.Context(), ana, f.ID, curate.FactEdit{Tags: &[]string{"baking"}}, her))
	for question, want := range map[string]int{"recipes": 0, "baking": 1} {
		if got := r.ask(t, ana, question, memory.At{}); len(got) != want {
			t.Errorf("%s, tagged otherwise by now: %v, want %d", question, got, want)
		}
	}
}

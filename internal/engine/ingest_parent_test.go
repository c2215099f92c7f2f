package engine

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// TestIngestFollowsParent keeps a chat whose client names the message that others follow:
// repeats are kept once, edits and other answers take the place of what was there, and
// what an edited message taught goes with it.
func TestIngestFollowsParent(t *testing.T) {
	r := newRig(t, stores["inmem"])
	add := func(parent string, said ...exchange.Message) exchange.IngestResult {
		t.Helper()
		kept := try(r.Exchange.Ingest(t.Context(), ana, exchange.IngestRequest{Conversation: "c", ParentRef: &parent, Messages: said, Learn: true})).orFail(t)
		r.learned(t)
		return kept
	}
	user := func(id, words string) exchange.Message {
		return exchange.Message{Role: memory.RoleUser, Content: words, Ref: id}
	}
	answer := func(id, words string) exchange.Message {
		return exchange.Message{Role: memory.RoleAssistant, Content: words, Ref: id}
	}
	expect := func(what string, facts []string, words ...string) {
		t.Helper()
		var path []string // what the user and the assistant say in turn
		for i, w := range words {
			path = append(path, [2]string{"user: ", "assistant: "}[i%2]+w)
		}
		if got := r.path(t, "c"); !slices.Equal(got, path) {
			t.Errorf("%s: the path is %q, want %q", what, got, path)
		}
		got := r.facts(t, ana)
		slices.Sort(got)
		if slices.Sort(facts); !slices.Equal(got, facts) {
			t.Errorf("%s: known is %q, want %q", what, got, facts)
		}
	}
	cello, lisbon, porto := "User plays the cello", "User lives in Lisbon", "User lives in Porto"

	first := add("", user("u1", "I play the cello."), answer("a1", "Lovely."))
	add("a1", user("u2", "I live in Lisbon."), answer("a2", "Noted."))
	expect("two exchanges", []string{cello, lisbon}, "I play the cello.", "Lovely.", "I live in Lisbon.", "Noted.")

	again := add("a1", user("u2", "I live in Lisbon."), answer("a2", "Noted."))
	if again.JobID != "" {
		t.Errorf("a repeat is learned from by %s", again.JobID)
	}
	expect("a repeat", []string{cello, lisbon}, "I play the cello.", "Lovely.", "I live in Lisbon.", "Noted.")

	add("a1", user("u2", "I live in Lisbon."), answer("a3", "A fine city."))
	expect("another answer", []string{cello, lisbon}, "I play the cello.", "Lovely.", "I live in Lisbon.", "A fine city.")

	add("a1", user("u3", "I live in Porto."), answer("a4", "All right."))
	expect("an edit", []string{cello, porto}, "I play the cello.", "Lovely.", "I live in Porto.", "All right.")

	add("a1", user("u2", "I live in Lisbon."), answer("a2", "Noted."))
	expect("back to the first branch", []string{cello, lisbon}, "I play the cello.", "Lovely.", "I live in Lisbon.", "Noted.")

	add("nobody", user("u5", "I own a dog."), answer("a5", "What is it called?"))
	expect("an unknown parent", []string{cello, lisbon, "User has a dog"}, "I play the cello.", "Lovely.", "I live in Lisbon.", "Noted.", "I own a dog.", "What is it called?")

	if got := add("", user("u1", "I play the cello."), answer("a1", "Lovely.")); !slices.Equal(got.TurnIDs, first.TurnIDs) {
		t.Errorf("the beginning again gives the turns %q, want %q", got.TurnIDs, first.TurnIDs)
	}
	add("", user("u6", "I live in Porto."), answer("a6", "A new start."))
	expect("another beginning", []string{porto, "User has a dog"}, "I live in Porto.", "A new start.") // the dog was not edited away

	add("", user("u1", "I play the cello."), answer("a1", "Lovely."))
	expect("back to the first beginning", []string{cello, lisbon, "User has a dog"}, "I play the cello.", "Lovely.")
}

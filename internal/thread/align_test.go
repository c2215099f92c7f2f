package thread

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

// recorded plays "U one | A two | …" in a world of one conversation.
func recorded(t *testing.T, script string) (*world, []memory.Turn) {
	t.Helper()
	w := newWorld()
	msgs := messages(script)
	for i := 1; i < len(msgs); i += 2 {
		w.ask("c", msgs[:i])
		w.answer(msgs[i])
	}
	return w, w.convs[0].Turns
}

const talk = "U I live in Berlin | A Nice city. | U My dog is Rex | A Good boy. | U And I like tea | A Noted."

// TestForgottenTurnStillMatches: clients keep sending a forgotten turn; it is neither stored again
// nor reactivated.
func TestForgottenTurnStillMatches(t *testing.T) {
	_, turns := recorded(t, talk)
	turns[2].Status = memory.Retired
	a := Align(turns, NewRequest(messages(talk+" | U Good night"), 0))
	if len(a.NewTurns) != 1 || a.NewTurns[0].TurnIndex != 6 || len(a.LeavingIDs)+len(a.RejoiningIDs) != 0 {
		t.Errorf("got new %v, leave %v, rejoin %v, want only the last message new", a.NewTurns, a.LeavingIDs, a.RejoiningIDs)
	}
	turns[5].Status = memory.Retired
	a = Align(turns, NewRequest(messages("U I live in Berlin | A Nice city. | U My dog is Rex | A Good boy. | U And I like tea"), 0))
	if r := a.AlignAnswer(message("A Noted.").Digest); r.StoredID != turns[5].ID || len(r.RejoiningIDs)+len(r.LeavingIDs) != 0 {
		t.Errorf("the forgotten answer again: got %+v, want it known and left alone", r)
	}
}

// TestWindowNeedsOnlyTheLastTurns: the end of a long conversation suffices.
func TestWindowNeedsOnlyTheLastTurns(t *testing.T) {
	_, turns := recorded(t, talk)
	msgs := messages("U My dog is Rex | A Good boy. | U And I like tea | A Noted. | U Good night")
	all, last := Align(turns, NewRequest(msgs, 0)), Align(turns[1:], NewRequest(msgs, 0))
	if diff := cmp.Diff(all.NewTurns, last.NewTurns); diff != "" || last.ParentID != all.ParentID || last.branches() {
		t.Errorf("with the last turns alone (-all +last):\n%s", diff)
	}
	if len(last.NewTurns) != 1 || last.NewTurns[0].TurnIndex != 6 || last.NewTurns[0].Chain != ChainHash(turns[5].Chain, msgs[4].Digest) {
		t.Errorf("got new %+v, want one turn at place 6 after the stored ones", last.NewTurns)
	}
}

// TestOnlyTheLastNewMessagesAreKept: a history over the limit keeps its indexes, so that the next
// request matches.
func TestOnlyTheLastNewMessagesAreKept(t *testing.T) {
	msgs := messages(talk + " | U Good night")
	a := Align(nil, NewRequest(msgs, 3))
	if len(a.NewTurns) != 3 || a.DroppedMessages != 4 || a.NewTurns[0].TurnIndex != 4 || a.NewTurns[2].TurnIndex != 6 || !a.NewTurns[1].IsHistory || a.NewTurns[2].IsHistory {
		t.Fatalf("got new %+v and %d dropped, want the last three", a.NewTurns, a.DroppedMessages)
	}
	var turns []memory.Turn
	for i, p := range a.NewTurns {
		m := msgs[p.MessageIndex]
		turns = append(turns, memory.Turn{ID: m.Text, Index: p.TurnIndex, Chain: p.Chain, Role: m.Role, Content: m.Text, Status: memory.Active, NoLearn: p.IsHistory})
		if i > 0 {
			turns[i].Parent = turns[i-1].ID
		}
	}
	r := a.AlignAnswer(message("A Sleep well.").Digest)
	turns = append(turns, memory.Turn{ID: "answer", Parent: turns[2].ID, Index: r.TurnIndex, Chain: r.Chain, Role: memory.RoleAssistant, Content: "Sleep well.", Status: memory.Active})
	next := NewRequest(messages(talk+" | U Good night | A Sleep well. | U Good morning"), 3)
	if a := Align(turns, next); len(a.NewTurns) != 1 || a.DroppedMessages != 0 || a.NewTurns[0].TurnIndex != 8 || a.ParentID != "answer" || a.branches() {
		t.Errorf("the next request: got %+v, want its last message new", a)
	}
	if i := ChooseConversation([]Candidate{{Turns: turns}}, next, newWorld().now); i != 0 {
		t.Errorf("the next request belongs to conversation %d, want 0", i)
	}
}

// TestFollowGoesOnFromTheTurnThatIsNamed, even if its text occurs elsewhere; without the turn it is
// Align.
func TestFollowGoesOnFromTheTurnThatIsNamed(t *testing.T) {
	_, turns := recorded(t, talk)
	msgs := messages("U My dog is Rex")
	if a := AlignAfter(turns, NewRequest(msgs, 0), turns[1].ID, 0); !a.regenerates() || a.ParentID != turns[2].ID || a.branches() {
		t.Errorf("after the answer before it: got %+v, want it asked again", a)
	}
	if a := AlignAfter(turns, NewRequest(msgs, 0), turns[5].ID, 0); len(a.NewTurns) != 1 || a.NewTurns[0].TurnIndex != 6 || a.branches() {
		t.Errorf("after the last answer: got %+v, want it said once more", a)
	}
	if a := AlignAfter(turns, NewRequest(msgs, 0), turns[3].ID, 0); len(a.NewTurns) != 1 || a.NewTurns[0].TurnIndex != 4 || len(a.LeavingIDs) != 2 {
		t.Errorf("after an earlier answer: got %+v, want what came after it to leave", a)
	}
	if diff := cmp.Diff(Align(turns, NewRequest(msgs, 0)).NewTurns, AlignAfter(turns, NewRequest(msgs, 0), "gone", 0).NewTurns); diff != "" {
		t.Errorf("after a turn that is not there (-aligned +followed):\n%s", diff)
	}
}

// TestFollowWithAResentHistory: a client names the answer before its message and resends the
// history, even reworded.
func TestFollowWithAResentHistory(t *testing.T) {
	_, turns := recorded(t, talk)
	msgs := messages("U I live in Bern | A Fine. | U My dog is Max | A Good. | U Good night")
	if a := AlignAfter(turns, NewRequest(msgs, 0), turns[5].ID, 4); len(a.NewTurns) != 1 || a.NewTurns[0].TurnIndex != 6 || a.branches() {
		t.Errorf("after the last answer: got %+v, want the last message new", a)
	}
	if a := AlignAfter(turns, NewRequest(msgs, 0), turns[1].ID, 4); len(a.NewTurns) != 1 || a.NewTurns[0].TurnIndex != 2 || len(a.LeavingIDs) != 4 {
		t.Errorf("after an earlier answer: got %+v, want what came after it to leave", a)
	}
}

// TestFirstTakesThePlaceOfAll: the client's ids mark the message as the conversation's first.
func TestFirstTakesThePlaceOfAll(t *testing.T) {
	w, _ := recorded(t, talk)
	w.ask("c", messages("U What else is new today?"))
	w.answer(message("A Not much."))
	turns := w.convs[0].Turns
	a := AlignAfter(turns, NewRequest(messages("U I live in Bern"), 0), AsOnlyBeginning, 0)
	if len(a.NewTurns) != 1 || a.ParentID != "" || len(a.LeavingIDs) != len(turns) {
		t.Errorf("another first message: got %+v, want it new and all %d turns to leave", a, len(turns))
	}
	if a := AlignAfter(turns, NewRequest(messages("U I live in Berlin"), 0), AsOnlyBeginning, 0); !a.regenerates() || len(a.LeavingIDs)+len(a.NewTurns) != 0 {
		t.Errorf("the same first message: got %+v, want it asked again and nothing to leave yet", a)
	}
}

// TestSingleMessageMatchesOnlyADeclaredRetry without an answer yet.
func TestSingleMessageMatchesOnlyADeclaredRetry(t *testing.T) {
	w, turns := recorded(t, talk)
	w.ask("c", messages("U continue"))
	asked := w.convs[0].Turns
	w.answer(message("A And so on."))
	for name, c := range map[string]struct {
		turns []memory.Turn
		again bool
		retry bool
	}{
		"never said":               {turns, true, false},
		"said, and sent again":     {asked, true, true},
		"said, and said once more": {asked, false, false},
		"answered, and sent again": {w.convs[0].Turns, true, false},
		"answered, said once more": {w.convs[0].Turns, false, false},
	} {
		r := NewRequest(messages("U continue"), 0)
		r.DeclaredRetry = c.again
		if a := Align(c.turns, r); a.IsRetry != c.retry || len(a.NewTurns) == 0 != c.retry || len(a.LeavingIDs) > 0 {
			t.Errorf("%s: got %+v, want a retry: %v", name, a, c.retry)
		}
	}
}

// TestNothingButSystemMessages has no turns to place, but its answer has a place.
func TestNothingButSystemMessages(t *testing.T) {
	a := Align(nil, NewRequest(messages("S Be kind."), 0))
	if len(a.NewTurns) != 0 || a.ParentID != "" || a.IsRetry {
		t.Errorf("got %+v, want nothing", a)
	}
	if r := a.AlignAnswer("x"); r.StoredID != "" || r.TurnIndex != 0 || r.Chain != ChainHash("", "x") {
		t.Errorf("answer: got %+v, want the first turn", r)
	}
	if got := ChooseConversation([]Candidate{{}}, NewRequest(messages("S Be kind."), 0), newWorld().now); got != -1 {
		t.Errorf("Choose: got %d, want -1", got)
	}
}

func TestChainsSkipSystemMessages(t *testing.T) {
	with, without := NewRequest(messages("S a | U hi | S b | A Hello!"), 0).Chains(), NewRequest(messages("U hi | A Hello!"), 0).Chains()
	if diff := cmp.Diff(without, with); diff != "" || len(with) != 2 || with[0] == with[1] {
		t.Errorf("got %v, want %v", with, without)
	}
}

func TestShortlistDeepestThenLatest(t *testing.T) {
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	turn := func(conversation string, index, minute int) memory.Turn {
		return memory.Turn{Conversation: conversation, Index: index, RecordedAt: at.Add(time.Duration(minute) * time.Minute)}
	}
	turns := []memory.Turn{turn("old", 0, 1), turn("deep", 0, 0), turn("deep", 2, 0), turn("new", 0, 3), turn("same", 0, 1)}
	for limit, want := range [][]string{nil, {"deep"}, {"deep", "new"}, {"deep", "new", "old"}, {"deep", "new", "old", "same"}, {"deep", "new", "old", "same"}} {
		if got := ShortlistConversations(turns, limit); !slices.Equal(got, want) {
			t.Errorf("Shortlist(%d): got %v, want %v", limit, got, want)
		}
	}
}

// TestAnsweredMessagesAreNotCurrent: a client's instruction after an answer makes the messages
// before it history; a client's prefilled answer does not.
func TestAnsweredMessagesAreNotCurrent(t *testing.T) {
	for script, now := range map[string]int{
		"U What did we do? | A We packed. | S Go on.": 0,
		"U What did we do? | S Be brief.":             1,
		"U What did we do? | A We":                    2,
		"U Hi | A Hello. | S Be brief. | U Good day":  1,
	} {
		got := 0
		for _, p := range Align(nil, NewRequest(messages(script), 0)).NewTurns {
			if !p.IsHistory {
				got++
			}
		}
		if got != now {
			t.Errorf("%s: %d messages are said now, want %d", script, got, now)
		}
	}
}

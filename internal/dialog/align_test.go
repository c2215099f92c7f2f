package dialog

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
		w.ask("c", Resend, msgs[:i])
		w.answer(msgs[i])
	}
	return w, w.convs[0].Turns
}

const talk = "U I live in Berlin | A Nice city. | U My dog is Rex | A Good boy. | U And I like tea | A Noted."

// TestForgottenTurnIsStillKnown: a client goes on sending what was forgotten; it
// is neither stored again nor brought back.
func TestForgottenTurnIsStillKnown(t *testing.T) {
	_, turns := recorded(t, talk)
	turns[2].Status = memory.Retired
	for _, mode := range []Mode{Resend, Window} {
		a := Align(turns, NewRequest(messages(talk+" | U Good night")), mode)
		if len(a.New) != 1 || a.New[0].Index != 6 || len(a.Leave)+len(a.Rejoin) != 0 {
			t.Errorf("mode %d: got new %v, leave %v, rejoin %v, want only the last message new", mode, a.New, a.Leave, a.Rejoin)
		}
	}
	turns[5].Status = memory.Retired
	a := Align(turns, NewRequest(messages("U I live in Berlin | A Nice city. | U My dog is Rex | A Good boy. | U And I like tea")), Resend)
	if r := a.Answer(message("A Noted.").Digest); r.Known != turns[5].ID || len(r.Rejoin)+len(r.Leave) != 0 {
		t.Errorf("the forgotten answer again: got %+v, want it known and left alone", r)
	}
}

// TestWindowNeedsOnlyTheLastTurns: the end of a long conversation will do.
func TestWindowNeedsOnlyTheLastTurns(t *testing.T) {
	_, turns := recorded(t, talk)
	msgs := messages("U My dog is Rex | A Good boy. | U And I like tea | A Noted. | U Good night")
	all, last := Align(turns, NewRequest(msgs), Window), Align(turns[1:], NewRequest(msgs), Window)
	if diff := cmp.Diff(all.New, last.New); diff != "" || last.Parent != all.Parent || last.Branch {
		t.Errorf("with the last turns alone (-all +last):\n%s", diff)
	}
	if len(last.New) != 1 || last.New[0].Index != 6 || last.New[0].Chain != Chain(turns[5].Chain, msgs[4].Digest) {
		t.Errorf("got new %+v, want one turn at place 6 after the stored ones", last.New)
	}
}

// TestFollowGoesOnFromTheTurnThatIsNamed, also where its words stand elsewhere; without
// the turn it is as without a name.
func TestFollowGoesOnFromTheTurnThatIsNamed(t *testing.T) {
	_, turns := recorded(t, talk)
	msgs := messages("U My dog is Rex")
	if a := Follow(turns, NewRequest(msgs), turns[1].ID); !a.Regenerate || a.Parent != turns[2].ID || a.Branch {
		t.Errorf("after the answer before it: got %+v, want it asked again", a)
	}
	if a := Follow(turns, NewRequest(msgs), turns[5].ID); len(a.New) != 1 || a.New[0].Index != 6 || a.Branch {
		t.Errorf("after the last answer: got %+v, want it said once more", a)
	}
	if a := Follow(turns, NewRequest(msgs), turns[3].ID); len(a.New) != 1 || a.New[0].Index != 4 || len(a.Leave) != 2 {
		t.Errorf("after an earlier answer: got %+v, want what came after it to leave", a)
	}
	if diff := cmp.Diff(Align(turns, NewRequest(msgs), Window).New, Follow(turns, NewRequest(msgs), "gone").New); diff != "" {
		t.Errorf("after a turn that is not there (-aligned +followed):\n%s", diff)
	}
}

// TestNothingButSystemMessages has no turns to place, and an answer still has one.
func TestNothingButSystemMessages(t *testing.T) {
	a := Align(nil, NewRequest(messages("S Be kind.")), Resend)
	if len(a.New) != 0 || a.Parent != "" || a.Retry || a.ToolLoop {
		t.Errorf("got %+v, want nothing", a)
	}
	if r := a.Answer("x"); r.Known != "" || r.Index != 0 || r.Chain != Chain("", "x") {
		t.Errorf("answer: got %+v, want the first turn", r)
	}
	if got := Choose([]Candidate{{}}, NewRequest(messages("S Be kind.")), newWorld().now); got != -1 {
		t.Errorf("Choose: got %d, want -1", got)
	}
}

func TestChainsSkipSystemMessages(t *testing.T) {
	with, without := NewRequest(messages("S a | U hi | S b | A Hello!")).Chains(), NewRequest(messages("U hi | A Hello!")).Chains()
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
		if got := Shortlist(turns, limit); !slices.Equal(got, want) {
			t.Errorf("Shortlist(%d): got %v, want %v", limit, got, want)
		}
	}
}

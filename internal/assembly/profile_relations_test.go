package assembly

import (
	"testing"
	"time"
)

// TestProfileDesktopFindsRelations: what replaced what, what waits to replace it, and what is
// about the same person are related without anybody saying so; undone, they are not.
func TestProfileDesktopFindsRelations(t *testing.T) {
	s := newStage(t, "desktop", map[string]string{"learn.model": "none"})
	c := s.talk()
	for _, words := range []string{"I live in Berlin.", "I live in Lisbon now.", "My sister lives in Oslo.", "My sister works as a nurse."} {
		s.clock.pass(time.Hour)
		c.says(words)
	}
	type found struct {
		Found []struct {
			From, To, Kind string
			Memory         struct{ Content string }
		}
	}
	id := func(query string) string {
		t.Helper()
		var page struct{ Memories []struct{ ID string } }
		s.ok(&page, "GET", "/api/memory?limit=1"+query, "")
		if len(page.Memories) != 1 {
			t.Fatalf("nothing is found by %s", query)
		}
		return page.Memories[0].ID
	}
	related := func(id string) (out found) {
		t.Helper()
		s.ok(&out, "GET", "/api/memory/"+id+"/related", "")
		return out
	}
	berlin, lisbon := id("&q=Berlin&status=superseded"), id("&q=Lisbon")
	for _, one := range []struct{ id, other string }{{berlin, "User lives in Lisbon"}, {lisbon, "User lives in Berlin"}} {
		got := related(one.id).Found
		if len(got) != 1 || got[0].Kind != "follows" || got[0].From != lisbon || got[0].To != berlin || got[0].Memory.Content != one.other {
			t.Errorf("%s is related by %+v, want that Lisbon follows Berlin", one.id, got)
		}
	}
	if got := related(id("&q=Oslo")).Found; len(got) != 1 || got[0].Kind != "same_subject" || got[0].Memory.Content != "User's sister works as a nurse" {
		t.Errorf("what the sister does is related by %+v", got)
	}
	s.has("the page of Lisbon", s.ok(nil, "GET", "/memories/"+lisbon, ""), "User lives in Berlin")

	var changes struct{ Changes []struct{ Run string } }
	s.ok(&changes, "GET", "/api/changes?limit=1&action=replace", "")
	s.ok(nil, "POST", "/api/changes/undo", `{"run":"`+changes.Changes[0].Run+`"}`)
	if got := related(berlin).Found; len(got) != 0 {
		t.Errorf("after undo it is related by %+v", got)
	}

	// A fact that waits to replace another contradicts it.
	s = newStage(t, "desktop", map[string]string{"learn.model": "none", "review.conflicts": "true"})
	c = s.talk()
	for _, words := range []string{"I live in Berlin.", "I live in Lisbon now."} {
		s.clock.pass(time.Hour)
		c.says(words)
	}
	if got := related(id("&q=Berlin")).Found; len(got) != 1 || got[0].Kind != "contradicts" || got[0].Memory.Content != "User lives in Lisbon" {
		t.Errorf("with a fact that waits it is related by %+v", got)
	}
}

package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"pgregory.net/rapid"
)

// desk is Ana's store with the operations of these tests.
type desk struct {
	t     rapid.TB
	store *inmem.Store
	runs  int
}

func newDesk(t rapid.TB) *desk {
	clock := &memtest.Clock{}
	return &desk{t: t, store: inmem.Open(inmem.Options{Now: clock.Now})}
}

func (d *desk) apply(changes ...memory.Change) string {
	d.t.Helper()
	d.runs++
	run := fmt.Sprint("run", d.runs)
	if _, err := d.store.Apply(context.Background(), memtest.Ana, memory.Run{ID: run, Kind: "test"}, changes...); err != nil {
		d.t.Fatalf("apply %s: %v\n%s", run, err, summary(changes))
	}
	return run
}

// journal returns the changes of one run or of all, newest first.
func (d *desk) journal(run string) []memory.Change {
	d.t.Helper()
	page, err := d.store.Changes(context.Background(), memtest.Ana, memory.ChangeQuery{Run: run, Limit: 500})
	if err != nil {
		d.t.Fatal(err)
	}
	return page.Changes
}

// export returns the owner's facts and links with their status, except retired ones and versions.
func (d *desk) export() map[string]string {
	d.t.Helper()
	page, err := d.store.List(context.Background(), memtest.Ana, memory.Query{
		Statuses: []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Rejected}, Limit: 500,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range page.Memories {
		f := *m.Fact
		f.Version = 0
		words, err := json.Marshal(f)
		if err != nil {
			d.t.Fatal(err)
		}
		out[f.ID] = string(words)
	}
	return out
}

func (d *desk) fact(id string) memory.Fact {
	d.t.Helper()
	found, err := d.store.Get(context.Background(), memtest.Ana, id)
	if err != nil || len(found) != 1 {
		d.t.Fatalf("read %s: %v, %v", id, found, err)
	}
	return *found[0].Fact
}

func (d *desk) undo(cascade bool, targets ...memory.Change) ([]memory.Change, error) {
	return Undo(targets, d.journal(""), cascade, memtest.Epoch.Add(time.Hour), memory.Author{Kind: memory.ByPerson})
}

func add(f memory.Fact) memory.Change {
	return memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}}
}

func newer(content string) memory.Fact {
	f := fact(content)
	f.ObservedAt = f.ObservedAt.Add(time.Minute)
	return f
}

func TestUndoTakesAReplacementBackWhole(t *testing.T) {
	d := newDesk(t)
	berlin, lisbon := fact("User lives in Berlin"), newer("User lives in Lisbon")
	d.apply(add(berlin))
	before := d.export()
	run := d.apply(memory.Replace(d.fact(berlin.ID), lisbon, memtest.Epoch, "moved", memory.Author{})...)
	for _, half := range d.journal(run) {
		changes, err := d.undo(false, half)
		if err != nil {
			t.Fatal(err)
		}
		want := lines("undo retired User lives in Lisbon", "undo active User lives in Berlin")
		if got := summary(changes); got != want {
			t.Errorf("undo of %s %s: got\n%s\nwant\n%s", half.Action, half.ID, got, want)
		}
	}
	changes, _ := d.undo(false, d.journal(run)...)
	undone := d.apply(changes...)
	if diff := cmp.Diff(before, d.export()); diff != "" {
		t.Errorf("after undo (-want +got):\n%s", diff)
	}
	again, err := d.undo(false, d.journal(undone)...)
	if err != nil {
		t.Fatal(err)
	}
	d.apply(again...)
	if got := d.fact(lisbon.ID).Status; got != memory.Active {
		t.Errorf("undo of the undo: the replacement is %s, want active", got)
	}
}

func TestUndoOfWhatChangedSinceIsAConflict(t *testing.T) {
	d := newDesk(t)
	first, second, third := fact("User lives in Berlin"), newer("User lives in Lisbon"), newer("User lives in Porto")
	third.ObservedAt = third.ObservedAt.Add(time.Minute)
	dog := fact("User has a dog")
	run := d.apply(add(first))
	d.apply(memory.Replace(d.fact(first.ID), second, memtest.Epoch, "moved", memory.Author{})...)
	d.apply(add(dog))
	last := d.apply(memory.Replace(d.fact(second.ID), third, memtest.Epoch, "moved", memory.Author{})...)

	_, err := d.undo(false, d.journal(run)...)
	if !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "run2/") {
		t.Fatalf("undo of what was replaced since: %v, want a conflict that names run2", err)
	}
	changes, err := d.undo(true, d.journal(run)...)
	if err != nil {
		t.Fatal(err)
	}
	d.apply(changes...)
	left := d.export()
	if _, ok := left[dog.ID]; len(left) != 1 || !ok {
		t.Errorf("after the cascade there are %v, want the dog alone", left)
	}
	if _, err := d.undo(false, d.journal(last)...); !errors.Is(err, memory.Conflict) {
		t.Errorf("undo of what the cascade took back already: %v, want a conflict", err)
	}
}

func TestUndoTakesBackEveryKind(t *testing.T) {
	d := newDesk(t)
	shared := memtest.Fact(memtest.Team, "The team meets on Mondays")
	images := []memory.State{
		{Fact: new(fact("User has a dog"))},
		{Link: &memory.Link{Owner: memtest.Ana, Fact: shared, Status: memory.Active}},
		{Profile: &memory.ProfileEntry{Owner: memtest.Ana, Key: "timezone", Value: "Europe/Lisbon", Status: memory.Active}},
		{Summary: &memory.Summary{ID: "s", Scope: memory.Scope{Owner: memtest.Ana}, Text: "talk", Status: memory.Active}},
		{Relation: &memory.Relation{Owner: memtest.Ana, From: "a", To: "b", Kind: memory.Refines, Status: memory.Active}},
	}
	var changes []memory.Change
	for _, i := range images {
		action := memory.ActionAdd
		if i.Link != nil {
			action = memory.ActionLink
		}
		changes = append(changes, memory.Change{Action: action, After: i})
	}
	run := d.apply(changes...)
	undoing, err := d.undo(false, d.journal(run)...)
	if err != nil || len(undoing) != len(images) {
		t.Fatalf("got %d changes, %v; want %d", len(undoing), err, len(images))
	}
	for _, c := range undoing {
		if c.After.Status() != memory.Retired || c.Action != memory.ActionUndo {
			t.Errorf("%s: %s to %s, want undo to retired", c.After.Target(), c.Action, c.After.Status())
		}
	}
	d.apply(undoing...)
}

// TestUndoRestoresTheExport: to undo a run restores the state before it, and to undo that restores
// its result.
func TestUndoRestoresTheExport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk(t)
		var first map[string]string
		var steps []string
		for i := range rapid.IntRange(1, 4).Draw(t, "runs") {
			if i > 0 {
				steps = append(steps, fmt.Sprint("run", d.runs))
			}
			before := d.export()
			if i == 0 {
				first = before
			}
			changes := d.drawPlan(t, i)
			run := d.apply(changes...)
			if len(changes) == 0 {
				continue
			}
			after := d.export()
			back, err := d.undo(false, d.journal(run)...)
			if err != nil {
				t.Fatalf("undo of the last run: %v", err)
			}
			undone := d.apply(back...)
			if diff := cmp.Diff(before, d.export()); diff != "" {
				t.Fatalf("after undo of\n%s\n(-want +got):\n%s", summary(changes), diff)
			}
			forth, err := d.undo(false, d.journal(undone)...)
			if err != nil {
				t.Fatalf("undo of the undo: %v", err)
			}
			d.apply(forth...)
			if diff := cmp.Diff(after, d.export()); diff != "" {
				t.Fatalf("after undo of the undo (-want +got):\n%s", diff)
			}
		}
		all := d.journal("")
		if len(all) == 0 {
			return
		}
		changes, err := d.undo(true, all...)
		if err != nil {
			t.Fatalf("undo of all: %v", err)
		}
		d.apply(changes...)
		if diff := cmp.Diff(first, d.export()); diff != "" {
			t.Fatalf("after undo of all %v (-want +got):\n%s", steps, diff)
		}
	})
}

// drawPlan plans random candidates against the whole store.
func (d *desk) drawPlan(t *rapid.T, round int) []memory.Change {
	page, err := d.store.List(context.Background(), memtest.Ana, memory.Query{
		Statuses: []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Retired}, Limit: 500,
	})
	if err != nil {
		t.Fatal(err)
	}
	var near []extract.Neighbor
	for _, m := range page.Memories {
		near = append(near, extract.Neighbor{Fact: *m.Fact, Link: m.Link})
	}
	var cands []extract.Candidate
	for i := range rapid.IntRange(0, 4).Draw(t, "candidates") {
		c := later(10*round+i, rapid.SampledFrom(contentsPool).Draw(t, "content"))
		c.Neighbors = near
		cands = append(cands, c)
	}
	o := options()
	o.NewID = func() string { d.runs++; return memtest.ID(fmt.Sprint("undo ", d.runs)) }
	fresh, again, _ := Dedupe(cands, DedupeOptions{Scope: o.Scope})
	changes, _ := Plan(fresh, Reconcile(fresh), again, o)
	return changes
}

func TestForgetTakesTheQuotedTurnsAlong(t *testing.T) {
	f := fact("User lives in Berlin")
	f.Source, f.Provenance.Quote = memory.Extracted, &memory.Span{Turn: "T", End: 3}
	typed := fact("User has a dog")
	typed.Provenance.Quote = &memory.Span{Turn: "elsewhere"}
	old := fact("User lives in Rome")
	old.Status = memory.Superseded
	turn := memtest.Turn(memtest.Ana, "C", 0, memory.RoleUser, "hello")
	shared := memtest.Fact(memtest.Team, "The team meets on Mondays")
	changes := Forget([]memory.Memory{
		{Fact: &f}, {Fact: &f}, {Fact: &typed}, {Fact: &old}, {Turn: &turn},
		{Fact: &shared, Link: &memory.Link{Owner: memtest.Ana, Fact: shared, Status: memory.Active}},
		{Summary: &memory.Summary{ID: "s", Status: memory.Active}},
	}, memtest.Epoch, "asked to", memory.Author{})
	want := lines("retire retired User lives in Berlin", "retire retired turn:T", "retire retired User has a dog",
		"retire retired turn:"+turn.ID, "unlink retired The team meets on Mondays", "retire retired summary:s")
	if got := summary(changes); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if f.Status != memory.Active {
		t.Errorf("Forget changed what it was given")
	}
}

func TestForgetMeansWhatIsNamed(t *testing.T) {
	job, dog, home := fact("User works at Acme"), fact("User has a dog named Rex"), fact("User lives in Lisbon")
	job.Category = "work"
	turn := memtest.Turn(memtest.Ana, "C", 0, memory.RoleUser, "I live in Lisbon these days")
	found := []memory.Memory{{Fact: &job}, {Fact: &dog}, {Fact: &home}, {Turn: &turn}}
	for wish, want := range map[string]string{
		"forget that I live in Lisbon":          "User lives in Lisbon|I live in Lisbon these days",
		"Please forget about my dog Rex.":       "User has a dog named Rex",
		"forget what I said about my work":      "User works at Acme",
		"Forget everything you know about me":   "User works at Acme|User has a dog named Rex|User lives in Lisbon|I live in Lisbon these days",
		"forget my shoe size":                   "",
		"forget it":                             "-",
		"forget the last question":              "-",
		"I forget things":                       "-",
		"delete the second column from my file": "-",
		"Don't forget that I live in Lisbon":    "-",
	} {
		_, wishes := extract.MemoryCommands(saying(wish))
		if len(wishes) == 0 {
			if want != "-" {
				t.Errorf("%q is not a wish to forget, want it to mean %q", wish, want)
			}
			continue
		}
		if want == "-" {
			t.Errorf("%q is taken for a wish to forget %+v", wish, wishes[0])
			continue
		}
		var got []string
		for _, m := range MemoriesToForget(wishes[0], found) {
			got = append(got, m.Content())
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q means %q, want %q", wish, got, want)
		}
	}
}

package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// TestRelationsAreMadeEndedAndWalked on every store: a relation is made once, can end
// and be made again, both can be undone, and walking goes both ways for so many steps.
func TestRelationsAreMadeEndedAndWalked(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx, ana := t.Context(), memory.User(memory.DefaultNamespace, "ana")
		author := memory.Author{Kind: memory.ByPerson, Name: "ana"}
		var id []string
		for _, fact := range []string{"User has a dog named Rex", "Rex is afraid of thunder", "Rex sleeps in the kitchen", "User's kitchen is blue"} {
			f, _, err := r.Curate.Remember(ctx, ana, curate.FactInput{Content: fact}, author)
			if err != nil {
				t.Fatal(err)
			}
			id = append(id, f.ID)
		}
		walk := func(steps, most int) (facts []string, ties int, more bool) {
			t.Helper()
			w := try(r.Curate.RelatedFacts(ctx, ana, id[0], memory.At{}, steps, most)).orFail(t)
			for _, f := range w.Facts {
				facts = append(facts, f.ID)
			}
			return facts, len(w.Relations), w.HasMore
		}
		made := try(r.Curate.Relate(ctx, ana, id[1], id[0], memory.Refines, author)).orFail(t)
		again, err := r.Curate.Relate(ctx, ana, id[1], id[0], memory.Refines, author)
		if err != nil || again.Run != "" {
			t.Errorf("made twice: %+v, %v", again, err)
		}
		for _, tie := range [][2]int{{0, 2}, {2, 3}} {
			noError(t)(r.Curate.Relate(ctx, ana, id[tie[0]], id[tie[1]], memory.Follows, author))
		}
		if facts, ties, more := walk(1, 9); !slices.Equal(facts, []string{id[0], id[2], id[1]}) && !slices.Equal(facts, id[:3]) || ties != 2 || more {
			t.Errorf("one step away are %v by %d relations, more %v", facts, ties, more)
		}
		if facts, ties, _ := walk(2, 9); len(facts) != 4 || ties != 3 {
			t.Errorf("two steps away are %d facts by %d relations, want 4 by 3", len(facts), ties)
		}
		if facts, _, more := walk(2, 2); len(facts) != 2 || !more {
			t.Errorf("of too many there are %d, more %v", len(facts), more)
		}
		ended := try(r.Curate.Unrelate(ctx, ana, id[1], id[0], memory.Refines, author)).orFail(t)
		if _, err := r.Curate.Unrelate(ctx, ana, id[1], id[0], memory.Refines, author); !errors.Is(err, memory.NotFound) {
			t.Errorf("ended twice: %v", err)
		}
		if _, ties, _ := walk(1, 9); ties != 1 {
			t.Errorf("after one ended there are %d", ties)
		}
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: ended.Run}, author))
		if _, ties, _ := walk(1, 9); ties != 2 {
			t.Errorf("after the undo there are %d", ties)
		}
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: made.Run, Cascade: true}, author))
		if back, err := r.Curate.Relate(ctx, ana, id[1], id[0], memory.Refines, author); err != nil || back.Run == "" {
			t.Errorf("made anew: %+v, %v", back, err)
		}
		if _, ties, _ := walk(1, 9); ties != 2 {
			t.Errorf("made anew there are %d", ties)
		}
		for what, err := range map[string]error{
			"itself":   errOf(r.Curate.Relate(ctx, ana, id[0], id[0], memory.Follows, author)),
			"kind":     errOf(r.Curate.Relate(ctx, ana, id[0], id[1], "likes", author)),
			"stranger": errOf(r.Curate.Relate(ctx, memory.User(memory.DefaultNamespace, "ben"), id[0], id[1], memory.Follows, author)),
		} {
			if !errors.Is(err, memory.Invalid) && !errors.Is(err, memory.NotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestProfileEntriesAreWrittenChangedAndDropped on every store, and all can be undone.
func TestProfileEntriesAreWrittenChangedAndDropped(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx, ana := t.Context(), memory.User(memory.DefaultNamespace, "ana")
		author := memory.Author{Kind: memory.ByPerson, Name: "ana"}
		is := func(want string) {
			t.Helper()
			got := ""
			entries := try(r.Store.Profile(ctx, ana, memory.At{})).orFail(t)
			for _, p := range entries {
				got += p.Key + "=" + p.Value + ";"
			}
			if got != want {
				t.Errorf("the profile is %q, want %q", got, want)
			}
		}
		set := func(value string) memory.Receipt {
			t.Helper()
			return try(r.SetProfileEntry(ctx, ana, " timezone ", value, author)).orFail(t)
		}
		set("Europe/Berlin")
		is("timezone=Europe/Berlin;")
		moved := set("Europe/Lisbon")
		is("timezone=Europe/Lisbon;")
		if same := set("Europe/Lisbon"); same.Run != "" {
			t.Errorf("the same value is written again: %+v", same)
		}
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: moved.Run}, author))
		is("timezone=Europe/Berlin;")
		dropped := try(r.RetireProfileEntry(ctx, ana, "timezone", author)).orFail(t)
		is("")
		if _, err := r.RetireProfileEntry(ctx, ana, "timezone", author); !errors.Is(err, memory.NotFound) {
			t.Errorf("dropped twice: %v", err)
		}
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: dropped.Run}, author))
		is("timezone=Europe/Berlin;")
		noError(t)(r.RetireProfileEntry(ctx, ana, "timezone", author))
		set("Asia/Tokyo")
		is("timezone=Asia/Tokyo;")
		for _, bad := range [][2]string{{"", "x"}, {"a\nb", "x"}, {"key", "  "}, {"key", "\xff"}} {
			if _, err := r.SetProfileEntry(ctx, ana, bad[0], bad[1], author); !errors.Is(err, memory.Invalid) {
				t.Errorf("%q = %q: %v", bad[0], bad[1], err)
			}
		}
	})
}

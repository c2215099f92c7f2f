package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/memory"
)

var everybody = memory.Global(memory.DefaultNamespace)

func (r *rig) fill(t *testing.T, file string) memory.Receipt {
	t.Helper()
	return try(r.Transfer.Bootstrap(context.Background(), memory.DefaultNamespace, []byte(file))).orFail(t)
}

func (r *rig) facts(t *testing.T, owner memory.Owner) []string {
	t.Helper()
	page := try(r.List(context.Background(), owner, memory.Query{Limit: 500})).orFail(t)
	var out []string
	for _, m := range page.Memories {
		out = append(out, m.Content())
	}
	slices.Sort(out)
	return out
}

func TestThePoolHoldsWhatTheFileSays(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		step := func(name, file string, changes int, want ...string) {
			t.Helper()
			if got := r.fill(t, file); got.Changes != changes {
				t.Errorf("%s: %d changes, want %d", name, got.Changes, changes)
			}
			if got := r.facts(t, everybody); !slices.Equal(got, want) {
				t.Errorf("%s: the pool has %q, want %q", name, got, want)
			}
		}
		step("first", "- A one\n- B two\n", 2, "A one", "B two")
		step("the same again", "- A one\n- B two\n", 0, "A one", "B two")
		step("a fact twice, in another order", "B two\nA one\n* a  one.\n", 0, "A one", "B two")
		step("a changed file", "A one\nC three", 2, "A one", "C three")
		step("back", "A one\nB two", 2, "A one", "B two")
		step("a fact by other marks", `{"content":"A one","category":"c","tags":["x"]}`+"\nB two", 1, "A one", "B two")
		step("an empty one", "", 2)
	})
}

func TestAFileLeavesAloneWhatPeopleDidToThePool(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, everybody, "P by a person")
		r.fill(t, "A one\nB two\nC three\nP by a person")
		byWords := func(words string) string {
			page, err := r.List(ctx, everybody, memory.Query{Text: words})
			if err != nil || len(page.Memories) != 1 {
				t.Fatalf("%d facts have %q, %v", len(page.Memories), words, err)
			}
			return page.Memories[0].ID()
		}
		noError(t)(r.Curate.Forget(ctx, everybody, []string{byWords("A one")}, "wrong", her))
		edited := "B two, and more"
		noError(t)(r.Curate.EditFact(ctx, everybody, byWords("B two"), curate.FactEdit{Content: &edited}, her))
		r.fill(t, "A one\nB two\nC three\nP by a person")
		if got, want := r.facts(t, everybody), []string{edited, "C three", "P by a person"}; !slices.Equal(got, want) {
			t.Errorf("after the same file: %q, want %q", got, want)
		}
		r.fill(t, "")
		if got, want := r.facts(t, everybody), []string{edited, "P by a person"}; !slices.Equal(got, want) {
			t.Errorf("after an empty file: %q, want %q", got, want)
		}
	})
}

func TestNamespacesHavePoolsOfTheirOwn(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.fill(t, "A one")
	if got := r.facts(t, memory.Global("other")); len(got) > 0 {
		t.Errorf("another namespace has %q", got)
	}
}

func TestABootstrapFileIsReadByLines(t *testing.T) {
	const file = "\uFEFF# The house\r\n\r\n- The printer is on floor 3\r\n* [x] Lunch is at noon\n  12. The door code changes monthly\n<!-- not this -->\n" +
		"{\"content\": \"The wifi is slow\", \"tags\": [\"it\"], \"category\": \"office\"}\nPlain words\n-5 is a number\n"
	notes := try(transfer.ReadBootstrap([]byte(file))).orFail(t)
	var got []string
	for _, n := range notes {
		got = append(got, n.Content)
	}
	want := []string{"The printer is on floor 3", "Lunch is at noon", "The door code changes monthly", "The wifi is slow", "Plain words", "-5 is a number"}
	if !slices.Equal(got, want) || notes[3].Category != "office" || !slices.Equal(notes[3].Tags, []string{"it"}) {
		t.Errorf("got %q, %+v; want %q", got, notes[3], want)
	}
	for _, bad := range []string{"ok\n{\"content\": \"\"}", "ok\n{\"content\": 5}", "ok\n{\"contents\": \"x\"}", "ok\n{\"content\": \"x\"} y", "ok\n{"} {
		if _, err := transfer.ReadBootstrap([]byte(bad)); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "line 2: ") {
			t.Errorf("%q: %v, want invalid with its line", bad, err)
		}
	}
	r := newRig(t, stores["inmem"])
	if _, err := r.Transfer.Bootstrap(context.Background(), memory.DefaultNamespace, []byte("A one\nbroken \xff here")); !errors.Is(err, memory.Invalid) || len(r.facts(t, everybody)) > 0 {
		t.Errorf("what is not UTF-8: %v; want invalid, and nothing written", err)
	}
}

func FuzzReadBootstrap(f *testing.F) {
	f.Add([]byte("- a\n{\"content\":\"b\"}\n# c\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		notes, err := transfer.ReadBootstrap(file)
		if err != nil && !errors.Is(err, memory.Invalid) {
			t.Fatalf("%v is not invalid", err)
		}
		for _, n := range notes {
			if utf8.Valid(file) && (strings.Contains(n.Content, "\n") && !strings.Contains(string(file), `\`)) {
				t.Fatalf("%q is more than a line", n.Content)
			}
		}
	})
}

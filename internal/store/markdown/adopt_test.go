package markdown

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestFolderAloneIsEnough takes everything away but the files after random
// histories. What can be seen now comes back; what was seen before does not.
func TestFolderAloneIsEnough(t *testing.T) {
	t.Parallel()
	histories(t, false, func(e *ending, was map[memory.Owner][]known) {
		for _, dir := range []string{ownFolder, "db"} {
			if err := os.RemoveAll(filepath.Join(e.dir, dir)); err != nil {
				e.t.Fatal(err)
			}
		}
		before := tree(e.t, e.dir)
		s, err := Open(context.Background(), e.dir, inMemory, Options{Now: e.now})
		if err != nil {
			e.t.Fatal(err)
		}
		defer s.Close()
		for o, want := range was {
			got := export(e.t, s, o, memory.At{})
			if diff := differ(present(o, got), present(o, want[0])); diff != "" {
				e.t.Fatalf("what %s has (-got +want):\n%s", o, diff)
			}
		}
		if err := s.Settle(context.Background()); err != nil {
			e.t.Fatal(err)
		}
		after := tree(e.t, e.dir)
		if diff := differ(keysOf(after), keysOf(before)); diff != "" {
			e.t.Errorf("files (-got +want):\n%s", diff)
		}
	})
}

// present is what files alone can say: no copies of what others share, no history, and neither when turns were
// recorded or learned from nor when facts were related.
func present(owner memory.Owner, k known) known {
	forgetVersions(&k)
	out := known{Profile: presentShares(owner, k), Contexts: k.Contexts}
	for _, m := range k.Memories {
		if m.Link != nil {
			continue
		}
		if m.Turn != nil {
			m.Turn.RecordedAt, m.Turn.LearnedAt = time.Time{}, time.Time{}
		}
		if m.Fact != nil {
			m.Fact.Hash = ""
		}
		out.Memories = append(out.Memories, m)
	}
	for _, c := range k.Conversations {
		c.Version = 0
		out.Conversations = append(out.Conversations, c)
	}
	seen := map[string]bool{}
	for _, r := range k.Relations {
		own := slices.ContainsFunc(out.Memories, func(m memory.Memory) bool { return m.ID() == r.From })
		if target := (memory.Image{Relation: &r}).Target(); own && !seen[target] {
			seen[target] = true
			r.CreatedAt = time.Time{}
			out.Relations = append(out.Relations, r)
		}
	}
	slices.SortFunc(out.Relations, func(a, b memory.Relation) int { return strings.Compare(a.From+a.To, b.From+b.To) })
	return out
}

func TestTurnsFromFilesAreQueuedToLearn(t *testing.T) {
	v := newVault(t)
	b := memtest.Batch(memtest.Ana, "c", 0, "I drink tea", "noted", "and milk")
	b.Turns[0].LearnedAt = memtest.Epoch
	if _, err := v.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	v.settled()
	if err := v.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(v.path(ownFolder)); err != nil {
		t.Fatal(err)
	}
	v.reopen()
	jobs, err := v.Jobs(t.Context(), memtest.Ana)
	if err != nil || len(jobs) != 1 || jobs[0].Turns[0] != b.Turns[2].ID || jobs[0].Kind != memory.JobLearn {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
}

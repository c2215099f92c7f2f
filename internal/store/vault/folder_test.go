package vault

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
		for _, dir := range []string{OwnFolder, "db"} {
			noError(e.t)(os.RemoveAll(filepath.Join(e.dir, dir)))
		}
		before := tree(e.t, e.dir)
		s := try(Open(context.Background(), e.dir, inMemory, Options{Now: e.now})).orFail(e.t)
		defer s.Close()
		for o, want := range was {
			got := export(e.t, s, o, memory.At{})
			if diff := differ(present(o, got), present(o, want[0])); diff != "" {
				e.t.Fatalf("what %s has (-got +want):\n%s", o, diff)
			}
		}
		noError(e.t)(s.Flush(context.Background()))
		after := tree(e.t, e.dir)
		if diff := differ(keysOf(after), keysOf(before)); diff != "" {
			e.t.Errorf("files (-got +want):\n%s", diff)
		}
	})
}

// present is what files alone can say: no copies of what others share, no history, and
// neither when turns were recorded or learned from nor when facts were related.
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
		if target := (memory.State{Relation: &r}).Target(); own && !seen[target] {
			seen[target] = true
			r.CreatedAt = time.Time{}
			out.Relations = append(out.Relations, r)
		}
	}
	slices.SortFunc(out.Relations, func(a, b memory.Relation) int { return strings.Compare(a.From+a.To, b.From+b.To) })
	return out
}

func TestTurnsFromFilesCountAsLearned(t *testing.T) {
	v := newVault(t)
	b := memtest.Batch(memtest.Ana, "c", 0, "I drink tea", "noted", "and milk")
	b.Turns[0].LearnedAt = memtest.Epoch
	noError(t)(v.Append(t.Context(), memtest.Ana, b))
	v.settled()
	noError(t)(v.Store.Close())
	noError(t)(os.RemoveAll(v.path(OwnFolder)))
	v.reopen()
	jobs, err := v.Jobs(t.Context(), memtest.Ana)
	if err != nil || len(jobs) > 0 {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
	turns, err := v.Turns(t.Context(), memtest.Ana, memory.TurnQuery{})
	if err != nil || len(turns) != 3 || !turns[0].LearnedAt.Equal(memtest.Epoch) || turns[2].LearnedAt.IsZero() {
		t.Errorf("turns: %+v, %v", turns, err)
	}
	v.quiet() // a key that Loci adds is nobody's edit
	v.settled()
	v.quiet()
}

// TestOfSeveralFilesTheMemorysOwnIsTakenOver lays copies of a sync tool's beside a file, and
// takes everything else away.
func TestOfSeveralFilesTheMemorysOwnIsTakenOver(t *testing.T) {
	other := func(text string) string { return strings.Replace(text, "Ana drinks tea", "Ana drinks milk", 1) }
	same := func(text string) string { return text }
	folder := filepath.ToSlash(filepath.Dir(teaFile))
	loci := strings.TrimSuffix(filepath.Base(teaFile), ".md")
	for what, c := range map[string]struct {
		own, copied         string // names
		change, changesCopy func(string) string
	}{
		"called as Loci calls it": {loci, loci + " (conflicted copy 2026-11-21)", same, other},
		"before it in order":      {loci, "1" + loci + ".sync-conflict-20261121", same, other},
		"the plainer name":        {"my tea", "my tea (1)", same, other},
		"the plainer name, last":  {"tea", "tea 2", same, other},
	} {
		t.Run(what, func(t *testing.T) {
			v := newVault(t)
			v.apply(memtest.Add(tea()))
			v.settled()
			text := v.read(teaFile)
			noError(t)(v.Store.Close())
			noError(t)(os.RemoveAll(v.path(OwnFolder)))
			v.remove(teaFile)
			copied := folder + "/" + c.copied + ".md"
			v.write(folder+"/"+c.own+".md", c.change(text))
			v.write(copied, c.changesCopy(text))
			v.reopen()
			if got := v.fact("tea"); got.Content != tea().Content {
				t.Errorf("the fact says %q", got.Content)
			}
			for range 2 {
				if r := v.scan(); len(r.Edits) > 0 || len(r.Problems) != 1 || r.Problems[0].Path != copied {
					t.Errorf("the copy is left alone and told of: %+v", r)
				}
				v.settled()
			}
			if got := v.fact("tea"); got.Content != tea().Content {
				t.Errorf("then it says %q", got.Content)
			}
		})
	}
}

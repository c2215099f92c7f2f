package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// What stands over the memories of a block comes back with them: fenced, pasted without
// its fence, or said again line by line. None of it is anything that the user said.
func TestABlocksFrontIsNotLearned(t *testing.T) {
	hits := []memory.Hit{{Memory: memory.Memory{Fact: &memory.Fact{ID: "f", Content: "User lives in Lisbon with two cats"}}}}
	block := recall.Render(recall.Core{}, hits, recall.RenderOptions{Heading: "Relevant memory", Hint: "Re-rank these memories on the fly, and pass over those that are not relevant to the message."}).Text
	bare := strings.TrimSuffix(strings.TrimPrefix(block, recall.FenceOpen+"\n"), "\n"+recall.FenceClose)
	o := learn.GuardOptions{FenceBegin: recall.FenceOpen, FenceEnd: recall.FenceClose}
	for name, c := range map[string]struct {
		said  string
		given *learn.InjectedMemories
		want  []string
	}{
		"fenced":                   {block + "\nI play the cello.", nil, []string{"I play the cello."}},
		"fenced, in the middle":    {"I play\n" + block + "\nthe cello.", nil, []string{"I play the cello."}},
		"pasted without its fence": {bare, learn.NewInjectedMemories(block), nil},
		"its front alone":          {strings.Join(strings.Split(bare, "\n")[:2], "\n"), learn.NewInjectedMemories(block), nil},
	} {
		o.InjectedUpTo = func(int) *learn.InjectedMemories { return c.given }
		var got []string
		for _, s := range learn.Guard([]memory.Turn{memtest.Turn(memtest.Ana, "C", 0, memory.RoleUser, c.said)}, o) {
			got = append(got, strings.Join(strings.Fields(s.Text), " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q is left of %q, want %q", name, got, c.said, c.want)
		}
	}
}

package dialog

import (
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// maxSteps bounds the search for an overlap. Only a long conversation of equal
// messages comes near it.
const maxSteps = 20_000

// overlap finds where in the tree a request that may hold only the end of its
// conversation begins: the longest run of stored turns, then the latest. Without
// one that can be trusted it returns the end of the current path, where all of
// the request is added.
func (t *tree) overlap(msgs []wire.Message, hist []int) (on []int, parent int) {
	parent = t.leaf()
	froms := append([]int{start}, t.path[:max(0, len(t.path)-1)]...)
	steps := 0
	for i := len(froms) - 1; i >= 0 && steps < maxSteps; i-- {
		run := t.walk(froms[i], msgs, hist)
		steps += len(run) + 1
		if len(run) > len(on) && t.trusted(run, msgs, hist) {
			on, parent = run, run[len(run)-1]
		}
	}
	return on, parent
}

// trusted reports whether a run of turns that say what the request begins with is
// more than a chance: nothing stands after it, or it holds an answer and what led
// to it, or no words of the user would be pushed out. A lone short message, such
// as "yes", that was answered is said once more and not sent again.
func (t *tree) trusted(run []int, msgs []wire.Message, hist []int) bool {
	after := t.beyond(run[len(run)-1])
	switch {
	case len(after) == 0:
		return true
	case len(run) > 1 && t.speaks(run, memory.RoleAssistant):
		return true
	case t.speaks(after, memory.RoleUser):
		return false
	}
	return len(hist) > 1 || !slight(msgs[hist[0]].Text)
}

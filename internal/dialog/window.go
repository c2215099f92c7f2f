package dialog

import (
	"github.com/loci-memory/loci/memory"
)

// maxSteps bounds the search for an overlap. Only a long conversation of equal
// messages comes near it.
const maxSteps = 20_000

// overlap finds where in the tree a request that may hold only the end of its
// conversation begins: the longest run of stored turns, then the latest. Without
// one that can be trusted it returns the end of the current path, where all of
// the request is added.
func (t *tree) overlap(r Request) (on []int, parent int) {
	steps := 0
	if on, _ = t.longest(r, &steps); len(on) > 0 {
		return on, on[len(on)-1]
	}
	return nil, t.leaf()
}

// longest returns the longest run of stored turns that say what the messages begin
// with and can be trusted, of several the latest, and how many turns of the current
// path stand before it.
func (t *tree) longest(r Request, steps *int) (on []int, before int) {
	froms := append([]int{start}, t.path[:max(0, len(t.path)-1)]...)
	for i := len(froms) - 1; i >= 0 && *steps < maxSteps; i-- {
		run := t.walk(froms[i], r)
		*steps += len(run) + 1
		if len(run) > len(on) && t.trusted(run, r) {
			on, before = run, i
		}
	}
	return on, before
}

// trimmed lays a request that shares no beginning with its conversation on its end, as
// a client sends it that leaves out the oldest messages. Messages before the ones that
// are known take the place of as many turns: they were edited. Where these are all
// that stand before, or nothing is known, the first message was edited, and the
// request begins at [start].
func (t *tree) trimmed(r Request) (on []int, parent int) {
	steps := 0
	for k := range r.hist {
		run, before := t.longest(r.from(k), &steps)
		switch {
		case len(run) == 0:
		case k == 0:
			return run, run[len(run)-1]
		case !t.speaks(run, memory.RoleUser) || !t.speaks(run, memory.RoleAssistant):
		case before <= k:
			return nil, start
		default:
			return nil, t.path[before-k-1]
		}
	}
	return nil, start
}

// trusted reports whether a run of turns that say what the request begins with is
// more than a chance: nothing stands after it, or it holds an answer and what led
// to it, or no words of the user would be pushed out. A lone short message, such
// as "yes", that was answered is said once more and not sent again.
func (t *tree) trusted(run []int, r Request) bool {
	after := t.beyond(run[len(run)-1])
	switch {
	case len(after) == 0:
		return true
	case len(run) > 1 && t.speaks(run, memory.RoleAssistant):
		return true
	case t.speaks(after, memory.RoleUser):
		return false
	}
	return len(r.hist) > 1 || !slight(r.at(0).Text)
}

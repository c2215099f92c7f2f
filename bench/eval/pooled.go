package eval

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/loci-memory/loci/memory"
)

// within is which of several conversations something belongs to, in front of its
// refs and sessions, so that they are unique in the owner of all.
func within(conversation int) string { return strconv.Itoa(conversation) + "/" }

// pooled returns the stages of one owner who said all of it. The conversations
// grow side by side: when a question is asked of the first third of its own, a
// third of every other is known too.
func (r *retrieval) pooled() []stage {
	owner := memory.User(memory.DefaultNamespace, r.set.Name+"-pooled")
	var asks []*probe
	for i := range r.set.Conversations {
		asks = append(asks, r.asks(i, owner)...)
	}
	// share is which part of its conversation is known when it is asked.
	share := func(a *probe) (known, of int) {
		c := r.set.Conversations[a.conversation]
		return c.known(a.question), max(1, len(c.Turns))
	}
	earlier := func(a, b *probe) int {
		known, of := share(a)
		its, ofIts := share(b)
		return cmp.Compare(known*ofIts, its*of)
	}
	slices.SortStableFunc(asks, earlier)
	var stages []stage
	known := make([]int, len(r.set.Conversations))
	for i, a := range asks {
		if i == 0 || earlier(asks[i-1], a) != 0 {
			s := stage{owner: owner}
			part, of := share(a)
			for j, c := range r.set.Conversations {
				upTo := max(known[j], len(c.Turns)*part/of)
				for _, t := range c.Turns[known[j]:upTo] {
					t.Ref, t.Session = within(j)+t.Ref, within(j)+t.Session
					s.turns = append(s.turns, t)
				}
				known[j] = upTo
			}
			stages = append(stages, s)
		}
		last := &stages[len(stages)-1]
		last.ask = append(last.ask, a)
	}
	return stages
}

package vault

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// order brings the lines of one owner into the journal in the order of their
// versions, so that a crash can only cut off the newest: many calls commit in the
// store within at once, and come back as they like.
type order struct {
	mu     sync.Mutex // guards what follows; held while lines are queued, never while one is synced
	known  bool       // the journal names this owner
	head   int64      // version of the last line that was queued
	at     time.Time  // latest time of a line that was queued
	tail   int64      // [head.Tail] at the start
	flying int        // calls that are in the store within
	early  []*ticket  // lines that wait for one of a lower version
}

// begin counts a call that is about to commit.
func (o *order) begin() {
	o.mu.Lock()
	o.flying++
	o.mu.Unlock()
}

// put queues the line of a commit as soon as all before it are. It reports
// whether lines wait for one that nobody will bring any more.
func (o *order) put(j *journal, t *ticket) (stuck bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying--
	o.early = append(o.early, t)
	o.follow(j)
	return o.stuck()
}

// end takes back a begin whose call wrote nothing, and reports as put does.
func (o *order) end() (stuck bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying--
	return o.stuck()
}

func (o *order) stuck() bool { return o.flying == 0 && len(o.early) > 0 }

// follow queues the lines whose turn has come.
func (o *order) follow(j *journal) {
	for {
		i := slices.IndexFunc(o.early, func(t *ticket) bool {
			return t.version <= o.head || t.raises && t.version == o.head+1
		})
		if i < 0 {
			return
		}
		t := o.early[i]
		o.early = slices.Delete(o.early, i, i+1)
		o.head = max(o.head, t.version)
		if t.at.After(o.at) {
			o.at = t.at
		}
		j.add(t)
	}
}

// orders are all owners'.
type orders struct {
	mu sync.Mutex // guards of
	of map[memory.Owner]*order
}

func (s *orders) get(owner memory.Owner) *order {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.of[owner]
	if o == nil {
		o = new(order)
		s.of[owner] = o
	}
	return o
}

// owners returns those that the journal may know, in order.
func (s *orders) owners() []memory.Owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.of))
}

package sqlstore

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// follow reads all that Ana has, as who makes an index does.
func (r *rig) follow(each func(memory.Item) error) error {
	_, err := r.Since(r.t.Context(), memtest.Ana, new(memtest.Embedder).Fingerprint(), 0, each)
	return err
}

func anItem(memory.Item) error { return nil }

// missed returns which of these have to be read from the database.
func (r *rig) missed(ids ...string) []string {
	_, missing, l := r.known.memoryCache.find(memtest.Ana, ids)
	l.end(false)
	return missing
}

// knowNothing has the store forget what it remembers, as after a start.
func (r *rig) knowNothing() {
	c := &r.known.memoryCache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.size = nil, nil, 0
}

// sameAsDatabase fails unless memories are answered as the database has them.
func (r *rig) sameAsDatabase(ids ...string) {
	r.t.Helper()
	read, err := r.read(r.t.Context(), memtest.Ana, ids)
	if err != nil {
		r.t.Fatal(err)
	}
	var want []memory.Memory
	for _, id := range ids {
		want = append(want, read[id]...)
	}
	if got := r.get(ids...); !reflect.DeepEqual(got, want) {
		r.t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWhatAnIndexIsMadeOfIsAtHand(t *testing.T) {
	r := newRig(t)
	say := func(id string) {
		t.Helper()
		if _, err := r.Append(t.Context(), memtest.Ana, turnOf(memtest.Ana, id)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"one", "two", "three"} {
		say(id)
	}
	r.knowNothing()
	if err := r.follow(func(memory.Item) error { return errors.New("no room") }); err == nil || len(r.missed("one")) == 0 {
		t.Error("what was not read whole is kept")
	}
	commits := 0
	err := r.follow(func(memory.Item) error { // others write meanwhile
		if commits++; commits > 1 {
			return nil
		}
		say("four")
		_, err := r.Apply(t.Context(), memtest.Ana, memtest.Run("retired"), memtest.TurnMark(memory.ActionUpdate, "two", memory.Retired))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if missed := r.missed("one", "two", "three", "four"); !reflect.DeepEqual(missed, []string{"two", "four"}) {
		t.Errorf("%q have to be read, want what was written meanwhile alone", missed)
	}
	r.sameAsDatabase("one", "two", "three", "four")
	r.knowNothing()
	if err := r.follow(anItem); err != nil || len(r.missed("one", "three", "four")) > 0 {
		t.Errorf("the next time: %v, and %q have to be read", err, r.missed("one", "three", "four"))
	}
	r.sameAsDatabase("one", "two", "three", "four")
	if len(r.known.memoryCache.loads) > 0 {
		t.Errorf("%d loads are still told of commits", len(r.known.memoryCache.loads))
	}
}

// TestALoadKeepsWhatFits: of very much the last, and nothing after a commit that failed.
func TestALoadKeepsWhatFits(t *testing.T) {
	var c memoryCache
	turn := memtest.Turn(memtest.Ana, "talk", 0, memory.RoleUser, strings.Repeat("tea ", 10_000))
	load := func() *load {
		l := c.load(memtest.Ana)
		for i := range 3 * maxLoaded / len(turn.Content) {
			turn.ID = fmt.Sprint(i)
			l.add(memory.Memory{Turn: &turn})
		}
		return l
	}
	load().end(true)
	_, missing, _ := c.find(memtest.Ana, []string{"0", turn.ID})
	if c.size > maxLoaded || c.size < maxLoaded/2 || !reflect.DeepEqual(missing, []string{"0"}) {
		t.Errorf("%d bytes are kept of %d at most, and %q missed", c.size, maxLoaded, missing)
	}
	l := load()
	c.committing(nil)
	c.committed(nil, errors.New("disk full"))
	l.end(true)
	if len(c.young)+len(c.old) > 0 {
		t.Errorf("%d memories are kept, though nobody knows what a commit left behind", len(c.young)+len(c.old))
	}
}

// TestLoadsNeverBringBackWhatWas marks a turn again and again while others make indexes and
// read it: it is never older than what was acknowledged before the question.
func TestLoadsNeverBringBackWhatWas(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"one", "two"} {
		if _, err := r.Append(t.Context(), memtest.Ana, turnOf(memtest.Ana, id)); err != nil {
			t.Fatal(err)
		}
	}
	var acknowledged atomic.Int64
	done := make(chan struct{})
	var others sync.WaitGroup
	again := func(do func()) {
		others.Go(func() {
			for {
				do()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range 2 {
		again(func() {
			if err := r.follow(anItem); err != nil {
				t.Error(err)
			}
		})
		again(func() {
			before := acknowledged.Load()
			if found := r.get("one"); len(found) != 1 || found[0].Version() < before {
				t.Errorf("got %+v, after version %d was acknowledged", found, before)
			}
		})
	}
	for i := range 100 {
		status := []memory.Status{memory.Replaced, memory.Active}[i%2]
		receipt, err := r.Apply(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint("mark ", i)), memtest.TurnMark(memory.ActionUpdate, "one", status))
		if err != nil {
			t.Fatal(err)
		}
		acknowledged.Store(receipt.Version)
	}
	close(done)
	others.Wait()
}

// TestACommitCostsWhatItChanges: what is read while others write is kept, and of the moment
// of what was known, but for what they change.
func TestACommitCostsWhatItChanges(t *testing.T) {
	ids := []string{"known", "read", "read too"}
	turnsOf := func(ids ...string) map[string][]memory.Memory {
		of := map[string][]memory.Memory{}
		for _, id := range ids {
			turn := memtest.Turn(memtest.Ana, "talk", 0, memory.RoleUser, "tea")
			turn.ID = id
			of[id] = []memory.Memory{{Turn: &turn}}
		}
		return of
	}
	for name, c := range map[string]struct {
		changes memoryKey
		ended   bool // before it is learned what was read
		same    bool
		missing []string
	}{
		"another's":            {memoryKey{memtest.Ben, "read"}, true, true, nil},
		"something else":       {memoryKey{memtest.Ana, "else"}, true, true, nil},
		"something else still": {memoryKey{memtest.Ana, "else"}, false, true, nil},
		"what was known":       {memoryKey{memtest.Ana, "known"}, true, false, []string{"known"}},
		"what was known still": {memoryKey{memtest.Ana, "known"}, false, false, []string{"known"}},
		"what was read":        {memoryKey{memtest.Ana, "read"}, true, false, []string{"read"}},
		"what was read still":  {memoryKey{memtest.Ana, "read"}, false, false, []string{"read"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r memoryCache
			_, _, l := r.find(memtest.Ana, ids[:1])
			r.learn(l, ids[:1], turnsOf(ids[0]))
			_, missing, l := r.find(memtest.Ana, ids)
			changes := map[memoryKey]struct{}{c.changes: {}}
			r.committing(changes)
			if c.ended {
				r.committed(changes, nil)
			}
			if same := r.learn(l, ids, turnsOf(missing...)); same != c.same {
				t.Errorf("of the same moment: %v, want %v", same, c.same)
			}
			if !c.ended {
				_, missing, l := r.find(memtest.Ana, []string{"read"})
				if l.end(false); len(missing) > 0 != (c.changes.id == "read") {
					t.Errorf("while the commit is under way %q have to be read", missing)
				}
				r.committed(changes, nil)
			}
			if _, missing, _ = r.find(memtest.Ana, ids); !reflect.DeepEqual(missing, c.missing) {
				t.Errorf("%q have to be read, want %q", missing, c.missing)
			}
		})
	}
}

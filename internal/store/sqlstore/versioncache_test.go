package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func (h *versionCache) want(t *testing.T, owner memory.Owner, version int64, known bool) {
	t.Helper()
	got := []int64{-1}
	if _, all := h.find([]memory.Owner{owner}, got); all != known || known && got[0] != version {
		t.Errorf("%s: got version %d, known %v; want %d, %v", owner, got[0], all, version, known)
	}
}

func TestHeadsForgetWhatIsOlderThanACommit(t *testing.T) {
	var h versionCache
	ana := []memory.Owner{memtest.Ana}
	asked, _ := h.find(ana, []int64{0})
	h.committed(map[memory.Owner]int64{memtest.Ana: 2}, nil)
	h.learn(ana, []int64{1}, asked) // read before the commit
	h.want(t, memtest.Ana, 2, true)

	h.committed(map[memory.Owner]int64{memtest.Ana: 3}, errors.New("disk full"))
	h.want(t, memtest.Ana, 0, false)
	asked, _ = h.find(ana, []int64{0})
	h.learn(ana, []int64{2}, asked)
	h.want(t, memtest.Ana, 2, true)
}

func TestHeadsAreBounded(t *testing.T) {
	var h versionCache
	for i := range maxHeads + 10 {
		h.committed(map[memory.Owner]int64{memory.Owner(fmt.Sprint(i)): 1}, nil)
	}
	if len(h.of) > maxHeads {
		t.Errorf("%d versions are kept, want at most %d", len(h.of), maxHeads)
	}
	h.want(t, memory.Owner(fmt.Sprint(maxHeads+9)), 1, true)
}

// TestVersionsSeeEveryAcknowledgedWrite writes for several owners at once while
// others ask: each answer is at least what was acknowledged before the question.
func TestVersionsSeeEveryAcknowledgedWrite(t *testing.T) {
	const writers, writes = 4, 60
	r := newRig(t)
	owners := []memory.Owner{memtest.Ana, memtest.Ben}
	var mu sync.Mutex // guards acknowledged
	acknowledged := make([]int64, len(owners))
	done := make(chan struct{})
	var writing, asking sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range writes {
				place := (w + i) % len(owners)
				receipt, err := r.Append(context.Background(), owners[place], turnOf(owners[place], fmt.Sprintf("%d of %d", i, w)))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[place] = max(acknowledged[place], receipt.Version)
				mu.Unlock()
			}
		})
	}
	for range 4 {
		asking.Go(func() {
			for {
				mu.Lock()
				before := slices.Clone(acknowledged)
				mu.Unlock()
				got := r.versions(owners...)
				for i := range owners {
					if got[i] < before[i] {
						t.Errorf("%s: got version %d after %d was acknowledged", owners[i], got[i], before[i])
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writing.Wait()
	close(done)
	asking.Wait()

	got, inFile := r.versions(owners...), make([]int64, len(owners))
	if err := r.readVersions(t.Context(), owners, inFile); err != nil {
		t.Fatal(err)
	}
	if want := []int64{writers * writes / 2, writers * writes / 2}; !slices.Equal(got, want) || !slices.Equal(inFile, want) {
		t.Errorf("at the end: got %d, the file has %d; want %d", got, inFile, want)
	}
}

func TestRefusedWriteRaisesNoVersion(t *testing.T) {
	r := newRig(t)
	if _, err := r.Append(t.Context(), memtest.Ana, turnOf(memtest.Ana, "kept")); err != nil {
		t.Fatal(err)
	}
	refusal := errors.New("refused")
	err := r.write(t.Context(), "", func(tx *tx) error {
		if _, err := tx.append(memtest.Ana, turnOf(memtest.Ana, "refused")); err != nil {
			return err
		}
		return refusal
	})
	if got := r.versions(memtest.Ana); !errors.Is(err, refusal) || got[0] != 1 {
		t.Errorf("after a refused write: got version %d, %v; want 1, %v", got[0], err, refusal)
	}
}

// turnOf is a batch of one turn.
func turnOf(owner memory.Owner, id string) memory.Batch {
	turn := memtest.Turn(owner, "talk", 0, memory.RoleUser, "said "+id)
	turn.ID = id
	return memory.Batch{Conversation: memtest.Conversation(owner, "talk"), Turns: []memory.Turn{turn}}
}

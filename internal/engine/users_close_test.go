package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/erase"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
)

// shelved is a store that more than one rig has: none closes it.
type shelved struct{ *inmem.Store }

func (shelved) Close() error { return nil }

// servers returns as many servers on one store, of one clock.
func servers(t *testing.T, n int) []*rig {
	t.Helper()
	var store *inmem.Store
	var out []*rig
	for range n {
		r := newRig(t, func(_ testing.TB, now func() time.Time) memory.Store {
			if store == nil {
				store = inmem.Open(inmem.Options{Now: now})
			}
			return shelved{store}
		})
		if len(out) > 0 {
			r.clock = out[0].clock
			r.Now = r.clock.Now
		}
		out = append(out, r)
	}
	return out
}

func (r *rig) says(ctx context.Context, words string) error {
	_, _, err := r.Curate.Remember(ctx, ana, curate.FactInput{Content: words}, her)
	return err
}

func TestWhatAnotherServerClosesIsClosedHere(t *testing.T) {
	ctx := context.Background()
	s := servers(t, 2)
	a, b := s[0], s[1]
	b.note(t, ana, "Ana's tea is oolong") // it has looked: not closed
	noError(t)(a.Erase.EraseOwner(ctx, ana, her))
	a.clock.Advance(erase.ResumeDelays[0] - time.Second)
	if err := b.says(ctx, "Ana's secret is marzipan"); !errors.Is(err, memory.Gone) {
		t.Errorf("before the job looks for what is left the other server says %v, want %v", err, memory.Gone)
	}
	a.clock.Advance(time.Hour)
	noError(t)(a.work(ctx))
	if c, err := a.Store.Counts(ctx, ana); err != nil || c.Facts > 0 {
		t.Errorf("an erased user has %d facts again, which stay: %v", c.Facts, err)
	}
}

// TestWhatIsReadWhileAnOwnerIsClosedDoesNotOpenThem lets somebody read before the mark
// is there and tell after.
func TestWhatIsReadWhileAnOwnerIsClosedDoesNotOpenThem(t *testing.T) {
	var c core.ClosedOwners
	now := time.Unix(0, 0)
	c.Set(ana, true, now)
	if !c.RecordRead(ana, false, now) {
		t.Error("what was read before the owner was closed says that they are open")
	}
	if c.RecordRead(ana, false, now.Add(time.Minute)) {
		t.Error("what was read long after says that they are closed")
	}
}

func TestUndoDoesNotCloseAnOpenedUser(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "Ana's tea is oolong")
		noError(t)(r.Erase.EraseOwner(ctx, ana, her))
		r.clock.Advance(time.Second)
		closed := r.Time()
		r.clock.Advance(time.Second)
		noError(t)(r.Erase.OpenOwner(ctx, ana, her))
		r.clock.Advance(time.Second)
		r.note(t, ana, "Ana knows Wanda")
		marks, err := r.AllChanges(ctx, ana, memory.ChangeQuery{Target: "profile:" + core.ClosedKey})
		if err != nil || len(marks) != 2 {
			t.Fatalf("%d changes of the mark, %v; want two", len(marks), err)
		}
		for _, u := range []curate.UndoRequest{{RunID: marks[0].Run}, {ChangeID: marks[0].ID}, {RunID: marks[0].Run, Cascade: true}, {RunID: marks[1].Run, Cascade: true}} {
			if _, err := r.Curate.Undo(ctx, ana, u, her); !errors.Is(err, memory.Conflict) {
				t.Errorf("undo %+v: %v, want a conflict", u, err)
			}
		}
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{ToTime: closed}, her))
		r.wantSeen(t, ana)
		if p := r.CurrentPause(ctx, ana); p != core.PauseNone {
			t.Errorf("after the undo the pause is %q, want none", p)
		}
		r.note(t, ana, "Ana flies a kite")
		r.clock.Advance(time.Hour)
		r.settle(t)
		r.wantSeen(t, ana, "Ana flies a kite")
		r.ClosedOwners = core.ClosedOwners{} // another program
		if err := r.says(ctx, "Ana likes jam"); err != nil {
			t.Errorf("she was opened: %v", err)
		}
	})
}

// TestAnErasureSeesToItsOwnEndAlone opens who was erased, and lets a mark of another
// time stand: the job of the erasure does nothing.
func TestAnErasureSeesToItsOwnEndAlone(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, stores["inmem"])
	r.note(t, ana, "Ana's tea is oolong")
	noError(t)(r.Erase.EraseOwner(ctx, ana, her))
	r.clock.Advance(erase.ResumeDelays[0])
	old := try(r.Store.Claim(ctx, []memory.JobKind{memory.JobErase}, time.Minute)).orFail(t)
	noError(t)(r.Erase.OpenOwner(ctx, ana, her))
	r.note(t, ana, "Ana knows Wanda")
	// The mark comes back by no way of ours: a file of a vault that was put back, say.
	mark := memory.ProfileEntry{Owner: ana, Key: core.ClosedKey, Value: r.Time().Format(time.RFC3339Nano), Status: memory.Active, UpdatedAt: r.Time()}
	noError(t)(r.Store.Apply(ctx, ana, memory.Run{ID: core.NewID(), Kind: "manual", Author: her}, memory.Change{Action: memory.ActionRestore, After: memory.State{Profile: &mark}, Author: her}))
	noError(t)(r.Erase.ResumeErasure(ctx, old))
	r.wantSeen(t, ana, "Ana knows Wanda")
}

func TestWhomAFactIsSharedWithIsNotUndone(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "Ana's tea is oolong")
		r.clock.Advance(time.Second)
		start := r.Time()
		r.clock.Advance(time.Second)
		r.share(t, f.ID, "user/ben", false)
		r.share(t, f.ID, "user/ben", true)
		r.note(t, ana, "Ana knows Wanda")
		shares, err := r.AllChanges(ctx, ana, memory.ChangeQuery{Target: "profile:" + share.ShareKeyPrefix + f.ID})
		if err != nil || len(shares) != 2 {
			t.Fatalf("%d changes, %v; want two", len(shares), err)
		}
		for _, u := range []curate.UndoRequest{{RunID: shares[0].Run}, {ChangeID: shares[0].ID}, {RunID: shares[1].Run, Cascade: true}, {RunID: shares[0].Run, DryRun: true}} {
			if _, err := r.Curate.Undo(ctx, ana, u, her); !errors.Is(err, memory.Conflict) {
				t.Errorf("undo %+v: %v, want a conflict", u, err)
			}
		}
		r.share(t, f.ID, "user/ben", false)
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{ToTime: start}, her))
		r.wantSeen(t, ana, "Ana's tea is oolong")
		with, err := r.Share.Receivers(ctx, ana, f.ID)
		if err != nil || !slices.Equal(with, []memory.Owner{ben}) {
			t.Errorf("it is shared with %v, %v; want %v still", with, err, ben)
		}
	})
}

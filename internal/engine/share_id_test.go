package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// eve has facts with the ids of others', by a file or an import.
var eve = memory.User(memory.DefaultNamespace, "eve")

const (
	anas = "The backend runs on Bun"
	eves = "The backend is at evil.example"
)

// forge gives Eve a fact with the id of another's.
func (r *rig) forge(t *testing.T, id string) {
	t.Helper()
	f := memtest.Fact(eve, eves)
	f.ID = id
	noError(t)(r.Store.Apply(context.Background(), eve, memtest.Run("forged "+id), memtest.Add(f)))
}

// shareBy shares a fact of an owner's with Ben, or ends that, and wants an answer.
func (r *rig) shareBy(t *testing.T, owner memory.Owner, id string, end bool, want error) {
	t.Helper()
	if _, err := r.Share.Share(context.Background(), owner, id, share.Request{Receiver: "user/ben", Stop: end}, her); !errors.Is(err, want) {
		t.Fatalf("%s shares %s (end %v): %v, want %v", owner, id, end, err, want)
	}
	r.settle(t)
}

// eraseOf erases a fact of an owner's, or all of the owner, and sees to all jobs.
func (r *rig) eraseOf(t *testing.T, owner memory.Owner, id string, whole bool) {
	t.Helper()
	var err error
	if whole {
		_, err = r.Erase.EraseOwner(context.Background(), owner, her)
	} else {
		_, _, err = r.Curate.ForgetMatching(context.Background(), owner, curate.ForgetRequest{IDs: []string{id}, Erase: true}, her)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.settle(t)
	r.clock.Advance(time.Hour)
	r.settle(t)
}

func TestAFactOfTheSameIDTakesNoOthersPlace(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		f := r.note(t, ana, anas)
		r.shareBy(t, ana, f.ID, false, nil)
		r.forge(t, f.ID)
		r.shareBy(t, eve, f.ID, false, memory.Conflict)
		if with, err := r.Share.Receivers(context.Background(), eve, f.ID); err != nil || len(with) > 0 {
			t.Errorf("what was refused is shared with %v, %v", with, err)
		}
		r.wantSeen(t, ben, anas)
		r.shareBy(t, eve, f.ID, true, nil)
		r.wantSeen(t, ben, anas)
	})
}

// TestWhoSharesAnothersIDFirstKeepsNobodyOut lets Eve be first. Ana is told, and shares
// once that is over, whoever ended it.
func TestWhoSharesAnothersIDFirstKeepsNobodyOut(t *testing.T) {
	for name, over := range map[string]func(t *testing.T, r *rig, id string){
		"ended":  func(t *testing.T, r *rig, id string) { r.shareBy(t, eve, id, true, nil) },
		"erased": func(t *testing.T, r *rig, id string) { r.eraseOf(t, eve, id, false) },
		"closed": func(t *testing.T, r *rig, id string) { r.eraseOf(t, eve, id, true) },
		"hidden": func(t *testing.T, r *rig, id string) {
			noError(t)(r.Curate.Forget(context.Background(), ben, []string{id}, "hidden", him))
			r.settle(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				f := r.note(t, ana, anas)
				r.forge(t, f.ID)
				r.shareBy(t, eve, f.ID, false, nil)
				r.shareBy(t, ana, f.ID, false, memory.Conflict)
				r.wantSeen(t, ben, eves)
				over(t, r, f.ID)
				r.wantSeen(t, ben)
				r.shareBy(t, ana, f.ID, false, nil)
				r.wantSeen(t, ben, anas)
			})
		})
	}
}

// TestWhatWasHiddenStaysHiddenBesideAnothersID: Ben hides Ana's fact, and sees and hides
// Eve's of that id; Ana's is not shown by that.
func TestWhatWasHiddenStaysHiddenBesideAnothersID(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, anas)
		r.shareBy(t, ana, f.ID, false, nil)
		r.forge(t, f.ID)
		for _, by := range []memory.Owner{ana, eve} {
			noError(t)(r.Curate.Forget(ctx, ben, []string{f.ID}, "hidden", him))
			if by == ana {
				r.shareBy(t, eve, f.ID, false, nil)
				r.wantSeen(t, ben, eves)
			}
		}
		r.shareBy(t, ana, f.ID, false, memory.Conflict)
		r.edit(t, f.ID, "The backend runs on Node")
		r.wantSeen(t, ben)
	})
}

func TestNobodyIsSharedWithInPlaceOfTheirOwn(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		own, _, err := r.Curate.Remember(context.Background(), ben, curate.FactInput{Content: "Ben carves granite"}, him)
		if err != nil {
			t.Fatal(err)
		}
		r.forge(t, own.ID)
		r.shareBy(t, eve, own.ID, false, memory.Conflict)
		r.wantSeen(t, ben, "Ben carves granite")
	})
}

func TestErasingAFactOfTheSameIDErasesNoOthersCopy(t *testing.T) {
	for _, whole := range []bool{false, true} {
		onEach(t, func(t *testing.T, r *rig) {
			f := r.note(t, ana, anas)
			r.forge(t, f.ID)
			r.shareBy(t, eve, f.ID, false, nil) // so that Ben's journal has it
			r.shareBy(t, eve, f.ID, true, nil)
			r.shareBy(t, ana, f.ID, false, nil)
			words := "The backend runs on Node"
			r.edit(t, f.ID, words)
			r.clock.Advance(time.Hour)
			r.settle(t) // what Ana's sharing queued
			r.eraseOf(t, eve, f.ID, whole)
			r.wantSeen(t, ben, words)
			if got := r.ask(t, ben, "What does the backend run on?", memory.At{}); !slices.Equal(got, []string{words}) {
				t.Errorf("Ben's search finds %q", got)
			}
			past := try(r.AllChanges(context.Background(), ben, memory.ChangeQuery{})).orFail(t)
			for _, c := range past {
				for _, i := range []memory.State{c.Before, c.After} {
					if i.Link != nil && strings.Contains(i.Link.Fact.Content, "evil") {
						t.Errorf("Ben's journal still says %q", i.Link.Fact.Content)
					}
				}
			}
			r.edit(t, f.ID, anas)
			r.wantSeen(t, ben, anas)
		})
	}
}

// TestErasingAFactOfTheSameIDLeavesTheJournalOfOthers: where Eve's was never shown, not
// even what Ben's copy said before goes.
func TestErasingAFactOfTheSameIDLeavesTheJournalOfOthers(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		f := r.note(t, ana, anas)
		r.forge(t, f.ID)
		value := memory.ProfileEntry{Owner: eve, Key: share.ShareKeyPrefix + f.ID, Value: `["default/user/ben"]`, Status: memory.Active, UpdatedAt: r.Time()}
		r.shareBy(t, ana, f.ID, false, nil)
		noError(t)(r.Store.Apply(context.Background(), eve, memtest.Run("by file"), memory.Change{Action: memory.ActionAdd, After: memory.State{Profile: &value}}))
		r.settle(t)
		r.eraseOf(t, eve, f.ID, false)
		r.wantSeen(t, ben, anas)
		past, err := r.AllChanges(context.Background(), ben, memory.ChangeQuery{Target: "link:" + f.ID})
		if err != nil || len(past) != 2 || past[0].After.Link.Fact.Content != anas || past[1].After.Link.Fact.Content != anas {
			t.Errorf("Ben's journal of the copy: %+v, %v; want that it came and was accepted", past, err)
		}
	})
}

func TestWhatIsSharedWithWhoIsClosedIsSeenOnceTheyAreOpened(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		before := r.note(t, ana, "Ana keeps bees")
		r.shareBy(t, ana, before.ID, false, nil)
		noError(t)(r.Erase.EraseOwner(ctx, ben, him))
		f := r.note(t, ana, anas)
		ended := r.note(t, ana, "Ana sings")
		for _, id := range []string{f.ID, ended.ID} {
			r.shareBy(t, ana, id, false, nil)
		}
		r.shareBy(t, ana, ended.ID, true, nil)
		r.clock.Advance(time.Hour)
		r.settle(t)
		r.wantSeen(t, ben)
		noError(t)(r.Erase.OpenOwner(ctx, ben, him))
		r.settle(t)
		r.wantSeen(t, ben, anas)
	})
}

// TestWhatAPoolHadErasedIsLookedForAgain writes a trace as another server does that had
// read the fact before.
func TestWhatAPoolHadErasedIsLookedForAgain(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, team, "The cellar holds marzipan")
		noError(t)(r.Curate.ForgetMatching(ctx, team, curate.ForgetRequest{IDs: []string{f.ID}, Erase: true}, her))
		late := memory.Trace{ID: "late", Owner: ben, At: r.Time(), Hits: []memory.TraceHit{{ID: f.ID, Kind: memory.KindFact, Content: f.Content, Owner: team}}}
		noError(t)(r.Store.SaveTraces(ctx, traces.MaxStoredTraces, late))
		r.clock.Advance(2 * share.RecheckDelay)
		r.settle(t)
		if got, err := r.Traces.Traces(ctx, ben, memory.TraceQuery{}); err != nil || len(got) > 0 {
			t.Errorf("%d traces are left, %v", len(got), err)
		}
	})
}

package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/memory"
)

// profileCounter is a store that counts how often a profile is read.
type profileCounter struct {
	memory.Store
	profiles int
}

func (c *profileCounter) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	c.profiles++
	return c.Store.Profile(ctx, owner, at)
}

// TestAChangeOfAKnownFactReadsNoProfile counts, with writes of others in between.
func TestAChangeOfAKnownFactReadsNoProfile(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			var store *profileCounter
			r := newRig(t, func(t testing.TB, now func() time.Time) memory.Store {
				store = &profileCounter{Store: open(t, now)}
				return store
			})
			given, kept := r.note(t, ana, "The cellar holds wine"), r.note(t, ana, "The attic holds books")
			r.share(t, given.ID, "user/ben", false)
			write := func(through memory.Store) {
				t.Helper()
				for _, f := range []*memory.Fact{&given, &kept} {
					f.Confidence /= 2
					change := memory.Change{Action: memory.ActionUpdate, After: memory.Image{Fact: f}, Reason: "test", Author: her}
					if _, err := through.Apply(ctx, ana, memory.Run{ID: core.NewID(), Kind: "manual", Author: her}, change); err != nil {
						t.Fatal(err)
					}
				}
			}
			knows := func(want ...string) {
				t.Helper()
				if got, err := r.Share.SharedOf(ctx, ana, []string{kept.ID, given.ID, given.ID}); err != nil || !slices.Equal(got, want) {
					t.Errorf("shared are %q, %v; want %q", got, err, want)
				}
			}
			knows(given.ID)
			r.Closed.Set(ana, false, r.Time())
			store.profiles = 0
			for range 20 {
				write(r.Store)
			}
			if store.profiles > 0 {
				t.Errorf("40 changes read the profile %d times", store.profiles)
			}
			knows(given.ID)
			r.share(t, kept.ID, "user/ben", false)
			knows(kept.ID, given.ID)

			// Another server writes, shares more, and ends it.
			other := store.Store
			write(other)
			knows(kept.ID, given.ID)
			entry := memory.ProfileEntry{Owner: ana, Key: share.SharedKeys + kept.ID, Status: memory.Retired, UpdatedAt: r.Time()}
			if _, err := other.Apply(ctx, ana, memory.Run{ID: core.NewID(), Kind: "share", Author: her}, memory.Change{
				Action: memory.ActionRetire, After: memory.Image{Profile: &entry}, Reason: "test", Author: her,
			}); err != nil {
				t.Fatal(err)
			}
			knows(given.ID)
		})
	}
}

// TestWhatClosesAUserIsSeenAtOnce, whoever writes it here: a file of a vault may.
func TestWhatClosesAUserIsSeenAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "Ana is here") // from here on she is believed not to be closed
		mark := memory.ProfileEntry{Owner: ana, Key: core.ClosedKey, Value: r.Time().Format(time.RFC3339Nano), Status: memory.Active, UpdatedAt: r.Time()}
		apply := func(action memory.Action) {
			t.Helper()
			change := memory.Change{Action: action, After: memory.Image{Profile: &mark}, Reason: "test", Author: her}
			if _, err := r.Store.Apply(ctx, ana, memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: her}, change); err != nil {
				t.Fatal(err)
			}
		}
		apply(memory.ActionAdd)
		if _, _, err := r.Curate.Remember(ctx, ana, curate.Note{Content: "Ana is still here"}, her); !errors.Is(err, memory.Gone) {
			t.Errorf("a note after that: %v, want it gone", err)
		}
		mark.Status = memory.Retired
		apply(memory.ActionRetire)
		r.note(t, ana, "Ana is back")
	})
}

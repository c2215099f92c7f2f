package vault

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// forgetful commits, and says that it does not know whether it did.
type forgetful struct {
	memory.Store
	lost bool
}

func (f *forgetful) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	receipt, err := f.Store.Apply(ctx, owner, run, changes...)
	if f.lost && err == nil {
		return memory.Receipt{}, errors.New("the connection broke")
	}
	return receipt, err
}

func TestCommitOfUnknownOutcomeReachesTheFiles(t *testing.T) {
	dir := t.TempDir()
	var within *forgetful
	s := try(Open(t.Context(), dir, func(now func() time.Time) (memory.Store, error) {
		inner, err := inMemory(now)
		within = &forgetful{Store: inner}
		return within, err
	}, Options{})).orFail(t)
	apply := func(words string) error {
		_, err := s.Apply(t.Context(), memtest.Ana, memtest.Run(words), memtest.Add(memtest.Fact(memtest.Ana, words)))
		return err
	}
	noError(t)(apply("tea"))
	within.lost = true
	if err := apply("milk"); err == nil {
		t.Error("nobody knows whether milk is there, but no error")
	}
	within.lost = false
	if err := apply("water"); err != nil {
		t.Errorf("after it: %v", err)
	}
	noError(t)(s.Close())
	all := ""
	for _, text := range tree(t, dir) {
		all += text
	}
	for _, words := range []string{"tea", "milk", "water"} {
		if !strings.Contains(all, "\n"+words+"\n") {
			t.Errorf("no file says %s", words)
		}
	}
}

func TestClosedVaultRefusesWrites(t *testing.T) {
	v := newVault(t)
	noError(t)(v.Store.Close())
	if _, err := v.Apply(t.Context(), memtest.Ana, memtest.Run("late"), memtest.Add(tea())); !errors.Is(err, memory.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}

package inmem_test

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/storetest"
)

func open(t *testing.T, now func() time.Time) memory.Store {
	s := inmem.Open(inmem.Options{Now: now})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestContract(t *testing.T) { storetest.Run(t, open) }

func TestConcurrent(t *testing.T) { storetest.RunConcurrent(t, open) }

// The reference is compared with itself: what counts here is that the past stays
// as it was and that undo restores.
func TestHistory(t *testing.T) { storetest.RunHistory(t, open, open) }

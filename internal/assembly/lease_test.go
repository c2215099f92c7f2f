package assembly

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/jobs"
)

// TestKilledReplicaFreesItsJobsInTenSeconds: other servers see a lease that ran out at their
// next poll. A lease is renewed twice before it ends, so that one renewal may fail.
func TestKilledReplicaFreesItsJobsInTenSeconds(t *testing.T) {
	shared := jobLease(config.Config{Store: "postgres://u@h/d"})
	if free := shared + jobs.DefaultPoll; free > 10*time.Second {
		t.Errorf("the jobs of a killed replica are free after %v, want 10s at most", free)
	}
	if alone := jobLease(config.Config{Store: "sqlite"}); alone < time.Minute {
		t.Errorf("with SQLite, where a start ends all leases, the lease is %v, want a minute", alone)
	}
}

package mongostore

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/memory"
)

// pollInterval is the interval of polling for other servers' commits, since some databases cannot notify.
const pollInterval = time.Second

// clockInterval is the interval of reading the server's clock.
const clockInterval = time.Minute

// Listen calls, until ctx ends, the functions of [Store.OnErase] after other servers' erasures, and calls
// wake after another server queued a job.
func (s *Store) Listen(ctx context.Context, wake func()) {
	polls := time.NewTicker(pollInterval)
	defer polls.Stop()
	erased, queued, clockRead := memory.Time(s.now()), memory.Time(s.now()), time.Now()
	for {
		select {
		case <-polls.C:
		case <-ctx.Done():
			return
		}
		if time.Since(clockRead) > clockInterval && s.measureClock(ctx) == nil {
			clockRead = time.Now()
		}
		later := bson.M{"erased": bson.M{"$gt": erased}}
		_ = forEach(ctx, s, commits, later, options.Find(), func(h *commitDoc) bool { // after an error the next poll repeats the query
			s.notifyErased(h.Owner)
			if h.ErasedAt.After(erased) {
				erased = h.ErasedAt
			}
			return true
		})
		var newest jobDoc
		filter := bson.M{"state": memory.JobQueued, "run_at": bson.M{"$gt": queued, "$lte": memory.Time(s.now())}}
		err := s.collection(jobs).FindOne(ctx, filter, options.FindOne().SetSort(sortKeys("-run_at"))).Decode(&newest)
		if err == nil {
			queued = newest.Job.RunAt
			wake()
		} else if !errors.Is(err, mongo.ErrNoDocuments) && ctx.Err() == nil {
			s.notifyErased("") // the poll failed, so an erasure may have been missed
		}
	}
}

// OnErase adds a function that is called with the owner after another server's erasure, and with ""
// when [Store.Listen] may have missed an erasure.
func (s *Store) OnErase(notify func(memory.Owner)) {
	s.erasedMu.Lock()
	defer s.erasedMu.Unlock()
	s.eraseListeners = append(s.eraseListeners, notify)
}

func (s *Store) notifyErased(owner memory.Owner) {
	s.erasedMu.Lock()
	functions := slices.Clone(s.eraseListeners)
	s.erasedMu.Unlock()
	for _, tell := range functions {
		tell(owner)
	}
}

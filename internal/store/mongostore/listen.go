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

// pollInterval is the interval of polling for other servers' commits: some databases cannot notify.
const pollEvery = time.Second

// clockInterval is the interval of reading the server's clock.
const clockEvery = time.Minute

// Listen calls the functions of [Store.OnErase] after other servers' erasures, and wake when
// another server queued a job, until ctx ends.
func (s *Store) Listen(ctx context.Context, wake func()) {
	polls := time.NewTicker(pollEvery)
	defer polls.Stop()
	erased, queued, clock := memory.Time(s.now()), memory.Time(s.now()), time.Now()
	for {
		select {
		case <-polls.C:
		case <-ctx.Done():
			return
		}
		if time.Since(clock) > clockEvery && s.setClock(ctx) == nil {
			clock = time.Now()
		}
		later := bson.M{"erased": bson.M{"$gt": erased}}
		_ = stream(ctx, s, commits, later, options.Find(), func(h *head) bool { // after an error the next poll repeats the query
			s.tell(h.Owner)
			if h.Erased.After(erased) {
				erased = h.Erased
			}
			return true
		})
		var newest jobDoc
		due := bson.M{"state": memory.JobQueued, "run_at": bson.M{"$gt": queued, "$lte": memory.Time(s.now())}}
		err := s.in(jobs).FindOne(ctx, due, options.FindOne().SetSort(keys("-run_at"))).Decode(&newest)
		if err == nil {
			queued = newest.Job.RunAt
			wake()
		} else if !errors.Is(err, mongo.ErrNoDocuments) && ctx.Err() == nil {
			s.tell("") // notifications may be lost
		}
	}
}

// OnErase adds a function that is called with the owner after another server's erasure, and with ""
// when [Store.Listen] may have missed an erasure.
func (s *Store) OnErase(tell func(memory.Owner)) {
	s.hearing.Lock()
	defer s.hearing.Unlock()
	s.erased = append(s.erased, tell)
}

func (s *Store) tell(owner memory.Owner) {
	s.hearing.Lock()
	all := slices.Clone(s.erased)
	s.hearing.Unlock()
	for _, tell := range all {
		tell(owner)
	}
}

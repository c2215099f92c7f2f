package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// plainStore hides what a store can do besides the contract.
type plainStore struct{ memory.Store }

// lines puts facts into the store that turns taught and that were replaced: one
// twice, one by what was forgotten since, one by nothing that is known, two by
// each other.
func lines(t *testing.T, store memory.Store) {
	t.Helper()
	add := func(id string, turn string, by string, status memory.Status) memory.Change {
		f := memtest.Fact(ana, id)
		f.ID, f.Status, f.SupersededBy = id, status, by
		if turn != "" {
			f.Provenance.Turns = []string{turn, "other"}
		}
		return memtest.Add(f)
	}
	_, err := store.Apply(context.Background(), ana, memtest.Run("lines"),
		add("lisbon", "t1", "porto", memory.Superseded), add("porto", "t2", "faro", memory.Superseded), add("faro", "t3", "", memory.Active),
		add("tea", "t1", "mate", memory.Superseded), add("mate", "", "", memory.Active),
		add("bike", "t2", "car", memory.Superseded), add("car", "", "", memory.Retired),
		add("cat", "t4", "nothing", memory.Superseded),
		add("egg", "t5", "hen", memory.Superseded), add("hen", "t5", "egg", memory.Superseded))
	if err != nil {
		t.Fatal(err)
	}
}

func TestSuccessorsAreFollowedToWhatHolds(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open)
			lines(t, r.Store)
			rec := &recalling{e: r.Engine, q: Question{Scope: memory.Scope{Owner: ana}}, now: memory.Time(r.Now().Add(time.Hour))}
			turns := []string{"t1", "t2", "t3", "t4", "t5", "none"}
			next, err := rec.nextOf(context.Background(), turns)
			if err != nil {
				t.Fatal(err)
			}
			found, err := rec.successors(context.Background(), next)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for turn, facts := range found {
				for _, f := range facts {
					got[turn] = append(got[turn], f.ID)
				}
				slices.Sort(got[turn])
			}
			if want := (map[string][]string{"t1": {"faro", "mate"}, "t2": {"", "faro"}, "t4": {""}, "t5": {""}}); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}

			quick, err := supersededBy(context.Background(), r.Store, ana, turns)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := supersededBy(context.Background(), plainStore{r.Store}, ana, turns)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(quick) != fmt.Sprint(plain) {
				t.Errorf("at once: got %v, one by one %v", quick, plain)
			}
		})
	}
}

// waitingStore gives nothing by id before it was asked what took the place of facts.
type waitingStore struct {
	memory.Store
	asked chan struct{}
	times int
}

func (s *waitingStore) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	if s.times++; s.times == 1 {
		close(s.asked)
	}
	return s.Store.(lineage).SupersededBy(ctx, owner, turns)
}

func (s *waitingStore) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	select {
	case <-s.asked:
		return s.Store.Get(ctx, owner, ids...)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// What took the place of what a turn taught is asked while the turn is read, once.
func TestSuccessorsAreAskedBesideTheTurns(t *testing.T) {
	r := newRig(t, stores["sqlite"])
	for i, said := range []string{"I live in Berlin near the lantern factory.", "I live in Lisbon now."} {
		talk := Talk{Conversation: fmt.Sprint("c", i), Infer: true, Messages: []Said{{Role: memory.RoleUser, Content: said}}}
		if _, err := r.Ingest(context.Background(), ana, talk); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(time.Hour)
		if err := r.work(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	waiting := &waitingStore{Store: r.Store, asked: make(chan struct{})}
	r.Store = waiting
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	found, err := r.Recall(ctx, Question{Scope: memory.Scope{Owner: ana}, Text: "Who lives near the lantern factory?", Kinds: []memory.Kind{memory.KindTurn}})
	if err != nil || len(found.Degraded) > 0 {
		t.Fatalf("%v, degraded %v", err, found.Degraded)
	}
	overtaken := slices.ContainsFunc(found.Hits, func(h memory.Hit) bool { return len(h.Now) > 0 })
	if !overtaken || waiting.times != 1 {
		t.Errorf("asked %d times, hits %+v; want once, and that it is Lisbon by now", waiting.times, found.Hits)
	}
}

// cutStore tells whether a question for successors was cut off.
type cutStore struct {
	memory.Store
	recalled chan struct{}
	answered chan error
}

func (s *cutStore) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	<-s.recalled
	s.answered <- ctx.Err()
	return s.Store.(lineage).SupersededBy(ctx, owner, turns)
}

// Where no turn was learned from nobody wants successors in the end, and the question for
// them is not cut off: that would cost a server's connection.
func TestSuccessorsThatNobodyWantsAreNotCutOff(t *testing.T) {
	r := newRig(t, stores["sqlite"])
	talk := Talk{Conversation: "c", Messages: []Said{{Role: memory.RoleUser, Content: "The lantern factory burnt down."}}}
	if _, err := r.Ingest(context.Background(), ana, talk); err != nil {
		t.Fatal(err)
	}
	cut := &cutStore{Store: r.Store, recalled: make(chan struct{}), answered: make(chan error, 1)}
	r.Store = cut
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := r.Recall(ctx, Question{Scope: memory.Scope{Owner: ana}, Text: "What about the lantern factory?"}); err != nil {
		t.Fatal(err)
	}
	cancel() // as a request's does, once it is answered
	close(cut.recalled)
	if err := <-cut.answered; err != nil {
		t.Errorf("the question for successors ended with %v", err)
	}
}

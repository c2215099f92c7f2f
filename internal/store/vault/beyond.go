package vault

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

var (
	allKinds    = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}
	allStatuses = []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}
	openJobs    = []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobParked}
)

// traces are what the store within shows of its writes beyond a version: no two
// writes of an owner share a time, so that by it they are told apart. What cannot
// be seen is a run's kind, the id of one that changed nothing, and of which
// conversation a batch without turns was.
type traces struct {
	owner   memory.Owner
	after   int64
	at      time.Time
	writes  map[time.Time]*entry
	touched map[int64][]string // memories whose newest version that is
	before  map[string]memory.Status

	unmarked map[string]memory.Change // the first mark of each conversation

	convs map[string]memory.Conversation
	bare  []memory.Conversation // that no write names; likeliest first to be those of writes that left nothing else
}

// beyond returns what the store within has beyond a version and a time, as
// entries in their order.
func (s *Store) beyond(ctx context.Context, owner memory.Owner, after int64, at time.Time) ([]entry, error) {
	w := &traces{
		owner: owner, after: after, at: at, writes: map[time.Time]*entry{}, touched: map[int64][]string{},
		before: map[string]memory.Status{}, unmarked: map[string]memory.Change{}, convs: map[string]memory.Conversation{},
	}
	versions, err := s.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return nil, err
	}
	if versions[0] < after {
		return nil, nil
	}
	for _, read := range []func(context.Context, memory.Store) error{w.readChanges, w.readConversations, w.readTurns, w.readJobs, w.readTouched} {
		if err := read(ctx, s.Store); err != nil {
			return nil, err
		}
	}
	return w.entries(versions[0]), nil
}

func (w *traces) write(at time.Time) *entry {
	e := w.writes[at]
	if e == nil {
		e = &entry{Owner: w.owner, At: at}
		w.writes[at] = e
	}
	return e
}

// recoveredRun begins the ids of runs that left nothing by which to tell what they were
// called.
const recoveredRun = "recovered-"

// recovered reports whether an entry is of such a run, and one that raised no version.
func (e *entry) recovered() bool {
	return e.Run != nil && strings.HasPrefix(e.Run.ID, recoveredRun) && !e.raises()
}

// run makes the write a run, if it is nothing yet.
func (w *traces) run(at time.Time) *entry {
	e := w.write(at)
	if e.Run == nil && e.Batch == nil {
		e.Run = &runLine{ID: recoveredRun + at.Format(time.RFC3339Nano), Kind: "recovered"}
	}
	return e
}

func (w *traces) readChanges(ctx context.Context, s memory.Store) error {
	q := memory.ChangeQuery{Limit: 500}
	for {
		page, err := s.Changes(ctx, w.owner, q)
		if err != nil {
			return fmt.Errorf("read its changes: %w", err)
		}
		for _, c := range page.Changes {
			if c.Version <= w.after {
				return nil
			}
			e := w.run(c.At)
			e.Version, e.Run.ID, e.Run.Kind = c.Version, c.Run, ""
			c.Base = 0 // a vector may have given it a version that cannot be seen any more
			e.Changes = append(e.Changes, linesOfChanges([]memory.Change{c})...)
			if c.After.Turn != nil {
				w.before[c.After.Turn.ID] = c.Before.Status() // newest first, so the oldest stays
			}
			if was := c.Before.Conversation; was != nil {
				w.unmarked[was.ID] = c
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

func (w *traces) readConversations(ctx context.Context, s memory.Store) error {
	q := memory.ConversationQuery{Statuses: allStatuses, Limit: 500}
	for {
		page, err := s.Conversations(ctx, w.owner, q)
		if err != nil {
			return fmt.Errorf("read its conversations: %w", err)
		}
		for _, c := range page.Conversations {
			if was := w.unmarked[c.ID].Before.Conversation; was != nil {
				c.Title, c.Contexts, c.Rules, c.Status = was.Title, was.Contexts, was.Rules, was.Status
			}
			w.convs[c.ID] = c
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

func (w *traces) readTurns(ctx context.Context, s memory.Store) error {
	turns, err := s.Turns(ctx, w.owner, memory.TurnQuery{Statuses: allStatuses})
	if err != nil {
		return fmt.Errorf("read its turns: %w", err)
	}
	said := map[string]bool{}
	began := map[string]time.Time{} // when the first turn was recorded
	of := map[string]string{}       // a turn's conversation
	for _, t := range turns {
		of[t.ID] = t.Conversation
		if first, ok := began[t.Conversation]; !ok || t.RecordedAt.Before(first) {
			began[t.Conversation] = t.RecordedAt
		}
		if t.RecordedAt.After(w.at) {
			e := w.write(t.RecordedAt)
			if e.Batch == nil {
				e.Batch = &batchLine{Conversation: w.convs[t.Conversation]}
				said[t.Conversation] = true
			}
			was := t
			if status, marked := w.before[t.ID]; marked {
				was.Status = status
			}
			if t.LearnedAt.After(t.RecordedAt) {
				was.LearnedAt = time.Time{}
			}
			e.Batch.Turns = append(e.Batch.Turns, turnLine{was, was.Chain, was.Given})
		}
	}
	for _, t := range turns {
		if t.LearnedAt.After(w.at) && !t.LearnedAt.Equal(t.RecordedAt) {
			e := w.run(t.LearnedAt)
			if e.Run != nil {
				e.Run.Learned = append(e.Run.Learned, t.ID)
			}
		}
	}
	for _, e := range w.writes { // marks alone are a batch that went back to what was said
		if e.Batch != nil || e.learns() || !e.marksOnly() {
			continue
		}
		if c, ok := w.convs[of[e.Changes[0].After.Turn.ID]]; ok {
			e.Batch = &batchLine{Conversation: c}
			said[c.ID] = true
		}
	}
	for _, c := range w.convs {
		mark := w.unmarked[c.ID] // before the first turn, there was something to mark
		if !said[c.ID] || mark.Version > 0 && mark.At.Before(began[c.ID]) {
			w.bare = append(w.bare, c)
		}
	}
	slices.SortFunc(w.bare, func(a, b memory.Conversation) int {
		return cmp.Or(w.markedFirst(a, b), cmp.Compare(min(a.MessageCount, 1), min(b.MessageCount, 1)), b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// markedFirst orders conversations by when they were changed first, those that never
// were last: they must be there by then.
func (w *traces) markedFirst(a, b memory.Conversation) int {
	return cmp.Compare(uint64(w.unmarked[a.ID].Version-1), uint64(w.unmarked[b.ID].Version-1)) //nolint:gosec // none comes last
}

// learns reports whether a write marked turns as learned from, as no batch does.
func (e *entry) learns() bool { return e.Run != nil && len(e.Run.Learned) > 0 }

// marksOnly reports whether all that a write shows is marks on turns.
func (e *entry) marksOnly() bool {
	return len(e.Changes) > 0 && !slices.ContainsFunc(e.Changes, func(c changeLine) bool {
		return c.After.Turn == nil || c.Action != memory.ActionUpdate
	})
}

func (w *traces) readJobs(ctx context.Context, s memory.Store) error {
	jobs, err := s.Jobs(ctx, w.owner, openJobs...)
	if err != nil {
		return fmt.Errorf("read its jobs: %w", err)
	}
	for _, j := range jobs {
		if j.CreatedAt.After(w.at) {
			e := w.run(j.CreatedAt)
			e.Jobs = append(e.Jobs, j)
		}
	}
	return nil
}

// readTouched finds which memories have versions of writes that did not name them.
func (w *traces) readTouched(ctx context.Context, s memory.Store) error {
	q := memory.Query{Kinds: allKinds, Statuses: allStatuses, Limit: 500}
	for {
		page, err := s.List(ctx, w.owner, q)
		if err != nil {
			return fmt.Errorf("read its memories: %w", err)
		}
		for _, m := range page.Memories {
			if v := m.Version(); v > w.after {
				w.touched[v] = append(w.touched[v], m.ID())
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// entries puts the writes in order, numbers them, and fills versions of which
// nothing is left but that they were.
func (w *traces) entries(head int64) []entry {
	times := slices.SortedFunc(maps.Keys(w.writes), time.Time.Compare)
	later := w.turnVersions(times, head)
	version, last := w.after, w.at // of the last write that raised it
	for i, t := range times {
		e := w.writes[t]
		if e.Run != nil && e.Batch != nil { // the marks of a batch were seen first
			e.Batch.Run, e.Run = e.Run.ID, nil
		}
		slices.Reverse(e.Changes)
		if !e.raises() {
			continue
		}
		if e.Version == 0 { // no later than the free times between leave room for
			e.Version = min(later[i], version+1+int64(len(w.room(last, t, later[i]-version-1))))
		}
		w.fill(version, e.Version-1, last, t)
		version, last = e.Version, t
		e.Touched = w.unnamed(e)
	}
	if version < head {
		w.fill(version, head, last, w.end(times).Add(time.Duration(head-version+1)*time.Microsecond))
	}
	w.place()
	var out []entry
	version = w.after
	for _, t := range slices.SortedFunc(maps.Keys(w.writes), time.Time.Compare) {
		e := w.writes[t]
		version = max(version, e.Version)
		e.Version = version
		out = append(out, *e)
	}
	return out
}

func (w *traces) end(times []time.Time) time.Time {
	if len(times) == 0 {
		return w.at
	}
	return times[len(times)-1]
}

// room finds n times between two for writes that left nothing, or no more than a
// job or a mark: the last that no write has, and where these do not do, those of
// writes that are not known to have raised the version.
func (w *traces) room(from, to time.Time, n int64) []time.Time {
	var free, taken []time.Time
	for t := to.Add(-time.Microsecond); t.After(from) && int64(len(free)) < n; t = t.Add(-time.Microsecond) {
		switch e := w.writes[t]; {
		case e == nil:
			free = append(free, t)
		case !e.raises():
			taken = append(taken, t)
		}
	}
	free = append(free, taken[:min(len(taken), int(n)-len(free))]...)
	slices.SortFunc(free, time.Time.Compare)
	return free
}

// fill makes writes of the versions after one up to another, between two times.
func (w *traces) fill(after, to int64, from, until time.Time) {
	for _, t := range w.room(from, until, to-after) {
		after++
		e := w.write(t)
		e.Version = after
		e.Touched = w.touched[after]
		switch {
		case len(w.bare) > 0 && !e.learns():
			e.Batch, e.Run = &batchLine{Conversation: w.bare[0]}, nil
			w.bare = w.bare[1:]
		case e.Run == nil:
			e.Run = &runLine{ID: fmt.Sprintf("%s%d", recoveredRun, after), Kind: "recovered"}
			fallthrough
		default:
			e.Raises = true
		}
	}
}

// place gives the conversations that no write is left for to batches of marks alone, which
// may have been of another conversation than the turns that they mark.
func (w *traces) place() {
	for _, t := range slices.SortedFunc(maps.Keys(w.writes), time.Time.Compare) {
		e := w.writes[t]
		if len(w.bare) == 0 {
			return
		}
		if e.Batch != nil && len(e.Batch.Turns) == 0 && e.marksOnly() {
			e.Batch.Conversation, w.bare = w.bare[0], w.bare[1:]
		}
	}
}

// turnVersions finds the versions of writes that only appended turns: that of a
// turn that nothing touched since, or the first that the order leaves.
func (w *traces) turnVersions(times []time.Time, head int64) []int64 {
	byID := map[string]int64{}
	for v, ids := range w.touched {
		for _, id := range ids {
			byID[id] = v
		}
	}
	versions := make([]int64, len(times))
	next := head + 1 // of the raising write that follows
	for i := len(times) - 1; i >= 0; i-- {
		e := w.writes[times[i]]
		if !e.raises() {
			continue
		}
		v := e.Version
		if v == 0 && e.Batch != nil {
			v = next - 1
			for _, t := range e.Batch.Turns {
				v = min(v, byID[t.ID])
			}
		}
		versions[i], next = v, v
	}
	return versions
}

// unnamed are the memories that an entry of this version touched besides those
// that it is about.
func (w *traces) unnamed(e *entry) []string {
	named := map[string]bool{}
	for _, c := range e.Changes {
		i := c.After.image()
		named[idOf(i)] = true
		if i.Turn != nil {
			named[i.Turn.ID] = true
		}
	}
	if e.Batch != nil {
		for _, t := range e.Batch.Turns {
			named[t.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(w.touched[e.Version]), func(id string) bool { return named[id] })
}

// Package erase erases whole users, closes them and reopens them.
package erase

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// Eraser erases and closes whole users.
type Eraser struct {
	*core.Core
	Traces *traces.Keeper
	Share  *share.Sharer
}

// Erased reports the erasure of an owner.
type Erased struct {
	Owner    memory.Owner
	ClosedAt time.Time
	Runs     []string       // ids of runs that removed text, in order; empty if there was no text
	Count    map[string]int // number of removed memories by kind: "fact", "turn", …, "trace"
	Links    int            // number of copies of the owner's facts at other owners
	Traces   int            // number of other users' traces with facts from a pool or the global owner
	Audit    int            // number of audit entries from which the owner's name was removed

	Since, Until time.Time // period in which text was stored; zero Since: no text was stored
}

// extendPeriod extends the period to a time at which the owner's text was stored.
func (e *Erased) extendPeriod(at time.Time) {
	if !at.IsZero() && (e.Since.IsZero() || at.Before(e.Since)) {
		e.Since = at
	}
}

const (
	// maxErasedIDs bounds the erasures of a transaction, since SQLite scans its file after each erasure.
	eraseAtOnce = 5000

	// maxRounds bounds the searches for remaining text, which work that ran when the owner was closed
	// may still write.
	eraseRounds = 3
)

// ResumeDelays are the delays of the jobs that search for remaining text, after a crash or late writes of
// another server.
var EraseAgain = []time.Duration{time.Minute, 15 * time.Minute}

// EraseOwner permanently removes all text of an owner and other owners' copies of the owner's facts. It
// closes the owner: running chats and jobs write nothing more, and later chats have no memory, until
// [Eraser.OpenOwner]. Ids, times and model usage remain. It can be repeated after a failure, and a job also
// continues it.
func (e *Eraser) EraseOwner(ctx context.Context, owner memory.Owner, author memory.Author) (Erased, error) {
	ctx = memory.ForWrite(ctx)
	if !owner.Valid() {
		return Erased{}, memory.Errorf(memory.Invalid, "%q is not a valid owner", owner)
	}
	at, err := e.closeOwner(ctx, owner, author)
	if err != nil {
		return Erased{}, fmt.Errorf("close %s: %w", owner.Called(), err)
	}
	out := Erased{Owner: owner, ClosedAt: at, Count: map[string]int{}, Until: at}
	for range eraseRounds {
		removed, err := e.empty(ctx, owner, author, &out)
		if err != nil {
			return out, err
		}
		if !removed {
			break
		}
		out.Until = e.Time()
	}
	out.Audit, err = e.hideName(ctx, owner)
	return out, err
}

// hideName replaces a user's name in the audit log by a hash. The salt is not stored, so that nobody can
// test names against the hash.
func (e *Eraser) hideName(ctx context.Context, owner memory.Owner) (int, error) {
	if owner.Kind() != memory.UserKind {
		return 0, nil
	}
	sum := sha256.Sum256([]byte(rand.Text() + owner.Name()))
	n, err := e.Store.RenameNoted(ctx, owner.Namespace(), owner.Name(), "erased:"+hex.EncodeToString(sum[:6]))
	if err != nil {
		return n, fmt.Errorf("remove the name from the audit log: %w", err)
	}
	return n, nil
}

// EraseExisting calls [Eraser.EraseOwner], but returns [memory.NotFound] if nothing was ever stored for the
// owner.
func (e *Eraser) EraseExisting(ctx context.Context, owner memory.Owner, author memory.Author) (Erased, error) {
	found, err := e.wasThere(memory.ForWrite(ctx), owner)
	if err != nil {
		return Erased{}, fmt.Errorf("find %s: %w", owner.Called(), err)
	}
	if !found {
		return Erased{}, memory.Errorf(memory.NotFound, "there is no %s: nothing was ever stored under that name, and nothing was done", owner.Called())
	}
	return e.EraseOwner(ctx, owner, author)
}

// existed reports whether memory or a trace was ever stored for an owner.
func (e *Eraser) wasThere(ctx context.Context, owner memory.Owner) (bool, error) {
	if !owner.Valid() {
		return true, nil // EraseOwner reports the invalid owner
	}
	versions, err := e.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil || versions[0] > 0 {
		return err == nil, err
	}
	traces, err := e.Traces.Traces(ctx, owner, memory.TraceQuery{Limit: 1})
	return len(traces) > 0, err
}

// OpenOwner reopens an erased owner. Its memory has only the facts that were shared while it was closed.
func (e *Eraser) OpenOwner(ctx context.Context, owner memory.Owner, author memory.Author) error {
	ctx = memory.ForWrite(ctx)
	if _, err := e.DropProfileIn(ctx, owner, memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: author}, core.ClosedKey); err != nil {
		if errors.Is(err, memory.NotFound) {
			return memory.Errorf(memory.Conflict, "%s is not closed", owner.Called())
		}
		return err
	}
	err := e.Pause(ctx, owner, core.PauseNone, "", author)
	e.Blocks.Forget(core.BlocksFor(owner))
	e.Blocks.Passed.Forget(owner)
	e.Blocks.Ready.Forget("")
	e.Closed.Set(owner, false, e.Time())
	return errors.Join(err, e.Share.QueueMissedShares(ctx, owner))
}

// closeOwner marks an owner as closed, and pauses chats on servers that have not read the mark yet. It
// queues the jobs that search for remaining text. The store then refuses other writes.
func (e *Eraser) closeOwner(ctx context.Context, owner memory.Owner, author memory.Author) (time.Time, error) {
	now := e.Time()
	run := memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: author}
	was, err := e.ReadEntry(ctx, owner, core.ClosedKey)
	if err == nil {
		at, parseErr := time.Parse(time.RFC3339Nano, was.Value)
		if parseErr != nil {
			at = was.UpdatedAt
		}
		run.Jobs = eraseJobs(owner, run.ID, was.Value, now)
		_, err = e.Store.Apply(ctx, owner, run) // only queues the jobs
		e.Closed.Set(owner, true, e.Time())
		return at, err
	}
	if !errors.Is(err, memory.NotFound) {
		return time.Time{}, err
	}
	e.Closed.Set(owner, false, now) // in case another server reopened the owner
	if err := e.Pause(ctx, owner, core.PauseMemory, "", author); err != nil {
		return time.Time{}, err
	}
	e.Closed.Set(owner, true, now) // stops running work before the mark is written
	mark := memory.ProfileEntry{Owner: owner, Key: core.ClosedKey, Value: now.Format(time.RFC3339Nano), Status: memory.Active, UpdatedAt: now}
	run.Jobs = eraseJobs(owner, run.ID, mark.Value, now)
	_, err = core.ApplyAgain(ctx, e.Core, owner, run, memory.Change{Action: memory.ActionAdd, After: memory.Image{Profile: &mark}, Reason: "erased", Author: author})
	return now, err
}

// eraseJobs returns the jobs that search for remaining text. mark identifies the erasure.
func eraseJobs(owner memory.Owner, run, mark string, now time.Time) []memory.Job {
	var out []memory.Job
	for _, after := range EraseAgain {
		out = append(out, memory.Job{ID: fmt.Sprintf("erase-%s-%s", run, after), Owner: owner, Kind: memory.JobErase, Turns: []string{mark}, RunAt: now.Add(after)})
	}
	return out
}

// eraseTexts removes an owner's memory, and reports whether there was text. It adds to report.
func (e *Eraser) empty(ctx context.Context, owner memory.Owner, author memory.Author, out *Erased) (bool, error) {
	if err := e.leaveSenders(ctx, owner); err != nil {
		return false, fmt.Errorf("end sharing with the erased owner: %w", err)
	}
	left, shares, err := e.textsOf(ctx, owner, out)
	if err != nil {
		return false, fmt.Errorf("find the text to erase: %w", err)
	}
	var many []string
	for _, g := range shares { // first, since erased facts name no receivers
		if traces.SeenByMany(g.to) {
			many = append(many, g.fact)
		}
		for _, to := range g.to {
			had, err := e.Share.EraseLink(ctx, to, owner, g.fact)
			if err != nil {
				return false, fmt.Errorf("erase the copies of %s: %w", to.Called(), err)
			}
			if had {
				out.Links++
			}
		}
	}
	shown, err := e.Traces.EraseReaders(ctx, owner, many)
	if out.Traces += shown; err != nil {
		return false, err
	}
	own, err := e.Traces.EraseTraces(ctx, owner) // no run covers an owner with only traces
	if own > 0 {
		out.Count["trace"] += own
	}
	if err != nil {
		return false, err
	}
	removed := false
	for ids := range slices.Chunk(left, eraseAtOnce) {
		run := memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: author}
		receipt, err := e.Traces.EraseIDs(ctx, owner, run, ids)
		if err != nil {
			return false, err
		}
		if receipt.Changes == 0 {
			continue
		}
		removed = true
		out.Runs = append(out.Runs, run.ID)
		changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: run.ID})
		if err != nil {
			return false, fmt.Errorf("count the erased memories: %w", err)
		}
		for _, c := range changes {
			kind, _, _ := strings.Cut(c.After.Target(), ":")
			out.Count[kind]++
		}
	}
	shown, err = e.Traces.EraseReaders(ctx, owner, many) // traces written during the erasure
	out.Traces += shown
	return removed, err
}

// endIncomingShares makes other owners stop sharing with an owner, so that a reopened owner has no facts
// that were shared before.
func (e *Eraser) leaveSenders(ctx context.Context, owner memory.Owner) error {
	got := map[memory.Owner][]string{}
	if err := e.Everything(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindFact}, Statuses: core.EveryStatus}, func(m memory.Memory) {
		if m.Link != nil && m.Fact.Scope.Owner.Valid() {
			home := m.Fact.Scope.Owner
			got[home] = append(got[home], m.ID())
		}
	}); err != nil {
		return err
	}
	for _, home := range slices.Sorted(maps.Keys(got)) {
		for facts := range slices.Chunk(got[home], core.UpkeepAtOnce) {
			err := core.Replan(ctx, func() error { return e.Share.UnshareAll(ctx, home, facts, owner, share.BySharing) })
			if err != nil && !errors.Is(err, memory.Gone) { // a closed owner shares nothing
				return err
			}
		}
	}
	return nil
}

// factReceivers are the current and past receivers of a fact.
type recipients struct {
	fact string
	to   []memory.Owner
}

// erasableIDs returns the ids of all memories of an owner that have text, of any status, and all receivers
// of the owner's facts. It adds the times of the memories to report. Of Loci's own settings only the
// user's name is included.
func (e *Eraser) textsOf(ctx context.Context, owner memory.Owner, out *Erased) (ids []string, shared []recipients, err error) {
	have := map[string]bool{}
	add := func(id string) {
		if !have[id] {
			have[id] = true
			ids = append(ids, id)
		}
	}
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, Statuses: core.EveryStatus}
	if err := e.Everything(ctx, owner, q, func(m memory.Memory) {
		if m.Turn != nil { // turns are not in the journal
			out.extendPeriod(m.Turn.RecordedAt)
		}
		if m.Content() != "" || m.Status() != memory.Retired {
			add(m.ID())
		}
	}); err != nil {
		return nil, nil, err
	}
	chats := memory.ConversationQuery{Statuses: []memory.Status{memory.Active, memory.Retired}}
	for c, err := range memory.AllConversations(ctx, e.Store.Conversations, owner, chats) {
		if err != nil {
			return nil, nil, err
		}
		add(c.ID)
	}
	// Other removed memories are only in the journal.
	past, err := e.AllChanges(ctx, owner, memory.ChangeQuery{})
	if err != nil {
		return nil, nil, err
	}
	shares := map[string]bool{}
	for _, c := range past {
		out.extendPeriod(c.At)
		if c.Action == memory.ActionErase && c.At.After(out.Until) {
			out.Until = c.At
		}
		switch i := c.After; {
		case i.Context != nil:
			add(i.Context.ID)
		case i.Conversation != nil:
			add(i.Conversation.ID)
		case i.Profile == nil:
		case strings.HasPrefix(i.Profile.Key, share.SharedKeys):
			shares[strings.TrimPrefix(i.Profile.Key, share.SharedKeys)] = true
		case i.Profile.Key == core.NameKey, !strings.HasPrefix(i.Profile.Key, core.OwnKeys):
			add(i.Profile.Key)
		}
	}
	for fact := range shares {
		_, ever, err := e.Share.EverShared(ctx, owner, fact)
		if err != nil {
			return nil, nil, err
		}
		shared = append(shared, recipients{fact, ever})
	}
	return ids, shared, nil
}

// ResumeErasure handles erase jobs. It removes remaining text of an owner that is still closed by the
// job's erasure.
func (e *Eraser) ResumeErasure(ctx context.Context, job memory.Job) (jobs.End, error) {
	ctx = memory.ForWrite(ctx)
	mark, err := e.ReadEntry(ctx, job.Owner, core.ClosedKey)
	switch {
	case errors.Is(err, memory.NotFound): // the owner was reopened
		return jobs.Nothing, nil
	case err != nil:
		return "", err
	}
	e.Closed.Learn(job.Owner, true, e.Time())
	if len(job.Turns) > 0 && job.Turns[0] != mark.Value { // the owner was erased again
		return jobs.Nothing, nil
	}
	out := Erased{Owner: job.Owner, Count: map[string]int{}}
	if _, err := e.empty(ctx, job.Owner, memory.Author{Kind: memory.ByRule, Name: "erase"}, &out); err != nil {
		return "", err
	}
	if _, err := e.hideName(ctx, job.Owner); err != nil {
		return "", err
	}
	return jobs.Nothing, nil
}

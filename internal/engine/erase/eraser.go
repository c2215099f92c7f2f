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

// ErasureReport is the result of erasing an owner.
type ErasureReport struct {
	Owner        memory.Owner
	ClosedAt     time.Time      // when the owner was closed
	Runs         []string       // ids of runs that removed text, in order; empty if there was no text
	CountByKind  map[string]int // number of removed memories by kind: "fact", "turn", …, "trace"
	ErasedLinks  int            // number of other owners' links to the owner's facts whose text was removed
	ErasedTraces int            // number of other users' traces with facts from a pool or the global owner
	AuditEntries int            // number of audit entries from which the owner's name was removed

	Since, Until time.Time // period in which text was stored; zero Since: no text was stored
}

// extendPeriod extends the period to a time at which the owner's text was stored.
func (e *ErasureReport) extendPeriod(at time.Time) {
	if !at.IsZero() && (e.Since.IsZero() || at.Before(e.Since)) {
		e.Since = at
	}
}

const (
	// maxErasedIDs bounds the erasures of a transaction, since SQLite scans its file after each erasure.
	maxErasedIDs = 5000

	// maxRounds bounds the searches for remaining text. Chats and jobs that ran while the owner was being
	// closed may still write text.
	maxRounds = 3
)

// ResumeDelays are the delays of the jobs that search for remaining text, after a crash or late writes of
// another server.
var ResumeDelays = []time.Duration{time.Minute, 15 * time.Minute}

// EraseOwner permanently removes all text of an owner and other owners' copies of the owner's facts. It
// closes the owner: running chats and jobs write nothing more, and later chats have no memory, until
// [Eraser.OpenOwner]. Ids, times and model usage remain. It can be repeated after a failure, and a job also
// continues it.
func (e *Eraser) EraseOwner(ctx context.Context, owner memory.Owner, author memory.Author) (ErasureReport, error) {
	ctx = memory.ForWrite(ctx)
	if !owner.Valid() {
		return ErasureReport{}, memory.Errorf(memory.Invalid, "%q is not a valid owner", owner)
	}
	closedAt, err := e.closeOwner(ctx, owner, author)
	if err != nil {
		return ErasureReport{}, fmt.Errorf("close %s: %w", owner.DisplayName(), err)
	}
	report := ErasureReport{Owner: owner, ClosedAt: closedAt, CountByKind: map[string]int{}, Until: closedAt}
	for range maxRounds {
		removed, err := e.eraseTexts(ctx, owner, author, &report)
		if err != nil {
			return report, err
		}
		if !removed {
			break
		}
		report.Until = e.Time()
	}
	report.AuditEntries, err = e.hideName(ctx, owner)
	return report, err
}

// hideName replaces a user's name in the audit log by a hash. The salt is not stored, so that nobody can
// test names against the hash.
func (e *Eraser) hideName(ctx context.Context, owner memory.Owner) (int, error) {
	if owner.Kind() != memory.UserKind {
		return 0, nil
	}
	sum := sha256.Sum256([]byte(rand.Text() + owner.Name()))
	n, err := e.Store.RenameAuditUser(ctx, owner.Namespace(), owner.Name(), "erased:"+hex.EncodeToString(sum[:6]))
	if err != nil {
		return n, fmt.Errorf("remove the name from the audit log: %w", err)
	}
	return n, nil
}

// EraseExisting calls [Eraser.EraseOwner], but returns [memory.NotFound] if nothing was ever stored for the
// owner.
func (e *Eraser) EraseExisting(ctx context.Context, owner memory.Owner, author memory.Author) (ErasureReport, error) {
	wasStored, err := e.wasStored(memory.ForWrite(ctx), owner)
	if err != nil {
		return ErasureReport{}, fmt.Errorf("find %s: %w", owner.DisplayName(), err)
	}
	if !wasStored {
		return ErasureReport{}, memory.Errorf(memory.NotFound, "there is no %s: nothing was ever stored under that name, and nothing was done", owner.DisplayName())
	}
	return e.EraseOwner(ctx, owner, author)
}

// wasStored reports whether memory or a trace was ever stored for an owner.
func (e *Eraser) wasStored(ctx context.Context, owner memory.Owner) (bool, error) {
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
	if _, err := e.RetireProfileEntryInRun(ctx, owner, memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: author}, core.ClosedKey); err != nil {
		if errors.Is(err, memory.NotFound) {
			return memory.Errorf(memory.Conflict, "%s is not closed", owner.DisplayName())
		}
		return err
	}
	err := e.SetPause(ctx, owner, core.PauseNone, "", author)
	e.Blocks.Forget(core.BlockOwnedBy(owner))
	e.Blocks.Relayed.Forget(owner)
	e.Blocks.TopFacts.Forget("")
	e.ClosedOwners.Set(owner, false, e.Time())
	return errors.Join(err, e.Share.QueueMissedShares(ctx, owner))
}

// closeOwner closes an owner by the profile entry [core.ClosedKey], and pauses chats on servers that have not
// read the entry yet. It queues the jobs that search for remaining text. The store then refuses other writes.
func (e *Eraser) closeOwner(ctx context.Context, owner memory.Owner, author memory.Author) (time.Time, error) {
	now := e.Time()
	run := memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: author}
	previous, err := e.ReadProfileEntry(ctx, owner, core.ClosedKey)
	if err == nil {
		closedAt, parseErr := time.Parse(time.RFC3339Nano, previous.Value)
		if parseErr != nil {
			closedAt = previous.UpdatedAt
		}
		run.Jobs = newEraseJobs(owner, run.ID, previous.Value, now)
		_, err = e.Store.Apply(ctx, owner, run) // only queues the jobs
		e.ClosedOwners.Set(owner, true, e.Time())
		return closedAt, err
	}
	if !errors.Is(err, memory.NotFound) {
		return time.Time{}, err
	}
	e.ClosedOwners.Set(owner, false, now) // in case another server reopened the owner
	if err := e.SetPause(ctx, owner, core.PauseMemory, "", author); err != nil {
		return time.Time{}, err
	}
	e.ClosedOwners.Set(owner, true, now) // stops running work before the entry is written
	mark := memory.ProfileEntry{Owner: owner, Key: core.ClosedKey, Value: now.Format(time.RFC3339Nano), Status: memory.Active, UpdatedAt: now}
	run.Jobs = newEraseJobs(owner, run.ID, mark.Value, now)
	_, err = core.ApplyOrRestore(ctx, e.Core, owner, run, memory.Change{Action: memory.ActionAdd, After: memory.State{Profile: &mark}, Reason: "erased", Author: author})
	return now, err
}

// newEraseJobs returns the jobs that search for remaining text. closedValue is the value of core.ClosedKey.
func newEraseJobs(owner memory.Owner, runID, closedValue string, now time.Time) []memory.Job {
	var out []memory.Job
	for _, delay := range ResumeDelays {
		out = append(out, memory.Job{ID: fmt.Sprintf("erase-%s-%s", runID, delay), Owner: owner, Kind: memory.JobErase, Turns: []string{closedValue}, RunAt: now.Add(delay)})
	}
	return out
}

// eraseTexts removes an owner's memory, adds the counts to report, and reports whether there was text.
func (e *Eraser) eraseTexts(ctx context.Context, owner memory.Owner, author memory.Author, report *ErasureReport) (bool, error) {
	if err := e.endIncomingShares(ctx, owner); err != nil {
		return false, fmt.Errorf("end sharing with the erased owner: %w", err)
	}
	allIDs, shares, err := e.erasableIDs(ctx, owner, report)
	if err != nil {
		return false, fmt.Errorf("find the text to erase: %w", err)
	}
	var widelyShared []string
	for _, g := range shares { // before the facts, since erased share entries name no receivers
		if traces.HasManyReaders(g.receivers) {
			widelyShared = append(widelyShared, g.factID)
		}
		for _, to := range g.receivers {
			hadText, err := e.Share.EraseLink(ctx, to, owner, g.factID)
			if err != nil {
				return false, fmt.Errorf("erase the copies of %s: %w", to.DisplayName(), err)
			}
			if hadText {
				report.ErasedLinks++
			}
		}
	}
	readerTraces, err := e.Traces.EraseReaderTraces(ctx, owner, widelyShared)
	if report.ErasedTraces += readerTraces; err != nil {
		return false, err
	}
	ownTraces, err := e.Traces.EraseTraces(ctx, owner) // separately, since no run erases an owner with only traces
	if ownTraces > 0 {
		report.CountByKind["trace"] += ownTraces
	}
	if err != nil {
		return false, err
	}
	removed := false
	for ids := range slices.Chunk(allIDs, maxErasedIDs) {
		run := memory.Run{ID: core.NewID(), Kind: share.EraseRun, Author: author}
		receipt, err := e.Traces.EraseIDs(ctx, owner, run, ids)
		if err != nil {
			return false, err
		}
		if receipt.Changes == 0 {
			continue
		}
		removed = true
		report.Runs = append(report.Runs, run.ID)
		changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: run.ID})
		if err != nil {
			return false, fmt.Errorf("count the erased memories: %w", err)
		}
		for _, c := range changes {
			kind, _, _ := strings.Cut(c.After.Target(), ":")
			report.CountByKind[kind]++
		}
	}
	readerTraces, err = e.Traces.EraseReaderTraces(ctx, owner, widelyShared) // traces written during the erasure
	report.ErasedTraces += readerTraces
	return removed, err
}

// endIncomingShares makes other owners stop sharing with an owner, so that a reopened owner has no facts
// that were shared before.
func (e *Eraser) endIncomingShares(ctx context.Context, owner memory.Owner) error {
	factsBySender := map[memory.Owner][]string{}
	if err := e.EachMemory(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindFact}, Statuses: core.AllStatuses}, func(m memory.Memory) {
		if m.Link != nil && m.Fact.Scope.Owner.Valid() {
			home := m.Fact.Scope.Owner
			factsBySender[home] = append(factsBySender[home], m.ID())
		}
	}); err != nil {
		return err
	}
	for _, home := range slices.Sorted(maps.Keys(factsBySender)) {
		for facts := range slices.Chunk(factsBySender[home], core.MaxUpkeepChanges) {
			err := core.RetryOnConflict(ctx, func() error { return e.Share.UnshareAll(ctx, home, facts, owner, share.BySharing) })
			if err != nil && !errors.Is(err, memory.Gone) { // a closed owner shares nothing
				return err
			}
		}
	}
	return nil
}

// factReceivers are the current and past receivers of a fact.
type factReceivers struct {
	factID    string
	receivers []memory.Owner
}

// erasableIDs returns the ids of all memories of an owner that have text, of any status, and all receivers
// of the owner's facts. It adds the times of the memories to report. Of Loci's own settings only the
// user's name is included.
func (e *Eraser) erasableIDs(ctx context.Context, owner memory.Owner, report *ErasureReport) (ids []string, sharedFacts []factReceivers, err error) {
	added := map[string]bool{}
	add := func(id string) {
		if !added[id] {
			added[id] = true
			ids = append(ids, id)
		}
	}
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, Statuses: core.AllStatuses}
	if err := e.EachMemory(ctx, owner, q, func(m memory.Memory) {
		if m.Turn != nil { // turns are not in the journal
			report.extendPeriod(m.Turn.RecordedAt)
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
	changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{})
	if err != nil {
		return nil, nil, err
	}
	sharedIDs := map[string]bool{}
	for _, c := range changes {
		report.extendPeriod(c.At)
		if c.Action == memory.ActionErase && c.At.After(report.Until) {
			report.Until = c.At
		}
		switch i := c.After; {
		case i.Context != nil:
			add(i.Context.ID)
		case i.Conversation != nil:
			add(i.Conversation.ID)
		case i.Profile == nil:
		case strings.HasPrefix(i.Profile.Key, share.ShareKeyPrefix):
			sharedIDs[strings.TrimPrefix(i.Profile.Key, share.ShareKeyPrefix)] = true
		case i.Profile.Key == core.NameKey, !strings.HasPrefix(i.Profile.Key, core.ReservedPrefix):
			add(i.Profile.Key)
		}
	}
	for fact := range sharedIDs {
		_, receivers, err := e.Share.AllReceivers(ctx, owner, fact)
		if err != nil {
			return nil, nil, err
		}
		sharedFacts = append(sharedFacts, factReceivers{fact, receivers})
	}
	return ids, sharedFacts, nil
}

// ResumeErasure handles erase jobs. It removes remaining text of an owner that is still closed by the
// job's erasure.
func (e *Eraser) ResumeErasure(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	ctx = memory.ForWrite(ctx)
	mark, err := e.ReadProfileEntry(ctx, job.Owner, core.ClosedKey)
	switch {
	case errors.Is(err, memory.NotFound): // the owner was reopened
		return jobs.Nothing, nil
	case err != nil:
		return "", err
	}
	e.ClosedOwners.RecordRead(job.Owner, true, e.Time())
	if len(job.Turns) > 0 && job.Turns[0] != mark.Value { // the owner was erased again
		return jobs.Nothing, nil
	}
	report := ErasureReport{Owner: job.Owner, CountByKind: map[string]int{}}
	if _, err := e.eraseTexts(ctx, job.Owner, memory.Author{Kind: memory.ByRule, Name: "erase"}, &report); err != nil {
		return "", err
	}
	if _, err := e.hideName(ctx, job.Owner); err != nil {
		return "", err
	}
	return jobs.Nothing, nil
}

// Package share shares facts with other users, pools and the global owner, and updates the
// receivers' links after every write of a shared fact.
package share

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Sharer shares facts with other owners and updates the copies.
type Sharer struct {
	*core.Core
	Compare *compare.Comparer
	Vectors *vectors.Filler
	Traces  *traces.Keeper
}

// A fact belongs to one owner, its home. Sharing creates a [memory.Link] with a copy at the receiver. A
// profile entry at the home, the share entry, lists the receivers. [Sharer.PropagateShares] derives the links
// from this entry and the fact, and is idempotent: a crash between the writes to the two owners' memory
// leaves a job, but no orphaned link.

// BySharing is the author of changes of links. A link that another author ended is not created again.
var BySharing = memory.Author{Kind: memory.ByRule, Name: "share"}

// ShareKeyPrefix and a fact's id form the key of a share entry. Its value is a JSON list of owners.
const ShareKeyPrefix = core.ReservedPrefix + "share."

// maxShared bounds the receivers of a fact; more users can read it from a pool.
const maxShared = 100

// Request is a request to share a fact, or to stop sharing it.
type Request struct {
	Receiver       string // "user/NAME", "pool/NAME" or "global"
	Stop           bool   // stop sharing
	ByAdmin        bool   // the caller is an admin: only admins share with pools and the global owner
	IdempotencyKey string // a repeated key changes nothing
}

// Share shares one of the owner's own facts with another owner of the namespace, or stops sharing it, and
// returns the resulting receivers. A receiving user sees the fact after accepting it (see
// [curate.Curator.Judge]), may hide it, and cannot change it. Share does not reveal whether the user
// exists. A replacement of the fact is shared with the same receivers.
//
// Errors: [memory.NotFound] for an unknown fact; [memory.Forbidden] for another owner's fact, for a pool or
// the global owner without ByAdmin, and for users with [AcceptOff]; [memory.Invalid] for an invalid receiver,
// and for text that reads like an instruction; [memory.TooLarge] if too many of the owner's facts wait for
// the receiver; [memory.Conflict] for a fact that is not active, for a receiver with another memory of the
// same id, and for a receiver who hid or rejected the fact: the receiver sees it again only after an undo. A
// closed receiver gets the fact after being reopened.
func (e *Sharer) Share(ctx context.Context, owner memory.Owner, id string, req Request, author memory.Author) ([]memory.Owner, error) {
	ctx = memory.ForWrite(ctx)
	receiver, err := requestedReceiver(owner, req)
	if err != nil {
		return nil, err
	}
	if e.Opts.Acceptance == AcceptOff && IsBetweenUsers(owner, receiver) && !req.Stop {
		return nil, memory.Errorf(memory.Forbidden, "to: sharing with users is off on this server (share.accept)")
	}
	author.Admin = author.Admin || req.ByAdmin
	f, err := e.Fact(ctx, owner, id)
	switch {
	case err != nil:
		return nil, err
	case req.Stop:
	case core.WasErased(f):
		return nil, core.ErrErased("fact:" + id)
	case !f.Visible(e.Time()):
		return nil, memory.Errorf(memory.Conflict, "%s is %s; only active facts can be shared", id, f.Status)
	case learn.SteersModel(f.Content):
		return nil, memory.Errorf(memory.Invalid, "%s reads like an instruction to a model and cannot be shared", id)
	default:
		if err := e.checkUnusedID(ctx, receiver, f); err != nil {
			return nil, err
		}
	}
	receivers, err := e.updateReceivers(ctx, owner, id, []memory.Owner{receiver}, req, author)
	if err != nil {
		return nil, err
	}
	if isHidden, err := e.isHidden(ctx, receiver, f); err != nil || req.Stop || !isHidden {
		return receivers, err
	}
	return receivers, memory.Errorf(memory.Conflict, "%s hid or rejected the fact; it is shared, but visible to them only after they undo that", receiver.DisplayName())
}

// Unshare stops sharing one of the owner's own facts with these receivers, in one run, and returns the
// remaining receivers. It ignores owners that are not receivers. For its errors see [Sharer.Share].
func (e *Sharer) Unshare(ctx context.Context, owner memory.Owner, id string, receivers []memory.Owner, author memory.Author) ([]memory.Owner, error) {
	ctx = memory.ForWrite(ctx)
	if _, err := e.Fact(ctx, owner, id); err != nil {
		return nil, err
	}
	return e.updateReceivers(ctx, owner, id, receivers, Request{Stop: true}, author)
}

// updateReceivers changes a fact's receivers and updates the links to the fact.
func (e *Sharer) updateReceivers(ctx context.Context, owner memory.Owner, id string, changedReceivers []memory.Owner, req Request, author memory.Author) (receivers []memory.Owner, err error) {
	unlock, err := e.Compare.LockDecisions(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err = core.RetryOnConflict(ctx, func() error {
		receivers, err = e.tryUpdateReceivers(ctx, owner, id, changedReceivers, req, author)
		return err
	}); err != nil {
		return nil, err
	}
	// A job also updates the links, but callers expect the result at once.
	if err := e.updateLinks(ctx, owner, id); err != nil {
		e.Log.Warn("the links of a shared fact were not updated; a job does that later", "fact", id, "err", err)
	}
	return receivers, nil
}

// checkUnusedID returns [memory.Conflict] if a receiver has another memory with a fact's id: a memory of
// its own, or a link to another owner's fact. Imports and files may contain any id.
func (e *Sharer) checkUnusedID(ctx context.Context, receiver memory.Owner, f memory.Fact) error {
	memories, err := e.Store.Get(ctx, receiver, f.ID)
	if err != nil || len(memories) == 0 || !isIDTaken(memories[0], f) {
		return err
	}
	return memory.Errorf(memory.Conflict, "%s already has another memory with the id %s; add this fact again to share it", receiver.DisplayName(), f.ID)
}

// isIDTaken reports whether m is the receiver's own memory or an unended link to another owner's fact.
func isIDTaken(m memory.Memory, f memory.Fact) bool {
	return m.Link == nil || m.Link.Status.Live() && m.Link.Fact.Scope.Owner != f.Scope.Owner
}

// tryUpdateReceivers changes the receivers of a fact, or returns a Conflict after a concurrent change.
func (e *Sharer) tryUpdateReceivers(ctx context.Context, owner memory.Owner, id string, changedReceivers []memory.Owner, req Request, author memory.Author) ([]memory.Owner, error) {
	entry, err := e.ReadProfileEntry(ctx, owner, ShareKeyPrefix+id)
	isNew := errors.Is(err, memory.NotFound)
	if err != nil && !isNew {
		return nil, err
	}
	entry.Owner, entry.Key = owner, ShareKeyPrefix+id
	receivers, change, err := e.updatedReceivers(entry, changedReceivers, req.Stop, author)
	if err != nil || change.After.IsZero() {
		return receivers, err
	}
	run := e.newShareRun(owner, core.IDForKey(owner, req.IdempotencyKey), author, id)
	for _, o := range changedReceivers {
		if req.Stop || slices.Contains(parseReceivers(entry.Value), o) || !IsBetweenUsers(owner, o) || e.Opts.Acceptance == AcceptAdmins && req.ByAdmin {
			continue
		}
		if run.Base, err = e.checkPendingLimit(ctx, owner, o); err != nil {
			return nil, err
		}
	}
	if isNew {
		change.Action = memory.ActionAdd
	}
	_, err = core.ApplyOrRestore(ctx, e.Core, owner, run, change)
	return receivers, err
}

// updatedReceivers returns a fact's receivers after adding or removing changedReceivers, and the change of
// the share entry, or the zero Change if nothing changes.
func (e *Sharer) updatedReceivers(entry memory.ProfileEntry, changedReceivers []memory.Owner, remove bool, author memory.Author) ([]memory.Owner, memory.Change, error) {
	receivers := parseReceivers(entry.Value)
	changedReceivers = slices.DeleteFunc(slices.Clone(changedReceivers), func(o memory.Owner) bool { return slices.Contains(receivers, o) != remove })
	if len(changedReceivers) == 0 {
		return receivers, memory.Change{}, nil
	}
	names := make([]string, len(changedReceivers))
	for i, o := range changedReceivers {
		names[i] = o.DisplayName()
	}
	reason := "shared with " + strings.Join(names, ", ")
	if remove {
		receivers, reason = slices.DeleteFunc(receivers, func(o memory.Owner) bool { return slices.Contains(changedReceivers, o) }), "no longer "+reason
	} else if receivers = append(receivers, changedReceivers...); len(receivers) > maxShared {
		return nil, memory.Change{}, memory.Errorf(memory.Invalid, "a fact can be shared with at most %d users; share it with a pool instead", maxShared)
	}
	slices.Sort(receivers)
	value, err := json.Marshal(receivers)
	if err != nil {
		return nil, memory.Change{}, err
	}
	next := memory.ProfileEntry{Owner: entry.Owner, Key: entry.Key, Value: string(value), Status: memory.Active, UpdatedAt: e.Time()}
	return receivers, memory.Change{
		Action: memory.ActionUpdate, After: memory.State{Profile: &next}, Base: entry.Version,
		NewID: strings.TrimPrefix(entry.Key, ShareKeyPrefix), Reason: reason, Author: author,
	}, nil
}

// newShareRun returns a run that changes sharing. Its job checks the facts later, because a concurrent change
// of a fact may queue no job.
func (e *Sharer) newShareRun(owner memory.Owner, id string, author memory.Author, factIDs ...string) memory.Run {
	laterJob := NewJob(owner, id+"-again", factIDs...)
	laterJob.RunAt = e.Time().Add(RecheckDelay)
	return memory.Run{ID: id, Kind: "share", Author: author, Jobs: []memory.Job{laterJob}}
}

// UnshareAll stops sharing facts of an owner with one receiver, in one run, or returns a Conflict after a
// concurrent change.
func (e *Sharer) UnshareAll(ctx context.Context, owner memory.Owner, factIDs []string, receiver memory.Owner, author memory.Author) error {
	entries, err := e.shareEntries(ctx, owner)
	if err != nil {
		return err
	}
	var endedIDs []string
	var changes []memory.Change
	for _, id := range factIDs {
		entry, ok := entries[id]
		if !ok {
			continue
		}
		_, change, err := e.updatedReceivers(entry, []memory.Owner{receiver}, true, author)
		if err != nil {
			return err
		}
		if !change.After.IsZero() {
			endedIDs, changes = append(endedIDs, id), append(changes, change)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = e.Store.Apply(ctx, owner, e.newShareRun(owner, core.NewID(), author, endedIDs...), changes...)
	return err
}

// Receivers returns the receivers of one of the owner's own facts.
func (e *Sharer) Receivers(ctx context.Context, owner memory.Owner, id string) ([]memory.Owner, error) {
	if _, err := e.Fact(ctx, owner, id); err != nil {
		return nil, err
	}
	shared, err := e.shareEntries(ctx, owner)
	return parseReceivers(shared[id].Value), err
}

// requestedReceiver returns the receiver of a request, if the owner may share with it.
func requestedReceiver(owner memory.Owner, req Request) (memory.Owner, error) {
	kind, name, _ := strings.Cut(req.Receiver, "/")
	if len(name) > 256 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", memory.Errorf(memory.Invalid, "to: a name is at most 256 bytes of UTF-8 without control characters")
	}
	var receiver memory.Owner
	switch {
	case req.Receiver == string(memory.GlobalKind):
		receiver = memory.Global(owner.Namespace())
	case kind == string(memory.UserKind):
		receiver = memory.User(owner.Namespace(), name)
	case kind == string(memory.PoolKind):
		receiver = memory.Pool(owner.Namespace(), name)
	}
	switch {
	case !receiver.Valid():
		return "", memory.Errorf(memory.Invalid, "to: invalid receiver %q (valid: user/NAME, pool/NAME, global)", core.Clip(req.Receiver, 60))
	case receiver == owner:
		return "", memory.Errorf(memory.Invalid, "to: the fact already belongs to this owner")
	case receiver.Kind() != memory.UserKind && !req.ByAdmin && !req.Stop: // readers of pools need not accept facts
		return "", memory.Errorf(memory.Forbidden, "to: only an administrator of the server can share with a pool or with everybody")
	}
	return receiver, nil
}

// parseReceivers parses a share entry and drops invalid owners, since people can edit entries in a vault.
func parseReceivers(value string) []memory.Owner {
	var receivers []memory.Owner
	if json.Unmarshal([]byte(value), &receivers) != nil {
		return nil
	}
	return slices.DeleteFunc(receivers, func(o memory.Owner) bool { return !o.Valid() })
}

// IsShareKey reports whether a profile key is the key of a share entry.
func IsShareKey(key string) bool { return strings.HasPrefix(key, ShareKeyPrefix) }

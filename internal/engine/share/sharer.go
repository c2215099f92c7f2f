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
// profile entry at the home, the share entry, lists the receivers. [Sharer.PropagateShares] derives the
// links from this entry and the fact, and is idempotent: a crash between the writes of the two owners
// leaves a job, but no orphaned link.

// BySharing is the author of changes of links. A link that another author ended is not created again.
var BySharing = memory.Author{Kind: memory.ByRule, Name: "share"}

// SharedKeys and a fact's id form the key of a share entry. Its value is a JSON list of owners.
const SharedKeys = core.OwnKeys + "share."

// maxShared bounds the receivers of a fact; more users can read it from a pool.
const maxShared = 100

// ShareRequest is a request to share a fact, or to stop sharing it.
type Sharing struct {
	To          string // "user/NAME", "pool/NAME" or "global"
	End         bool   // stop sharing
	Admin       bool   // the caller is an admin: only admins share with pools and the global owner
	Idempotency string // a repeated key changes nothing
}

// Share shares one of the owner's own facts with another owner of the namespace, or stops sharing it, and
// returns the resulting receivers. A receiving user sees the fact after accepting it (see
// [curate.Curator.Judge]), may hide it, and cannot change it. Share does not reveal whether the user
// exists. A replacement of the fact is shared with the same receivers.
//
// Errors: [memory.NotFound] for an unknown fact; [memory.Forbidden] for another owner's fact, for a pool or
// the global owner without Admin, and for users with [AcceptOff]; [memory.Invalid] for an invalid
// receiver, and for text that reads like an instruction; [memory.TooLarge] if too many of the owner's
// facts wait for the receiver; [memory.Conflict] for a fact that is not active, for a receiver with
// another memory of the same id, and for a receiver who hid or rejected the fact: the receiver sees it
// again only after an undo. A closed receiver gets the fact after being reopened.
func (e *Sharer) Share(ctx context.Context, owner memory.Owner, id string, s Sharing, author memory.Author) ([]memory.Owner, error) {
	ctx = memory.ForWrite(ctx)
	to, err := sharesWith(owner, s)
	if err != nil {
		return nil, err
	}
	if e.Opts.Accept == AcceptOff && BetweenUsers(owner, to) && !s.End {
		return nil, memory.Errorf(memory.Forbidden, "to: sharing with users is off on this server (share.accept)")
	}
	author.Admin = author.Admin || s.Admin
	f, err := e.Fact(ctx, owner, id)
	switch {
	case err != nil:
		return nil, err
	case s.End:
	case core.WasErased(f):
		return nil, core.ErrErased("fact:" + id)
	case !f.Visible(e.Time()):
		return nil, memory.Errorf(memory.Conflict, "%s is %s; only active facts can be shared", id, f.Status)
	case learn.Instructs(f.Content):
		return nil, memory.Errorf(memory.Invalid, "%s reads like an instruction to a model and cannot be shared", id)
	default:
		if err := e.checkIDFree(ctx, to, f); err != nil {
			return nil, err
		}
	}
	with, err := e.reshare(ctx, owner, id, []memory.Owner{to}, s, author)
	if err != nil {
		return nil, err
	}
	if hidden, err := e.hidden(ctx, to, f); err != nil || s.End || !hidden {
		return with, err
	}
	return with, memory.Errorf(memory.Conflict, "%s hid or rejected the fact; it is shared, but visible to them only after they undo that", to.Called())
}

// Unshare stops sharing one of the owner's own facts with these receivers, in one run, and returns the
// remaining receivers. It ignores owners that are not receivers. For its errors see [Sharer.Share].
func (e *Sharer) Unshare(ctx context.Context, owner memory.Owner, id string, with []memory.Owner, author memory.Author) ([]memory.Owner, error) {
	ctx = memory.ForWrite(ctx)
	if _, err := e.Fact(ctx, owner, id); err != nil {
		return nil, err
	}
	return e.reshare(ctx, owner, id, with, Sharing{End: true}, author)
}

// updateReceivers changes a fact's receivers and updates the links to the fact.
func (e *Sharer) reshare(ctx context.Context, owner memory.Owner, id string, to []memory.Owner, s Sharing, author memory.Author) (with []memory.Owner, err error) {
	leave, err := e.Compare.Deciding(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err = core.Replan(ctx, func() error {
		with, err = e.shareOnce(ctx, owner, id, to, s, author)
		return err
	}); err != nil {
		return nil, err
	}
	// A job also updates the links, but callers expect the result at once.
	if err := e.spread(ctx, owner, id); err != nil {
		e.Log.Warn("the links of a shared fact were not updated; a job does that later", "fact", id, "err", err)
	}
	return with, nil
}

// checkUnusedID returns [memory.Conflict] if a receiver has another memory with a fact's id: a memory of
// its own, or a link to another owner's fact. Imports and files may contain any id.
func (e *Sharer) checkIDFree(ctx context.Context, to memory.Owner, f memory.Fact) error {
	found, err := e.Store.Get(ctx, to, f.ID)
	if err != nil || len(found) == 0 || !idTaken(found[0], f) {
		return err
	}
	return memory.Errorf(memory.Conflict, "%s already has another memory with the id %s; add this fact again to share it", to.Called(), f.ID)
}

// isIDTaken reports whether m is the receiver's own memory or a live link to another owner's fact.
func idTaken(m memory.Memory, f memory.Fact) bool {
	return m.Link == nil || m.Link.Status.Live() && m.Link.Fact.Scope.Owner != f.Scope.Owner
}

// tryUpdateReceivers changes the receivers of a fact, or returns a Conflict after a concurrent change.
func (e *Sharer) shareOnce(ctx context.Context, owner memory.Owner, id string, to []memory.Owner, s Sharing, author memory.Author) ([]memory.Owner, error) {
	entry, err := e.ReadEntry(ctx, owner, SharedKeys+id)
	fresh := errors.Is(err, memory.NotFound)
	if err != nil && !fresh {
		return nil, err
	}
	entry.Owner, entry.Key = owner, SharedKeys+id
	with, change, err := e.sharing(entry, to, s.End, author)
	if err != nil || change.After.IsZero() {
		return with, err
	}
	run := e.sharingRun(owner, core.IDFor(owner, s.Idempotency), author, id)
	for _, o := range to {
		if s.End || slices.Contains(sharedIn(entry.Value), o) || !BetweenUsers(owner, o) || e.Opts.Accept == AcceptAdmins && s.Admin {
			continue
		}
		if run.Base, err = e.roomToShare(ctx, owner, o); err != nil {
			return nil, err
		}
	}
	if fresh {
		change.Action = memory.ActionAdd
	}
	_, err = core.ApplyAgain(ctx, e.Core, owner, run, change)
	return with, err
}

// changeReceivers returns a fact's receivers after adding or removing changed, and the change of the
// share entry, or the zero Change if nothing changes.
func (e *Sharer) sharing(entry memory.ProfileEntry, to []memory.Owner, ends bool, author memory.Author) ([]memory.Owner, memory.Change, error) {
	with := sharedIn(entry.Value)
	to = slices.DeleteFunc(slices.Clone(to), func(o memory.Owner) bool { return slices.Contains(with, o) != ends })
	if len(to) == 0 {
		return with, memory.Change{}, nil
	}
	called := make([]string, len(to))
	for i, o := range to {
		called[i] = o.Called()
	}
	reason := "shared with " + strings.Join(called, ", ")
	if ends {
		with, reason = slices.DeleteFunc(with, func(o memory.Owner) bool { return slices.Contains(to, o) }), "no longer "+reason
	} else if with = append(with, to...); len(with) > maxShared {
		return nil, memory.Change{}, memory.Errorf(memory.Invalid, "a fact can be shared with at most %d users; share it with a pool instead", maxShared)
	}
	slices.Sort(with)
	value, err := json.Marshal(with)
	if err != nil {
		return nil, memory.Change{}, err
	}
	next := memory.ProfileEntry{Owner: entry.Owner, Key: entry.Key, Value: string(value), Status: memory.Active, UpdatedAt: e.Time()}
	return with, memory.Change{
		Action: memory.ActionUpdate, After: memory.Image{Profile: &next}, Base: entry.Version,
		NewID: strings.TrimPrefix(entry.Key, SharedKeys), Reason: reason, Author: author,
	}, nil
}

// shareRun returns a run that changes sharing. Its job checks the facts later, because a concurrent change
// of a fact may queue no job.
func (e *Sharer) sharingRun(owner memory.Owner, id string, author memory.Author, facts ...string) memory.Run {
	again := SpreadJob(owner, id+"-again", facts...)
	again.RunAt = e.Time().Add(SpreadAgain)
	return memory.Run{ID: id, Kind: "share", Author: author, Jobs: []memory.Job{again}}
}

// UnshareAll stops sharing facts of an owner with one receiver, in one run, or returns a Conflict after a
// concurrent change.
func (e *Sharer) UnshareAll(ctx context.Context, owner memory.Owner, facts []string, with memory.Owner, author memory.Author) error {
	shared, err := e.sharedBy(ctx, owner)
	if err != nil {
		return err
	}
	var ended []string
	var changes []memory.Change
	for _, id := range facts {
		entry, ok := shared[id]
		if !ok {
			continue
		}
		_, change, err := e.sharing(entry, []memory.Owner{with}, true, author)
		if err != nil {
			return err
		}
		if !change.After.IsZero() {
			ended, changes = append(ended, id), append(changes, change)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = e.Store.Apply(ctx, owner, e.sharingRun(owner, core.NewID(), author, ended...), changes...)
	return err
}

// Receivers returns the receivers of one of the owner's own facts.
func (e *Sharer) SharedWith(ctx context.Context, owner memory.Owner, id string) ([]memory.Owner, error) {
	if _, err := e.Fact(ctx, owner, id); err != nil {
		return nil, err
	}
	shared, err := e.sharedBy(ctx, owner)
	return sharedIn(shared[id].Value), err
}

// requestedReceiver returns the receiver of a request, if the owner may share with it.
func sharesWith(owner memory.Owner, s Sharing) (memory.Owner, error) {
	kind, name, _ := strings.Cut(s.To, "/")
	if len(name) > 256 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", memory.Errorf(memory.Invalid, "to: a name is at most 256 bytes of UTF-8 without control characters")
	}
	var to memory.Owner
	switch {
	case s.To == string(memory.GlobalKind):
		to = memory.Global(owner.Namespace())
	case kind == string(memory.UserKind):
		to = memory.User(owner.Namespace(), name)
	case kind == string(memory.PoolKind):
		to = memory.Pool(owner.Namespace(), name)
	}
	switch {
	case !to.Valid():
		return "", memory.Errorf(memory.Invalid, "to: invalid receiver %q (valid: user/NAME, pool/NAME, global)", core.Clip(s.To, 60))
	case to == owner:
		return "", memory.Errorf(memory.Invalid, "to: the fact already belongs to this owner")
	case to.Kind() != memory.UserKind && !s.Admin && !s.End: // readers of pools need not accept facts
		return "", memory.Errorf(memory.Forbidden, "to: only an administrator of the server can share with a pool or with everybody")
	}
	return to, nil
}

// receiversIn parses a share entry and drops invalid owners, since a vault's entry can be edited.
func sharedIn(value string) []memory.Owner {
	var with []memory.Owner
	if json.Unmarshal([]byte(value), &with) != nil {
		return nil
	}
	return slices.DeleteFunc(with, func(o memory.Owner) bool { return !o.Valid() })
}

// IsShareKey reports whether a profile key is the key of a share entry.
func IsShareKey(key string) bool { return strings.HasPrefix(key, SharedKeys) }

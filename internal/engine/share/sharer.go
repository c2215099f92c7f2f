// Package share gives facts to other users, teams and everybody, and keeps these links up to
// date with every write of a shared fact.
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

// Sharer shares facts with other owners and keeps the copies up to date.
type Sharer struct {
	*core.Core
	Compare *compare.Comparer
	Vectors *vectors.Filler
	Traces  *traces.Keeper
}

// A fact lives in one home. To be shared with another owner is to have a [memory.Link]
// there, with a copy of it. Whom a fact is shared with stands at home, in a profile
// entry of Loci's own; what stands elsewhere follows from that and from the fact, by
// [Sharer.PropagateShares], however often it runs. So a crash between the two owners' writes
// leaves a job, and no link that nothing looks after.

// BySharing is who makes, renews and ends links. What somebody else ended stays ended.
var BySharing = memory.Author{Kind: memory.ByRule, Name: "share"}

// SharedKeys begin the keys of the profile entries that say whom a fact is shared
// with; its id follows. The value is a JSON list of owners.
const SharedKeys = core.OwnKeys + "share."

// maxShared bounds whom a fact is shared with one by one: more are a pool.
const maxShared = 100

// Sharing is whom a fact is shared with, or no more.
type Sharing struct {
	To          string // "user/NAME", "pool/NAME" or "global"
	End         bool   // no more
	Admin       bool   // the caller is an admin: only admins share with pools and everybody
	Idempotency string // the same key again changes nothing
}

// Share shares one of the owner's own facts with another owner of the namespace, or ends
// that, and returns whom it is shared with then. Another user sees it once they accept it
// (see [curate.Curator.Judge]), may hide it and never changes it. Share does not
// say whether they exist. What replaces the fact is shared with the same owners.
//
// Errors: [memory.NotFound] without such a fact; [memory.Forbidden] for a fact of another
// owner, for a pool or everybody without Admin, and for users with [AcceptOff];
// [memory.Invalid] for an impossible target and for words that read like an instruction;
// [memory.TooLarge] if too many facts of the owner wait for the receiver; [memory.Conflict]
// for a fact that is not active, for a receiver who has another memory with its id, and for
// one who hid or rejected it: it is shared then, and they see it once they undo that.
// A closed receiver gets it once they are opened.
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
		return nil, memory.Errorf(memory.Conflict, "%s is %s; only what is active is shared", id, f.Status)
	case learn.Instructs(f.Content):
		return nil, memory.Errorf(memory.Invalid, "%s reads like an instruction to a model, which others are not given", id)
	default:
		if err := e.placeFor(ctx, to, f); err != nil {
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
	return with, memory.Errorf(memory.Conflict, "%s hid or rejected it: it is shared with them, and they see it once they undo that", to.Called())
}

// Unshare ends that one of the owner's own facts is shared with these, all in one run, and
// returns whom it is shared with then. Whom it is not shared with is left out. Errors are as
// of [Sharer.Share].
func (e *Sharer) Unshare(ctx context.Context, owner memory.Owner, id string, with []memory.Owner, author memory.Author) ([]memory.Owner, error) {
	ctx = memory.ForWrite(ctx)
	if _, err := e.Fact(ctx, owner, id); err != nil {
		return nil, err
	}
	return e.reshare(ctx, owner, id, with, Sharing{End: true}, author)
}

// reshare shares a fact with others, or ends that, and shows it to them.
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
	// The job does so too; whoever shared it wants to see it.
	if err := e.spread(ctx, owner, id); err != nil {
		e.Log.Warn("a shared fact is shown later: the job sees to it", "fact", id, "err", err)
	}
	return with, nil
}

// placeFor returns [memory.Conflict] where an owner has something else of a fact's id:
// their own, or what another home shows them. An import or a file gives a fact any id.
func (e *Sharer) placeFor(ctx context.Context, to memory.Owner, f memory.Fact) error {
	found, err := e.Store.Get(ctx, to, f.ID)
	if err != nil || len(found) == 0 || !taken(found[0], f) {
		return err
	}
	return memory.Errorf(memory.Conflict, "%s has another memory with the id %s, and keeps it; add this one anew to share it", to.Called(), f.ID)
}

// taken reports whether what an owner has of a fact's id is their own, or a live link to
// another home's fact.
func taken(m memory.Memory, f memory.Fact) bool {
	return m.Link == nil || m.Link.Status.Live() && m.Link.Fact.Scope.Owner != f.Scope.Owner
}

// shareOnce writes whom a fact is shared with: with those of to as well, or no more. It returns
// a Conflict where somebody else wrote that meanwhile.
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
	run := memory.Run{ID: core.IDFor(owner, s.Idempotency), Kind: "share", Author: author}
	// A change of the fact that was read before this run and is written after it brings no job of its own.
	later := SpreadJob(owner, run.ID+"-again", id)
	later.RunAt = e.Time().Add(SpreadAgain)
	run.Jobs = []memory.Job{later}
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

// sharing returns whom a fact is shared with once it is shared with those of to as well, or
// no more, and the change of the entry that says it; the zero Change if nothing changes.
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
		return nil, memory.Change{}, memory.Errorf(memory.Invalid, "a fact is shared with %d others at most; share it with a pool", maxShared)
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

// SharedWith returns whom one of the owner's own facts is shared with.
func (e *Sharer) SharedWith(ctx context.Context, owner memory.Owner, id string) ([]memory.Owner, error) {
	if _, err := e.Fact(ctx, owner, id); err != nil {
		return nil, err
	}
	shared, err := e.sharedBy(ctx, owner)
	return sharedIn(shared[id].Value), err
}

// sharesWith returns whom a sharing means, if the owner may.
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
		return "", memory.Errorf(memory.Invalid, "to: %q is none of user/NAME, pool/NAME and global", core.Clip(s.To, 60))
	case to == owner:
		return "", memory.Errorf(memory.Invalid, "to: it is theirs already")
	case to.Kind() != memory.UserKind && !s.Admin && !s.End: // who sees it is not asked
		return "", memory.Errorf(memory.Forbidden, "to: only whoever runs the server shares with a pool or with everybody")
	}
	return to, nil
}

// sharedIn reads the value of a share entry. What is not an owner is left out: the entry of
// a vault can be edited.
func sharedIn(value string) []memory.Owner {
	var with []memory.Owner
	if json.Unmarshal([]byte(value), &with) != nil {
		return nil
	}
	return slices.DeleteFunc(with, func(o memory.Owner) bool { return !o.Valid() })
}

// TellsSharing reports whether a profile entry says whom a fact is shared with.
func TellsSharing(key string) bool { return strings.HasPrefix(key, SharedKeys) }

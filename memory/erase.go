package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Eraser removes text for good. A store that wraps another also erases its own copies.
type Eraser interface {
	// Erase removes the words of an owner's facts, links, turns, summaries, contexts,
	// conversations (their own, not those of their turns) and profile entries (which are
	// named by their key, and get an [ErasedKey]), in one transaction: what is
	// left of each is as [Image.Erased] and [Turn.Erased] say, and retired. Ids that the
	// owner does not have, and what was erased before, are left out; an id asked twice
	// counts once. With them go
	//
	//   - their vectors;
	//   - in the journal, the words of every image of them, the reasons of all
	//     changes that are about them or name them as OldID or NewID, and every reason
	//     of the owner's that a model gave: it may quote them anywhere. Ids, times,
	//     authors and statuses stay;
	//   - titles of conversations that stand in an erased turn, in the journal too;
	//   - all traces of the owner, and what jobs of theirs say of their last failure.
	//     Traces of before are not written later either.
	//
	// Each thing is journalled as [ActionErase], in the order of the ids, which no undo
	// takes back. The version rises by one; Since from any before it is [Gone]. Without
	// a thing to erase the version stays. Of the run, the id, the kind, the author and
	// the jobs count; a run that was applied before is a no-op that returns its receipt
	// with Again set.
	//
	// When it returns without an error, run again or not, no read finds the words. Free pages
	// and the log of a file may have them until the store has written it again, which it does by
	// itself, at its next start at the latest. [Unavailable]: nothing was erased, since there is
	// no room for that, or the words may still be in files; the same call again sees to it.
	Erase(ctx context.Context, owner Owner, run Run, ids ...string) (Receipt, error)

	// EraseTraces removes all traces of an owner, and returns how many it removed, also with an
	// error: repeating it removes the rest. No version rises, and nothing is journalled. Traces
	// saved afterwards stay. Errors are those of Erase.
	EraseTraces(ctx context.Context, owner Owner) (int, error)

	// EraseTracesOf removes the traces, of every owner in a namespace, in which one of these facts
	// is a hit with its text from another owner's memory (see [Trace.ShownOf]), and returns how
	// many it removed, as EraseTraces does. Its cost depends on those traces alone. SaveTraces
	// writes no such trace once the fact, or the link to it, is erased in the memory where it was
	// found; erasing that first, and then the traces, leaves none.
	EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error)
}

// erasedKey begins the key of an erased profile entry; a hash follows.
const (
	erasedKey     = "erased-"
	erasedKeyHash = 16 // bytes
)

// ErasedKey returns the key of a profile entry that a run has erased, since keys are text too. An
// erased key stays.
func ErasedKey(run, key string) string {
	if hash, ok := strings.CutPrefix(key, erasedKey); ok && len(hash) == 2*erasedKeyHash {
		return key
	}
	sum := sha256.Sum256([]byte(run + "\x00" + key))
	return erasedKey + hex.EncodeToString(sum[:erasedKeyHash])
}

// Erased returns the image without text, as a run leaves it. Ids, times, status, trust and a fact's
// turns stay, and of the scope the owner and the conversation: names of projects and agents are
// text.
func (i Image) Erased(run string) Image {
	switch {
	case i.Fact != nil:
		f := i.Fact.erased()
		return Image{Fact: &f}
	case i.Link != nil:
		l := *i.Link
		l.Fact = l.Fact.erased()
		return Image{Link: &l}
	case i.Summary != nil:
		s := *i.Summary
		s.Text, s.Scope.Project, s.Scope.Agent = "", "", ""
		return Image{Summary: &s}
	case i.Context != nil:
		c := *i.Context
		c.Title, c.Content = "", ""
		return Image{Context: &c}
	case i.Conversation != nil:
		c := *i.Conversation
		c.Title, c.Rules = "", ""
		return Image{Conversation: &c}
	case i.Profile != nil:
		p := *i.Profile
		p.Key, p.Value, p.Tokens = ErasedKey(run, p.Key), "", 0
		return Image{Profile: &p}
	}
	return i
}

func (f Fact) erased() Fact {
	f.Scope.Project, f.Scope.Agent = "", ""
	f.Content, f.Category, f.Tags, f.Subject, f.Attribute = "", "", nil, "", ""
	f.Metadata, f.Hash, f.Provenance.Quote, f.Model = nil, "", nil, "" // a rule's name reveals its subject
	return f
}

// Erased returns the turn without text. It is not learned from any more. Chain stays: it identifies
// the turn when a client sends it again, so that it is not stored again.
func (t Turn) Erased() Turn {
	t.Content, t.Project, t.Agent, t.Given, t.Foreign, t.NoLearn = "", "", "", "", "", true
	return t
}

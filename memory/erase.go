package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Eraser removes text for good. A store that wraps another also erases its own copies.
type Eraser interface {
	// Erase removes the text of an owner's facts, links, turns, summaries, contexts, profile
	// entries and conversations (not of their turns), in one transaction. [Image.Erased] and
	// [Turn.Erased] define what remains of each; its status becomes retired. A profile entry is
	// named by its key, and gets an [ErasedKey]. Unknown, repeated and erased ids are ignored.
	// Erase also removes
	//
	//   - the vectors of these memories;
	//   - in the journal, the text of all their images, the reasons of all changes that are
	//     about them or have them as OldID or NewID, and all reasons that models gave for the
	//     owner's changes, since a reason may quote them. Ids, times, authors and statuses stay;
	//   - titles of conversations that occur in an erased turn, also in the journal;
	//   - all traces of the owner, and the error texts of the owner's jobs. A trace from before
	//     the erasure is not written later either.
	//
	// Each thing gets a change [ActionErase] in the journal, in the order of the ids, which cannot
	// be undone. The version rises by one; Since from an earlier version is [Gone]. If there is
	// nothing to erase the version stays. Only the run's id, kind, author and jobs are used; a run
	// that was applied before is a no-op that returns its receipt with Again set.
	//
	// When Erase returns without an error, no read finds the text. Free pages and the log of a file
	// may contain it until the store rewrites the file, at its next start at the latest.
	// [Unavailable]: either nothing was erased, since the disk is full, or files may still contain
	// the text; repeating the call completes the erasure.
	Erase(ctx context.Context, owner Owner, run Run, ids ...string) (Receipt, error)

	// EraseTraces removes all traces of an owner, and returns how many it removed, also with an
	// error: repeating the call removes the rest. It changes no version and no journal. Traces
	// saved afterwards stay. Errors are those of Erase.
	EraseTraces(ctx context.Context, owner Owner) (int, error)

	// EraseTracesOf removes the traces of all owners in a namespace that show the text of one of
	// these facts from another owner's memory (see [Trace.ShownOf]). It returns the number like
	// EraseTraces. Its cost depends only on those traces. SaveTraces writes no such trace once the
	// fact, or the link to it, is erased in the memory where it was found. So first erase the fact,
	// then its traces.
	EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error)
}

// erasedKey is the prefix of an erased profile entry's key; a hash follows it.
const (
	erasedKey     = "erased-"
	erasedKeyHash = 16 // bytes
)

// ErasedKey returns the new key of a profile entry that a run has erased, since keys are text too.
// A key that is already erased stays.
func ErasedKey(run, key string) string {
	if hash, ok := strings.CutPrefix(key, erasedKey); ok && len(hash) == 2*erasedKeyHash {
		return key
	}
	sum := sha256.Sum256([]byte(run + "\x00" + key))
	return erasedKey + hex.EncodeToString(sum[:erasedKeyHash])
}

// Erased returns the image as an erasure by the run leaves it, without text. Ids, times, status,
// trust and a fact's turns stay. The scope keeps only owner and conversation, since names of
// projects and agents are text.
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
	f.Metadata, f.Hash, f.Provenance.Quote, f.Model = nil, "", nil, "" // a rule's name would reveal the subject
	return f
}

// Erased returns the turn without text. Loci does not learn from it any more. Chain stays, so that
// the turn is not stored again when a client resends it.
func (t Turn) Erased() Turn {
	t.Content, t.Project, t.Agent, t.Given, t.Foreign, t.NoLearn = "", "", "", "", "", true
	return t
}

package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Eraser removes text permanently. A store that wraps another store also erases its own copies.
type Eraser interface {
	// Erase removes the text of an owner's facts, links, turns, summaries, contexts, profile entries and
	// conversations (without their turns), in one transaction. [State.Erased] and [Turn.Erased] define the
	// data that remains; the status becomes retired. A profile entry is identified by its key, and its key
	// becomes an [ErasedKey]. Ids that are unknown, repeated or already erased are ignored. Erase also
	// removes
	//
	//   - the vectors of these memories;
	//   - in the journal: the text of all states of these memories, the reasons of all changes with
	//     one of the ids as target, OldID or NewID, and all reasons that models gave for the owner's
	//     changes, since a reason may quote the text. Ids, times, authors and statuses remain;
	//   - titles of conversations that occur in an erased turn, also in the journal;
	//   - all traces of the owner, and the error texts of the owner's jobs.
	//     After the erasure, SaveTraces ignores traces with an earlier time.
	//
	// The journal gets an [ActionErase] for each erased id, in the order of the ids. Such a change cannot be
	// undone. The version rises by one; [IndexSource.Since] then returns [Gone] for earlier versions. If there
	// is nothing to erase, the version does not change. Erase uses only the run's id, kind, author and jobs. A
	// run that was applied before is a no-op that returns its receipt with Again set.
	//
	// When Erase returns without an error, no read finds the text. Free pages and the log of a database file
	// may contain it until the store rewrites the file, at its next start at the latest. [Unavailable] means
	// that either the disk is full and nothing was erased, or files may still contain the text; repeating the
	// call completes the erasure.
	Erase(ctx context.Context, owner Owner, run Run, ids ...string) (Receipt, error)

	// EraseTraces removes all traces of an owner and returns their number, even if it also returns an error:
	// a repeated call removes the remaining traces. It changes neither version nor journal, and does not
	// affect traces saved later. Errors are those of Erase.
	EraseTraces(ctx context.Context, owner Owner) (int, error)

	// EraseTracesOf removes the traces of all owners in a namespace that show the text of one of these facts
	// from another owner's memory (see [Trace.OtherOwnersFacts]). It returns the number of removed traces like
	// EraseTraces; its cost depends only on this number. The caller must first
	// erase the fact, or the link to it, so that SaveTraces refuses new traces with the fact.
	EraseTracesOf(ctx context.Context, namespace string, factIDs ...string) (int, error)
}

// The key of an erased profile entry is erasedKeyPrefix, followed by a hash in hexadecimal.
const (
	erasedKeyPrefix   = "erased-"
	erasedKeyHashSize = 16 // length in bytes of the hash in the key
)

// ErasedKey returns the key that replaces the key of a profile entry erased by the run, since a key may be
// personal text. A key that ErasedKey has returned is not changed.
func ErasedKey(runID, key string) string {
	if hash, ok := strings.CutPrefix(key, erasedKeyPrefix); ok && len(hash) == 2*erasedKeyHashSize {
		return key
	}
	sum := sha256.Sum256([]byte(runID + "\x00" + key))
	return erasedKeyPrefix + hex.EncodeToString(sum[:erasedKeyHashSize])
}

// Erased returns the state after an erasure by the run, without text. Ids, times, status, trust and a fact's
// turns remain. The scope retains only owner and conversation, since project and agent names may be personal.
func (i State) Erased(runID string) State {
	switch {
	case i.Fact != nil:
		f := i.Fact.erased()
		return State{Fact: &f}
	case i.Link != nil:
		l := *i.Link
		l.Fact = l.Fact.erased()
		return State{Link: &l}
	case i.Summary != nil:
		s := *i.Summary
		s.Text, s.Scope.Project, s.Scope.Agent = "", "", ""
		return State{Summary: &s}
	case i.Context != nil:
		c := *i.Context
		c.Title, c.Content = "", ""
		return State{Context: &c}
	case i.Conversation != nil:
		c := *i.Conversation
		c.Title, c.Rules = "", ""
		return State{Conversation: &c}
	case i.Profile != nil:
		p := *i.Profile
		p.Key, p.Value, p.Tokens = ErasedKey(runID, p.Key), "", 0
		return State{Profile: &p}
	}
	return i
}

func (f Fact) erased() Fact {
	f.Scope.Project, f.Scope.Agent = "", ""
	f.Content, f.Category, f.Tags, f.Subject, f.Attribute = "", "", nil, "", ""
	f.Metadata, f.Hash, f.Provenance.Quote, f.Model = nil, "", nil, "" // a rule's name in Model would reveal the subject
	return f
}

// Erased returns the turn without text and excluded from learning. Chain remains, so that the store
// recognizes the turn when a client resends it.
func (t Turn) Erased() Turn {
	t.Content, t.Project, t.Agent, t.Injected, t.Foreign, t.NoLearn = "", "", "", "", "", true
	return t
}

package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
)

// entry is one line of the journal: one commit of one owner, whole, but for
// vectors, which are made of words. Exactly one of Run, Batch and Done is set, or
// none: such a line only says that there is this owner.
type entry struct {
	Owner   memory.Owner `json:"owner"`
	Version int64        `json:"version,omitempty"` // the owner's, after it
	At      time.Time    `json:"at,omitzero"`       // by the owner's clock
	body
}

// body is what the caller wanted, so that it can be put into words before the
// store within is asked.
type body struct {
	Run     *runLine     `json:"run,omitempty"`
	Batch   *batchLine   `json:"batch,omitempty"`
	Changes []changeLine `json:"changes,omitempty"` // a batch's are its marks
	Jobs    []memory.Job `json:"jobs,omitempty"`
	Touched []string     `json:"touched,omitempty"` // memories that got a vector and nothing else; the owner may not have them
	Raises  bool         `json:"raises,omitempty"`  // of a run without changes: the version rose all the same, for vectors
	Done    string       `json:"done,omitempty"`    // a job that no run completed and that needs no doing

	Erased   []string `json:"erased,omitempty"`   // of a run that erases, instead of changes: targets, in order
	Untitled []string `json:"untitled,omitempty"` // conversations that lost their title by it

	// Titles are, of conversations whose turns were erased, what they have left of all
	// titles that they had.
	Titles map[string][]string `json:"titles,omitempty"`
}

type runLine struct {
	ID      string        `json:"id"`
	Kind    string        `json:"kind,omitempty"`
	Author  memory.Author `json:"author,omitzero"`
	Learned []string      `json:"learned,omitempty"`
	Job     string        `json:"job,omitempty"` // that it completed
}

type batchLine struct {
	Conversation memory.Conversation `json:"conversation"`
	Turns        []turnLine          `json:"turns,omitempty"`
	Run          string              `json:"run,omitempty"`
}

type changeLine struct {
	Action memory.Action `json:"action"`
	After  imageLine     `json:"after"`
	Base   int64         `json:"base,omitempty"`
	OldID  string        `json:"old_id,omitempty"`
	NewID  string        `json:"new_id,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Author memory.Author `json:"author,omitzero"`
}

// imageLine is a [memory.Image] with what its own JSON leaves out.
type imageLine struct {
	Fact     *factLine            `json:"fact,omitempty"`
	Link     *linkLine            `json:"link,omitempty"`
	Profile  *memory.ProfileEntry `json:"profile,omitempty"`
	Relation *memory.Relation     `json:"relation,omitempty"`
	Summary  *memory.Summary      `json:"summary,omitempty"`
	Turn     *memory.TurnMark     `json:"turn,omitempty"`
	Context  *memory.Context      `json:"context,omitempty"`

	Conversation *memory.ConversationMark `json:"conversation,omitempty"`
}

type factLine struct {
	memory.Fact
	Hash string `json:"hash"`
}

type linkLine struct {
	memory.Link
	Fact factLine `json:"fact"`
}

type turnLine struct {
	memory.Turn
	Chain string `json:"chain,omitempty"`
	Given string `json:"given,omitempty"`
}

func (l factLine) fact() memory.Fact {
	f := l.Fact
	f.Hash = l.Hash
	return f
}

func (l turnLine) turn() memory.Turn {
	t := l.Turn
	t.Chain, t.Given = l.Chain, l.Given
	return t
}

func lineOfImage(i memory.Image) imageLine {
	line := imageLine{Profile: i.Profile, Relation: i.Relation, Summary: i.Summary, Turn: i.Turn, Context: i.Context, Conversation: i.Conversation}
	if i.Fact != nil {
		line.Fact = &factLine{*i.Fact, i.Fact.Hash}
	}
	if i.Link != nil {
		line.Link = &linkLine{*i.Link, factLine{i.Link.Fact, i.Link.Fact.Hash}}
	}
	return line
}

func (l imageLine) image() memory.Image {
	i := memory.Image{Profile: l.Profile, Relation: l.Relation, Summary: l.Summary, Turn: l.Turn, Context: l.Context, Conversation: l.Conversation}
	if l.Fact != nil {
		f := l.Fact.fact()
		i.Fact = &f
	}
	if l.Link != nil {
		link := l.Link.Link
		link.Fact = l.Link.Fact.fact()
		i.Link = &link
	}
	return i
}

func linesOfChanges(changes []memory.Change) []changeLine {
	var lines []changeLine
	for _, c := range changes {
		lines = append(lines, changeLine{c.Action, lineOfImage(c.After), c.Base, c.OldID, c.NewID, c.Reason, c.Author})
	}
	return lines
}

func (b body) changes() []memory.Change {
	var changes []memory.Change
	for _, l := range b.Changes {
		changes = append(changes, memory.Change{
			Action: l.Action, After: l.After.image(), Base: l.Base, OldID: l.OldID, NewID: l.NewID, Reason: l.Reason, Author: l.Author,
		})
	}
	return changes
}

// bodyOfRun returns what the journal keeps of a run.
func bodyOfRun(run memory.Run, changes []memory.Change) body {
	b := body{
		Run:     &runLine{ID: run.ID, Kind: run.Kind, Author: run.Author, Learned: run.Learned},
		Changes: linesOfChanges(changes),
		Jobs:    run.Jobs,
		Raises:  len(changes) == 0 && len(run.Vectors) > 0,
	}
	if run.Lease != nil {
		b.Run.Job = run.Lease.Job
	}
	named := map[string]bool{}
	for _, c := range changes {
		named[idOf(c.After)] = true
	}
	b.Touched = touched(run.Vectors, named)
	return b
}

// bodyOfBatch returns what the journal keeps of a batch.
func bodyOfBatch(batch memory.Batch) body {
	b := body{
		Batch:   &batchLine{Conversation: batch.Conversation, Run: batch.Run},
		Changes: linesOfChanges(batch.Marks),
		Jobs:    batch.Jobs,
	}
	for _, t := range batch.Turns {
		b.Batch.Turns = append(b.Batch.Turns, turnLine{t, t.Chain, t.Given})
	}
	b.Touched = touched(batch.Vectors, nil)
	return b
}

// touched returns the memories that vectors are of, but for those that are named
// anyhow.
func touched(vectors []memory.Vector, named map[string]bool) []string {
	var ids []string
	seen := map[string]bool{}
	for _, v := range vectors {
		if !named[v.Memory] && !seen[v.Memory] {
			seen[v.Memory] = true
			ids = append(ids, v.Memory)
		}
	}
	return ids
}

func idOf(i memory.Image) string {
	switch {
	case i.Fact != nil:
		return i.Fact.ID
	case i.Link != nil:
		return i.Link.Fact.ID
	case i.Summary != nil:
		return i.Summary.ID
	}
	return ""
}

// raises reports whether the entry raised its owner's version.
func (b body) raises() bool { return b.Batch != nil || len(b.Changes) > 0 || b.Raises }

// commits reports whether the entry is of a write.
func (b body) commits() bool { return b.Run != nil || b.Batch != nil }

// targets are the things that the entry is about, as [memory.Image.Target] and
// conversationTarget write them.
func (b body) targets() []string {
	var out []string
	for _, c := range b.Changes {
		out = append(out, c.After.image().Target())
		if r := c.After.Relation; r != nil {
			out = append(out, factTarget+r.From) // whose file has it
		}
		if p := c.After.Profile; p != nil {
			if id, ok := sharedFact(profileTarget + p.Key); ok {
				out = append(out, factTarget+id)
			}
		}
	}
	out = append(out, b.Erased...)
	for _, id := range b.Untitled {
		out = append(out, conversationTarget+id)
	}
	if b.Run != nil {
		for _, id := range b.Run.Learned {
			out = append(out, turnTarget+id)
		}
	}
	if b.Batch != nil {
		out = append(out, conversationTarget+b.Batch.Conversation.ID)
		for _, t := range b.Batch.Turns {
			out = append(out, turnTarget+t.ID)
		}
	}
	return out
}

// What targets begin with.
const (
	factTarget         = "fact:"
	turnTarget         = "turn:"
	summaryTarget      = "summary:"
	profileTarget      = "profile:"
	contextTarget      = "context:"
	conversationTarget = "conversation:"
)

// encode returns the body in JSON, or [memory.Invalid] if JSON cannot say it.
func (b body) encode() ([]byte, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "the journal cannot say it: %w", err)
	}
	return text, nil
}

// line puts a line together: the head, then the body's JSON as it is.
func line(owner memory.Owner, version int64, at time.Time, body []byte) ([]byte, error) {
	head, err := json.Marshal(struct {
		Owner   memory.Owner `json:"owner"`
		Version int64        `json:"version,omitempty"`
		At      time.Time    `json:"at,omitzero"`
	}{owner, version, at})
	if err != nil {
		return nil, fmt.Errorf("write the head of a line: %w", err)
	}
	out := make([]byte, 0, len(head)+len(body)+1)
	out = append(out, head[:len(head)-1]...)
	if len(body) > len("{}") {
		out = append(append(out, ','), body[1:]...)
	} else {
		out = append(out, '}')
	}
	return append(out, '\n'), nil
}

// readEntry reads a line.
func readEntry(text []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return entry{}, err
	}
	if !e.Owner.Valid() {
		return entry{}, fmt.Errorf("%q is no owner", e.Owner)
	}
	if e.Run != nil && e.Batch != nil {
		return entry{}, errors.New("both a run and a batch")
	}
	return e, nil
}

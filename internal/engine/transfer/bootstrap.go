package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// bootstrapper makes the global pool's facts that come from a file. It is also
// what they name as their Model, by which they are known again.
var bootstrapper = memory.Author{Kind: memory.ByRule, Name: "bootstrap"}

// Bootstrap makes a namespace's global pool hold the facts of a file, and no longer
// what an earlier file had that this one has not. The same file again changes
// nothing. A fact that somebody else wrote or has changed since is left as it is.
// [memory.Invalid], naming the line, if the file cannot be read; see
// [ReadBootstrap].
func (e *Transfer) Bootstrap(ctx context.Context, namespace string, file []byte) (memory.Receipt, error) {
	notes, err := ReadBootstrap(file)
	if err != nil {
		return memory.Receipt{}, err
	}
	owner := memory.Global(namespace)
	want := map[string]memory.Fact{} // by id
	var order []string
	for i, n := range notes {
		f, err := e.Curate.Noted(owner, n)
		if err != nil {
			return memory.Receipt{}, fmt.Errorf("fact %d, %q: %w", i+1, core.Clip(n.Content, 80), err)
		}
		f.ID, f.Source, f.Model = core.DerivedID(owner, bootstrapper.Name, f.Hash), memory.FromFile, bootstrapper.Name
		if _, again := want[f.ID]; !again {
			want[f.ID], order = f, append(order, f.ID)
		}
	}
	for try := 1; ; try++ {
		receipt, err := e.bootstrap(ctx, owner, want, order)
		if err == nil || try == core.MaxConflicts || !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate) {
			return receipt, err
		}
	}
}

// bootstrap applies what has to change for the pool to hold what is wanted.
func (e *Transfer) bootstrap(ctx context.Context, owner memory.Owner, want map[string]memory.Fact, order []string) (memory.Receipt, error) {
	have, live, err := e.pooled(ctx, owner)
	if err != nil {
		return memory.Receipt{}, err
	}
	changes, err := e.leavePool(ctx, have, want)
	if err != nil {
		return memory.Receipt{}, err
	}
	run := memory.Run{ID: core.NewID(), Kind: "import", Author: bootstrapper}
	for _, id := range order {
		f := want[id]
		action, err := e.joinPool(ctx, f, have[id], live[f.Hash])
		if err != nil {
			return memory.Receipt{}, err
		}
		if action == "" {
			continue
		}
		if old, known := have[id]; known {
			f.CreatedAt = old.CreatedAt
		}
		changes = append(changes, memory.Change{Action: action, After: memory.Image{Fact: &f}, Base: have[id].Version, Reason: "in the bootstrap file", Author: bootstrapper})
		v, err := e.TextVectors(ctx, f.ID, f.Content)
		if err != nil {
			return memory.Receipt{}, err
		}
		run.Vectors = append(run.Vectors, v...)
	}
	if len(changes) == 0 {
		return memory.Receipt{Again: true}, nil
	}
	return e.Store.Apply(ctx, owner, run, changes...)
}

// leavePool returns the changes by which facts of an earlier file go that this one
// has not.
func (e *Transfer) leavePool(ctx context.Context, have, want map[string]memory.Fact) ([]memory.Change, error) {
	var changes []memory.Change
	for _, id := range slices.Sorted(maps.Keys(have)) {
		f := have[id]
		if _, wanted := want[id]; wanted || f.Status != memory.Active || f.Model != bootstrapper.Name {
			continue
		}
		ours, err := e.untouched(ctx, f)
		if err != nil {
			return nil, err
		}
		if ours {
			f.Status, f.UpdatedAt = memory.Retired, e.Time()
			changes = append(changes, memory.Change{Action: memory.ActionRetire, After: memory.Image{Fact: &f}, Base: f.Version, Reason: "no longer in the bootstrap file", Author: bootstrapper})
		}
	}
	return changes, nil
}

// joinPool returns how a wanted fact comes to be in the pool, "" if it is there or
// somebody else decided about it. old is what has its id, zero for nothing; told is
// whether a live fact has its words.
func (e *Transfer) joinPool(ctx context.Context, f, old memory.Fact, told bool) (memory.Action, error) {
	switch {
	case old.ID == "" && told:
		return "", nil
	case old.ID == "":
		return memory.ActionAdd, nil
	case old.Status == memory.Active && old.Content == f.Content && old.Category == f.Category && slices.Equal(old.Tags, f.Tags):
		return "", nil
	}
	ours, err := e.untouched(ctx, old)
	switch {
	case err != nil || !ours:
		return "", err
	case old.Status == memory.Active:
		return memory.ActionUpdate, nil
	case told:
		return "", nil
	}
	return memory.ActionRestore, nil
}

// pooled returns all facts of the pool by id, and the hashes of those that live.
func (e *Transfer) pooled(ctx context.Context, owner memory.Owner) (facts map[string]memory.Fact, live map[string]bool, err error) {
	facts, live = map[string]memory.Fact{}, map[string]bool{}
	err = e.Everything(ctx, owner, memory.Query{Statuses: core.EveryStatus}, func(m memory.Memory) {
		if m.Link != nil {
			return
		}
		facts[m.ID()] = *m.Fact
		if m.Fact.Status.Live() {
			live[m.Fact.Hash] = true
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list the global pool: %w", err)
	}
	return facts, live, nil
}

// untouched reports whether the last to change a fact was a file.
func (e *Transfer) untouched(ctx context.Context, f memory.Fact) (bool, error) {
	last, err := e.LastChange(ctx, f.Scope.Owner, memory.Image{Fact: &f}.Target())
	if err != nil {
		return false, fmt.Errorf("read who changed %s: %w", f.ID, err)
	}
	return last.Author == bootstrapper, nil
}

// listMark is what stands in front of an item of a Markdown list.
var listMark = lazy.Compile(`^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?`)

// ReadBootstrap reads facts from a file, one a line: a JSON object with content
// and, if wanted, category and tags, or an item of a list, or plain text.
// Empty lines, Markdown headings and comments of one line are passed over.
func ReadBootstrap(file []byte) ([]curate.Note, error) {
	var notes []curate.Note
	number := 0
	for line := range bytes.SplitSeq(bytes.TrimPrefix(file, []byte("\uFEFF")), []byte("\n")) {
		number++
		s := string(bytes.TrimSpace(line))
		switch {
		case s == "", strings.HasPrefix(s, "#"), strings.HasPrefix(s, "<!--") && strings.HasSuffix(s, "-->"):
			continue
		case s[0] == '{':
			n, err := readNote(s)
			if err != nil {
				return nil, memory.Errorf(memory.Invalid, "line %d: %w", number, err)
			}
			notes = append(notes, n)
		default:
			notes = append(notes, curate.Note{Content: s[len(listMark.FindString(s)):]})
		}
	}
	return notes, nil
}

func readNote(s string) (curate.Note, error) {
	var in struct {
		Content  string   `json:"content"`
		Category string   `json:"category"`
		Tags     []string `json:"tags"`
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return curate.Note{}, fmt.Errorf("it is no object of content, category and tags: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return curate.Note{}, errors.New("something follows the object")
	}
	if strings.TrimSpace(in.Content) == "" {
		return curate.Note{}, errors.New("content is empty")
	}
	return curate.Note{Content: in.Content, Category: in.Category, Tags: in.Tags}, nil
}

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

// byBootstrap is the author of a bootstrap file's facts. Its name is also the facts' Model.
var bootstrapper = memory.Author{Kind: memory.ByRule, Name: "bootstrap"}

// Bootstrap makes a namespace's global pool contain the facts of a file, and retires facts of an earlier
// file that this file lacks. A repeated file changes nothing. Facts that others wrote or changed remain.
// For an invalid file it returns [memory.Invalid] with the line; see [ReadBootstrap].
func (e *Transfer) Bootstrap(ctx context.Context, namespace string, file []byte) (memory.Receipt, error) {
	notes, err := ReadBootstrap(file)
	if err != nil {
		return memory.Receipt{}, err
	}
	owner := memory.Global(namespace)
	want := map[string]memory.Fact{} // by id
	var order []string
	for i, n := range notes {
		f, err := e.Curate.FactFromNote(owner, n)
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

// applyBootstrap applies the changes that make the pool contain the wanted facts.
func (e *Transfer) bootstrap(ctx context.Context, owner memory.Owner, want map[string]memory.Fact, order []string) (memory.Receipt, error) {
	have, live, err := e.pooled(ctx, owner)
	if err != nil {
		return memory.Receipt{}, err
	}
	changes, err := e.removeMissing(ctx, have, want)
	if err != nil {
		return memory.Receipt{}, err
	}
	run := memory.Run{ID: core.NewID(), Kind: "import", Author: bootstrapper}
	for _, id := range order {
		f := want[id]
		action, err := e.poolAction(ctx, f, have[id], live[f.Hash])
		if err != nil {
			return memory.Receipt{}, err
		}
		if action == "" {
			continue
		}
		if old, found := have[id]; found {
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

// removeMissing returns the changes that retire an earlier file's facts that this file lacks.
func (e *Transfer) removeMissing(ctx context.Context, have, want map[string]memory.Fact) ([]memory.Change, error) {
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

// poolAction returns the action that adds a wanted fact to the pool, or "" if the pool has the fact or
// another author changed it. old is the fact with the same id, or zero. textExists reports whether a live
// fact has the same text.
func (e *Transfer) poolAction(ctx context.Context, f, old memory.Fact, exists bool) (memory.Action, error) {
	switch {
	case old.ID == "" && exists:
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
	case exists:
		return "", nil
	}
	return memory.ActionRestore, nil
}

// poolFacts returns the pool's facts by id, and the hashes of the live facts.
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

// isUntouched reports whether a bootstrap file made the last change of a fact.
func (e *Transfer) untouched(ctx context.Context, f memory.Fact) (bool, error) {
	last, err := e.LastChange(ctx, f.Scope.Owner, memory.Image{Fact: &f}.Target())
	if err != nil {
		return false, fmt.Errorf("read who changed %s: %w", f.ID, err)
	}
	return last.Author == bootstrapper, nil
}

// listMarker matches the marker of a Markdown list item.
var listMark = lazy.Compile(`^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?`)

// ReadBootstrap parses a file with one fact per line: a JSON object with content, category and
// tags, a list item, or plain text. It skips empty lines, Markdown headings and one-line comments.
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
		return curate.Note{}, fmt.Errorf("it is not a JSON object with content, category and tags: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return curate.Note{}, errors.New("there is text after the object")
	}
	if strings.TrimSpace(in.Content) == "" {
		return curate.Note{}, errors.New("content is empty")
	}
	return curate.Note{Content: in.Content, Category: in.Category, Tags: in.Tags}, nil
}

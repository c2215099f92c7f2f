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
var byBootstrap = memory.Author{Kind: memory.ByRule, Name: "bootstrap"}

// Bootstrap makes a namespace's global pool contain the facts of a file, and retires facts of an earlier
// file that this file lacks. A repeated file changes nothing. Facts that others wrote or changed remain.
// For an invalid file it returns [memory.Invalid] with the line; see [ReadBootstrap].
func (e *Transfer) Bootstrap(ctx context.Context, namespace string, file []byte) (memory.Receipt, error) {
	inputs, err := ReadBootstrap(file)
	if err != nil {
		return memory.Receipt{}, err
	}
	owner := memory.Global(namespace)
	wanted := map[string]memory.Fact{} // by id
	var ids []string
	for i, input := range inputs {
		f, err := e.Curate.FactFromInput(owner, input)
		if err != nil {
			return memory.Receipt{}, fmt.Errorf("fact %d, %q: %w", i+1, core.Clip(input.Content, 80), err)
		}
		f.ID, f.Source, f.Model = core.DerivedID(owner, byBootstrap.Name, f.Hash), memory.FromFile, byBootstrap.Name
		if _, isListed := wanted[f.ID]; !isListed {
			wanted[f.ID], ids = f, append(ids, f.ID)
		}
	}
	for try := 1; ; try++ {
		receipt, err := e.applyBootstrap(ctx, owner, wanted, ids)
		if err == nil || try == core.MaxFastRetries || !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate) {
			return receipt, err
		}
	}
}

// applyBootstrap applies the changes that make the pool contain the wanted facts.
func (e *Transfer) applyBootstrap(ctx context.Context, owner memory.Owner, wanted map[string]memory.Fact, ids []string) (memory.Receipt, error) {
	stored, liveHashes, err := e.poolFacts(ctx, owner)
	if err != nil {
		return memory.Receipt{}, err
	}
	changes, err := e.missingFactRemovals(ctx, stored, wanted)
	if err != nil {
		return memory.Receipt{}, err
	}
	run := memory.Run{ID: core.NewID(), Kind: "import", Author: byBootstrap}
	for _, id := range ids {
		f := wanted[id]
		action, err := e.poolAction(ctx, f, stored[id], liveHashes[f.Hash])
		if err != nil {
			return memory.Receipt{}, err
		}
		if action == "" {
			continue
		}
		if old, found := stored[id]; found {
			f.CreatedAt = old.CreatedAt
		}
		changes = append(changes, memory.Change{Action: action, After: memory.State{Fact: &f}, Base: stored[id].Version, Reason: "in the bootstrap file", Author: byBootstrap})
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

// missingFactRemovals returns the changes that retire an earlier file's facts that this file lacks.
func (e *Transfer) missingFactRemovals(ctx context.Context, stored, wanted map[string]memory.Fact) ([]memory.Change, error) {
	var changes []memory.Change
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		f := stored[id]
		if _, isWanted := wanted[id]; isWanted || f.Status != memory.Active || f.Model != byBootstrap.Name {
			continue
		}
		isUntouched, err := e.isLastChangeByBootstrap(ctx, f)
		if err != nil {
			return nil, err
		}
		if isUntouched {
			f.Status, f.UpdatedAt = memory.Retired, e.Time()
			changes = append(changes, memory.Change{Action: memory.ActionRetire, After: memory.State{Fact: &f}, Base: f.Version, Reason: "no longer in the bootstrap file", Author: byBootstrap})
		}
	}
	return changes, nil
}

// poolAction returns the action that adds a wanted fact to the pool, or "" if the pool has the fact or
// another author changed it. stored is the pool's fact with the same id, or zero. textInPool reports whether
// an active or pending fact of the pool has the text of f.
func (e *Transfer) poolAction(ctx context.Context, f, stored memory.Fact, textInPool bool) (memory.Action, error) {
	switch {
	case stored.ID == "" && textInPool:
		return "", nil
	case stored.ID == "":
		return memory.ActionAdd, nil
	case stored.Status == memory.Active && stored.Content == f.Content && stored.Category == f.Category && slices.Equal(stored.Tags, f.Tags):
		return "", nil
	}
	isUntouched, err := e.isLastChangeByBootstrap(ctx, stored)
	switch {
	case err != nil || !isUntouched:
		return "", err
	case stored.Status == memory.Active:
		return memory.ActionUpdate, nil
	case textInPool:
		return "", nil
	}
	return memory.ActionRestore, nil
}

// poolFacts returns the pool's facts by id, and the text hashes of the active and pending facts.
func (e *Transfer) poolFacts(ctx context.Context, owner memory.Owner) (facts map[string]memory.Fact, liveHashes map[string]bool, err error) {
	facts, liveHashes = map[string]memory.Fact{}, map[string]bool{}
	err = e.EachMemory(ctx, owner, memory.Query{Statuses: core.AllStatuses}, func(m memory.Memory) {
		if m.Link != nil {
			return
		}
		facts[m.ID()] = *m.Fact
		if m.Fact.Status.Live() {
			liveHashes[m.Fact.Hash] = true
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list the global pool: %w", err)
	}
	return facts, liveHashes, nil
}

// isLastChangeByBootstrap reports whether a bootstrap file made the last change of a fact.
func (e *Transfer) isLastChangeByBootstrap(ctx context.Context, f memory.Fact) (bool, error) {
	last, err := e.LastChange(ctx, f.Scope.Owner, memory.State{Fact: &f}.Target())
	if err != nil {
		return false, fmt.Errorf("read who changed %s: %w", f.ID, err)
	}
	return last.Author == byBootstrap, nil
}

// listMarker matches the marker of a Markdown list item.
var listMarker = lazy.Compile(`^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?`)

// ReadBootstrap parses a file with one fact per line: a JSON object with content, category and
// tags, a list item, or plain text. It skips empty lines, Markdown headings and one-line comments.
func ReadBootstrap(file []byte) ([]curate.FactInput, error) {
	var inputs []curate.FactInput
	number := 0
	for line := range bytes.SplitSeq(bytes.TrimPrefix(file, []byte("\uFEFF")), []byte("\n")) {
		number++
		s := string(bytes.TrimSpace(line))
		switch {
		case s == "", strings.HasPrefix(s, "#"), strings.HasPrefix(s, "<!--") && strings.HasSuffix(s, "-->"):
			continue
		case s[0] == '{':
			input, err := parseJSONFact(s)
			if err != nil {
				return nil, memory.Errorf(memory.Invalid, "line %d: %w", number, err)
			}
			inputs = append(inputs, input)
		default:
			inputs = append(inputs, curate.FactInput{Content: s[len(listMarker.FindString(s)):]})
		}
	}
	return inputs, nil
}

func parseJSONFact(line string) (curate.FactInput, error) {
	var parsed struct {
		Content  string   `json:"content"`
		Category string   `json:"category"`
		Tags     []string `json:"tags"`
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&parsed); err != nil {
		return curate.FactInput{}, fmt.Errorf("it is not a JSON object with content, category and tags: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return curate.FactInput{}, errors.New("there is text after the object")
	}
	if strings.TrimSpace(parsed.Content) == "" {
		return curate.FactInput{}, errors.New("content is empty")
	}
	return curate.FactInput{Content: parsed.Content, Category: parsed.Category, Tags: parsed.Tags}, nil
}

package eval

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Example is a question with what every candidate gets from each cue and what all
// of them signal: what weights are fitted to.
type Example struct {
	Dataset, Conversation, Category string

	Place    int  // of the conversation in its data set
	Answered bool // that its conversation has the answer; if not, there are signals only

	Units   []string    // of the candidates: turns, or sessions where those are gold
	Values  [][]float64 // by candidate and cue
	Gold    []string
	Signals []float64
}

// Examples puts a data set into d and returns its questions as examples: those of
// each conversation, and then the same put to the next one.
func Examples(ctx context.Context, d *Direct, set Dataset) ([]Example, error) {
	var out []Example
	for i, c := range set.Conversations {
		owner, known := ownerOf(set, i), 0
		for _, q := range c.Questions {
			upTo := c.known(q)
			if err := d.Ingest(ctx, owner, c.Turns[known:max(known, upTo)]); err != nil {
				return nil, err
			}
			known = max(known, upTo)
			e := Example{Dataset: set.Name, Conversation: c.Name, Category: q.Category, Place: i, Answered: true, Gold: q.Gold}
			if err := e.read(ctx, d, owner, c, q.Text); err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	for i, c := range set.Conversations {
		next := (i + 1) % len(set.Conversations)
		if next == i {
			break
		}
		rename := swap(speakers(c), speakers(set.Conversations[next]))
		for _, q := range c.Questions {
			e := Example{Dataset: set.Name, Conversation: c.Name, Category: q.Category, Place: i}
			if err := e.read(ctx, d, ownerOf(set, next), c, rename.Replace(q.Text)); err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func (e *Example) read(ctx context.Context, d *Direct, owner memory.Owner, c Conversation, question string) error {
	query, candidates, err := d.Candidates(ctx, owner, question)
	if err != nil {
		return fmt.Errorf("search %q: %w", question, err)
	}
	_, _, e.Signals = recall.Signals(query, candidates, d.options())
	if !e.Answered {
		return nil
	}
	_, _, e.Values = recall.Cues(query, candidates, d.options())
	found := make([]Found, len(candidates))
	for j := range candidates {
		found[j].Ref = candidates[j].ID
	}
	e.Units = units(c, found)
	return nil
}

func (e *Example) scores(w []float64) []float64 {
	out := make([]float64, len(e.Values))
	for i, x := range e.Values {
		out[i] = dot(w, x)
	}
	return out
}

func dot(w, x []float64) float64 {
	var sum float64
	for j := range x {
		sum += w[j] * x[j]
	}
	return sum
}

// Evaluate measures weights on examples, by data set.
func Evaluate(examples []Example, w []float64) map[string]Measure {
	out := map[string]Measure{}
	for i := range examples {
		e := &examples[i]
		if !e.Answered {
			continue
		}
		m := out[e.Dataset]
		recall, rr := score(distinct(e.ranked(w)), e.Gold)
		add(&m, recall, rr)
		out[e.Dataset] = m
	}
	for k, m := range out {
		out[k] = m.mean()
	}
	return out
}

// ranked returns the units in the order that weights give.
func (e *Example) ranked(w []float64) []string {
	scores := e.scores(w)
	order := make([]int, len(scores))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	out := make([]string, len(order))
	for i, j := range order {
		out[i] = e.Units[j]
	}
	return out
}

// folds is how many parts a data set's conversations are dealt into. One part of
// every set is left out at a time.
const folds = 5

func split(examples []Example, fold int) (in, out []Example) {
	for _, e := range examples {
		if e.Place%folds == fold {
			out = append(out, e)
		} else {
			in = append(in, e)
		}
	}
	return in, out
}

package vault

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// said is what a memory says.
type said struct{ id, words string }

// wordsOf is what changes and turns say. What leaves recall keeps the vector that it
// has.
func wordsOf(changes []memory.Change, turns []memory.Turn) []said {
	var out []said
	for _, t := range turns {
		if t.Tells() && t.Content != "" {
			out = append(out, said{t.ID, t.Content})
		}
	}
	for _, c := range changes {
		switch {
		case c.Action == memory.ActionRetire || c.Action == memory.ActionReject || c.Action == memory.ActionReplace:
		case c.After.Fact != nil && c.After.Fact.Content != "":
			out = append(out, said{c.After.Fact.ID, c.After.Fact.Content})
		case c.After.Link != nil && c.After.Link.Fact.Content != "":
			out = append(out, said{c.After.Link.Fact.ID, c.After.Link.Fact.Content})
		case c.After.Summary != nil && c.After.Summary.Text != "":
			out = append(out, said{c.After.Summary.ID, c.After.Summary.Text})
		}
	}
	return out
}

// vectors embeds what is said. Where that cannot be, it has none, and is found by its
// words.
func (s *Store) vectors(ctx context.Context, all []said) []memory.Vector {
	if s.opts.Embedder == nil || len(all) == 0 {
		return nil
	}
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.words
	}
	values, err := s.opts.Embedder.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		s.opts.Log.Warn("what the vault brings is not embedded", "memories", len(all), "error", err)
		return nil
	}
	out := make([]memory.Vector, len(all))
	for i, one := range all {
		out[i] = memory.Vector{Memory: one.id, Model: s.opts.Embedder.Fingerprint(), Values: values[i]}
	}
	return out
}

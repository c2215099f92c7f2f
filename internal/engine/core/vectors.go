package core

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
)

// IsRemote reports whether a model runs on a server. Writes do not wait for a remote model.
func IsRemote(model any) bool {
	r, ok := model.(interface{ Remote() bool })
	return ok && r.Remote()
}

// SkipReason returns why an embedder or a reranker is currently not used, or nil if it is used.
func SkipReason(model any) error {
	if s, ok := model.(interface{ Skipped() error }); ok {
		return s.Skipped()
	}
	return nil
}

// CompareTimeout bounds the wait for a remote embedder that embeds a text to compare with memory.
const CompareTimeout = 2 * time.Second

// VectorToCompare embeds a text to compare with stored texts. The vector is nil if a remote
// embedder is unavailable; the comparison then uses only words.
func (e *Core) VectorToCompare(ctx context.Context, content string) ([]float32, error) {
	embedCtx := ctx
	if IsRemote(e.Embedder) {
		var cancel context.CancelFunc
		embedCtx, cancel = context.WithTimeout(ctx, CompareTimeout)
		defer cancel()
	}
	vectors, err := e.Embedder.Embed(embedCtx, memory.AsDocument, content)
	switch {
	case err == nil:
		return vectors[0], nil
	case IsRemote(e.Embedder) && ctx.Err() == nil:
		e.Log.Warn("the embedder is unavailable; memories are compared only by words", "err", err)
		return nil, nil
	}
	return nil, fmt.Errorf("embed the text to compare: %w", err)
}

// DocumentVectors embeds the texts of memories. It returns nil for a remote embedder: a job embeds later.
func (e *Core) DocumentVectors(ctx context.Context, ids, texts []string) ([]memory.Vector, error) {
	if len(texts) == 0 || IsRemote(e.Embedder) {
		return nil, nil
	}
	values, err := e.Embedder.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return nil, err
	}
	return VectorsOf(ids, e.Embedder.Fingerprint(), values), nil
}

// VectorsOf returns vectors of one embedding model for the memories with these ids.
func VectorsOf(ids []string, model string, values [][]float32) []memory.Vector {
	out := make([]memory.Vector, len(ids))
	for i, id := range ids {
		out[i] = memory.Vector{Memory: id, Model: model, Values: values[i]}
	}
	return out
}

// TextVectors embeds one text, like [Core.DocumentVectors].
func (e *Core) TextVectors(ctx context.Context, id, content string) ([]memory.Vector, error) {
	return e.DocumentVectors(ctx, []string{id}, []string{content})
}

// TurnVectors embeds the turns that have text, like [Core.DocumentVectors].
func (e *Core) TurnVectors(ctx context.Context, turns []memory.Turn) ([]memory.Vector, error) {
	var ids, texts []string
	for _, t := range turns {
		if t.Content != "" && t.Informative() {
			ids, texts = append(ids, t.ID), append(texts, t.Content)
		}
	}
	vectors, err := e.DocumentVectors(ctx, ids, texts)
	if err != nil {
		return nil, fmt.Errorf("embed turns: %w", err)
	}
	return vectors, nil
}

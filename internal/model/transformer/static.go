package transformer

import (
	"errors"
	"fmt"

	"github.com/loci-memory/loci/internal/vector"
)

// staticModel is a model2vec model: vectors, each for one or more tokens, and each token's weight. A text's
// vector is the weighted mean of its tokens' vectors.
type staticModel struct {
	dims         int
	vectors      []float32
	rowByToken   []int32   // row of each token in vectors; nil means the token's number
	weights      []float32 // weight of each token; nil means 1
	ignoredToken int32     // the unknown token, which does not count
}

// staticNames are the possible tensor names of a static model's vectors.
var staticNames = []string{"embeddings", "embedding.weight", "0"}

func readStatic(source *tensors, t *tokenizer) (*staticModel, error) {
	name, err := source.firstPresent(staticNames...)
	if err != nil {
		return nil, err
	}
	s := &staticModel{ignoredToken: t.unknownToken}
	if s.vectors, err = source.floats(name, -1, -1); err != nil {
		return nil, err
	}
	shape := source.entries[name].shape
	s.dims = int(shape[1])
	if len(s.vectors) == 0 {
		return nil, errors.New("a model without vectors")
	}
	rows := shape[0]
	if source.hasTensor("weights") {
		if s.weights, err = source.floats("weights", -1); err != nil {
			return nil, err
		}
		if len(s.weights) < int(t.vocabularySize) {
			return nil, fmt.Errorf("weights for only %d of %d tokens", len(s.weights), t.vocabularySize)
		}
	}
	if !source.hasTensor("mapping") {
		if rows < int64(t.vocabularySize) {
			return nil, fmt.Errorf("vectors for only %d of %d tokens: the tokenizer belongs to another model", rows, t.vocabularySize)
		}
		return s, nil
	}
	mapping, err := source.ints("mapping")
	if err != nil {
		return nil, err
	}
	if len(mapping) < int(t.vocabularySize) {
		return nil, fmt.Errorf("a mapping of only %d tokens, but the tokenizer has %d", len(mapping), t.vocabularySize)
	}
	for token, row := range mapping {
		if row < 0 || row >= rows {
			return nil, fmt.Errorf("token %d has vector %d, but there are only %d vectors", token, row, rows)
		}
		s.rowByToken = append(s.rowByToken, int32(row))
	}
	return s, nil
}

func (s *staticModel) embed(ids []int32) []float32 {
	sum := make([]float32, s.dims)
	for _, id := range ids {
		if id == s.ignoredToken {
			continue
		}
		row, weight := int(id), float32(1)
		if s.rowByToken != nil {
			row = int(s.rowByToken[id])
		}
		if s.weights != nil {
			weight = s.weights[id]
		}
		for k, x := range s.vectors[row*s.dims:][:s.dims] {
			sum[k] += weight * x
		}
	}
	return normalized(sum)
}

// normalized scales v to length 1. A zero vector, such as that of a text without any token of the model,
// becomes (1, 0, 0, …).
func normalized(v []float32) []float32 {
	if !vector.Normalize(v) {
		clear(v)
		v[0] = 1
	}
	return v
}

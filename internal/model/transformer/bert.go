package transformer

import (
	"context"
	"fmt"
	"math"

	"github.com/loci-memory/loci/internal/tensor"
)

// encoder is a BERT: token, position and type embeddings, then layers of attention
// and of a network with one inner layer, each added to what was before and
// normalized.
type encoder struct {
	hidden, inner, heads    int
	words, positions, types []float32 // hidden values for each
	norm                    tensor.Norm
	none                    []float32 // a bias of zeros
	layers                  []layer
}

type layer struct {
	query, both, out, up, down dense // both is keys and values beside each other
	attended, done             tensor.Norm
}

// dense is a fully connected layer.
type dense struct {
	weights *tensor.Weights
	bias    []float32
}

// loader reads an encoder's tensors, until one of them fails.
type loader struct {
	from   *tensors
	prefix string
	err    error
}

func (l *loader) floats(name string, shape ...int64) []float32 {
	if l.err != nil {
		return nil
	}
	v, err := l.from.floats(l.prefix+name, shape...)
	l.err = err
	return v
}

// dense reads layers of one input width and puts them beside each other.
func (l *loader) dense(in, out int, names ...string) dense {
	var weights, bias []float32
	for _, name := range names {
		weights = append(weights, l.floats(name+".weight", int64(out), int64(in))...)
		bias = append(bias, l.floats(name+".bias", int64(out))...)
	}
	if l.err != nil {
		return dense{}
	}
	return dense{tensor.Pack(weights, in), bias}
}

func (l *loader) norm(name string, width int, eps float32) tensor.Norm {
	gain, shift := name+".weight", name+".bias"
	if l.from.has(l.prefix + name + ".gamma") { // as the first checkpoints have it
		gain, shift = name+".gamma", name+".beta"
	}
	return tensor.Norm{Gain: l.floats(gain, int64(width)), Shift: l.floats(shift, int64(width)), Eps: eps}
}

// readEncoder reads an encoder whose tensors' names begin with the prefix.
func readEncoder(from *tensors, prefix string, c *config) (*encoder, error) {
	l := &loader{from: from, prefix: prefix}
	h := int64(c.Hidden)
	e := &encoder{
		hidden: c.Hidden, inner: c.Inner, heads: c.Heads,
		words:     l.floats("embeddings.word_embeddings.weight", int64(c.Vocabulary), h),
		positions: l.floats("embeddings.position_embeddings.weight", int64(c.Positions), h),
		types:     l.floats("embeddings.token_type_embeddings.weight", int64(c.Types), h),
		norm:      l.norm("embeddings.LayerNorm", c.Hidden, c.eps()),
		none:      make([]float32, c.Hidden),
	}
	for i := 0; i < c.Layers && l.err == nil; i++ {
		l.prefix = fmt.Sprintf("%sencoder.layer.%d.", prefix, i)
		e.layers = append(e.layers, layer{
			query:    l.dense(c.Hidden, c.Hidden, "attention.self.query"),
			both:     l.dense(c.Hidden, c.Hidden, "attention.self.key", "attention.self.value"),
			out:      l.dense(c.Hidden, c.Hidden, "attention.output.dense"),
			attended: l.norm("attention.output.LayerNorm", c.Hidden, c.eps()),
			up:       l.dense(c.Hidden, c.Inner, "intermediate.dense"),
			down:     l.dense(c.Inner, c.Hidden, "output.dense"),
			done:     l.norm("output.LayerNorm", c.Hidden, c.eps()),
		})
	}
	return e, l.err
}

// sequence is one row of tokens for the encoder: a text, a part of one, or a pair.
type sequence struct {
	ids   []int32
	first int // of the tokens are of type 0, the others of type 1
}

// run is what one pass through the encoder works in; it is used again.
type run struct {
	x, q, both, seen, inner, scores []float32
	keys, values                    tensor.Weights
}

// grown returns a slice of n values whose content does not matter.
func grown(v *[]float32, n int) []float32 {
	if cap(*v) < n {
		*v = make([]float32, n)
	}
	*v = (*v)[:n]
	return *v
}

// A few rows at a time pass through the inner layer, and as many questions through
// attention, so that they stay in the processor's second cache.
const (
	innerRows    = 96
	questionRows = 48
)

// encode passes sequences, of different lengths and without padding, through the
// layers. It returns the vectors of all tokens, one sequence after the other, or,
// if only the first token of each matters, these alone: the last layer then has
// little to do. The result is part of r.
func (e *encoder) encode(ctx context.Context, r *run, texts []sequence, firstOnly bool) ([]float32, error) {
	x := e.embed(r, texts)
	for i := range e.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x = e.layer(r, &e.layers[i], x, texts, firstOnly && i == len(e.layers)-1)
	}
	return x, nil
}

// embed looks up each token and adds where it stands and what it is of.
func (e *encoder) embed(r *run, texts []sequence) []float32 {
	total, h := 0, e.hidden
	for _, t := range texts {
		total += len(t.ids)
	}
	x := grown(&r.x, total*h)
	at := x
	for _, t := range texts {
		for i, id := range t.ids {
			kind := e.types[:h]
			if i >= t.first {
				kind = e.types[h:]
			}
			word, position := e.words[int(id)*h:][:h], e.positions[i*h:][:h]
			for k := range at[:h] {
				at[k] = word[k] + position[k] + kind[k]
			}
			e.norm.Apply(at[:h], e.none)
			at = at[h:]
		}
	}
	return x
}

func (e *encoder) layer(r *run, l *layer, x []float32, texts []sequence, firstOnly bool) []float32 {
	h := e.hidden
	both := l.both.apply(grown(&r.both, 2*len(x)), x)
	if firstOnly {
		at := 0
		for i, t := range texts { // what lies there is of a row before, or of this one
			copy(x[i*h:][:h], x[at:])
			at += len(t.ids) * h
		}
		x = x[:len(texts)*h]
	}
	q := l.query.apply(grown(&r.q, len(x)), x)
	seen := grown(&r.seen, len(x))
	for _, t := range texts {
		rows := len(t.ids)
		if firstOnly {
			rows = 1
		}
		e.attend(r, seen[:rows*h], q[:rows*h], both[:len(t.ids)*2*h])
		seen, q, both = seen[rows*h:], q[rows*h:], both[len(t.ids)*2*h:]
	}
	tensor.Multiply(e.rows(x), e.rows(r.seen), l.out.weights, true)
	e.normalize(x, &l.attended, l.out.bias)

	inner := grown(&r.inner, min(innerRows, len(x)/h)*e.inner)
	for rest := x; len(rest) > 0; {
		n := min(innerRows, len(rest)/h)
		some := e.rows(rest[:n*h])
		tensor.Multiply(tensor.Matrix{Data: inner, Stride: e.inner}, some, l.up.weights, false)
		for i := range n {
			tensor.GELU(inner[i*e.inner:][:e.inner], l.up.bias)
		}
		tensor.Multiply(some, tensor.Matrix{Data: inner, Stride: e.inner, Rows: n}, l.down.weights, true)
		rest = rest[n*h:]
	}
	e.normalize(x, &l.done, l.down.bias)
	return x
}

// attend lets each question see the values of one sequence, as far as its keys are
// like the question. It goes head by head.
func (e *encoder) attend(r *run, seen, q, both []float32) {
	h, width := e.hidden, e.hidden/e.heads
	tokens, scale := len(both)/(2*h), float32(1/math.Sqrt(float64(width)))
	for head := range e.heads {
		r.keys.PackColumns(both[head*width:], 2*h, width, tokens)
		r.values.PackRows(both[h+head*width:], 2*h, tokens, width)
		stride := r.keys.Whole().Width()
		for at := 0; at < len(q); at += questionRows * h {
			n := min(questionRows, (len(q)-at)/h)
			scores := tensor.Matrix{Data: grown(&r.scores, n*stride), Stride: stride, Rows: n}
			tensor.Multiply(scores, tensor.Matrix{Data: q[at+head*width:], Stride: h, Rows: n}, &r.keys, false)
			for i := range n {
				tensor.Softmax(scores.Data[i*stride:][:stride], tokens, scale)
			}
			tensor.Multiply(tensor.Matrix{Data: seen[at+head*width:], Stride: h}, scores, &r.values, false)
		}
	}
}

// apply sets dst to the layer's output for rows of x.
func (d dense) apply(dst, x []float32) []float32 {
	width := d.weights.Width()
	rows := len(x) / d.weights.Depth()
	for i := range rows {
		copy(dst[i*width:], d.bias)
	}
	tensor.Multiply(tensor.Matrix{Data: dst, Stride: width}, tensor.Matrix{Data: x, Stride: d.weights.Depth(), Rows: rows}, d.weights, true)
	return dst
}

func (e *encoder) rows(x []float32) tensor.Matrix {
	return tensor.Matrix{Data: x, Stride: e.hidden, Rows: len(x) / e.hidden}
}

func (e *encoder) normalize(x []float32, n *tensor.Norm, bias []float32) {
	for at := 0; at < len(x); at += e.hidden {
		n.Apply(x[at:at+e.hidden], bias)
	}
}

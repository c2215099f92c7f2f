package transformer

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

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

// run is what one goroutine works in; it is used again.
type run struct {
	x, q, seen, first, inner, scores []float32
	both                             [2][]float32
	keys, values                     tensor.Weights
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

// pass is one way of a group of sequences through the layers, by one goroutine or
// several, each of which computes its share of the rows. They wait for each other
// once a layer: until the keys and values of all rows are there. Those of the next
// layer go elsewhere, as some may still read the last.
type pass struct {
	*encoder
	texts     []sequence
	tokens    int
	team      []*run
	firstOnly bool
	arrived   atomic.Int64
	ended     atomic.Int64 // the layer before which the context was found to have ended
}

// encode passes sequences, of different lengths and without padding, through the
// layers, with as many goroutines as there are runs. It returns the vectors of all
// tokens, one sequence after the other, or, if only the first token of each matters,
// these alone: the last layer then has little to do. The result is part of the
// first run.
func (e *encoder) encode(ctx context.Context, team []*run, texts []sequence, firstOnly bool) ([]float32, error) {
	p := &pass{encoder: e, texts: texts, team: team, firstOnly: firstOnly}
	p.ended.Store(-1)
	for _, t := range texts {
		p.tokens += len(t.ids)
	}
	lead := team[0]
	x := grown(&lead.x, p.tokens*e.hidden)
	grown(&lead.q, len(x))
	grown(&lead.seen, len(x))
	for i := range min(len(team), len(lead.both)) {
		grown(&lead.both[i], 2*len(x))
	}
	if firstOnly {
		x = grown(&lead.first, len(texts)*e.hidden)
	}
	var others sync.WaitGroup
	for i := 1; i < len(team); i++ {
		others.Go(func() { p.work(ctx, i) })
	}
	p.work(ctx, 0)
	others.Wait()
	if p.ended.Load() >= 0 {
		return nil, ctx.Err()
	}
	return x, nil
}

// share returns which of so many rows are the given member's.
func (p *pass) share(rows, member int) (from, to int) {
	return rows * member / len(p.team), rows * (member + 1) / len(p.team)
}

func (p *pass) work(ctx context.Context, member int) {
	h, lead, own := p.hidden, p.team[0], p.team[member]
	from, to := p.share(p.tokens, member)
	x := lead.x[from*h : to*h]
	p.embed(x, from)
	for i := range p.layers {
		l, all := &p.layers[i], lead.both[i%min(len(p.team), len(lead.both))]
		l.both.apply(all[2*from*h:2*to*h], x)
		if member == 0 && ctx.Err() != nil {
			p.ended.Store(int64(i))
		}
		if p.await(i + 1); p.ended.Load() == int64(i) {
			return
		}
		if p.firstOnly && i == len(p.layers)-1 {
			p.firsts(own, l, member, all)
			return
		}
		q, seen := l.query.apply(lead.q[from*h:to*h], x), lead.seen[from*h:to*h]
		start := 0
		for _, t := range p.texts {
			end := start + len(t.ids)
			if low, high := max(start, from), min(end, to); low < high {
				p.attend(own, seen[(low-from)*h:(high-from)*h], q[(low-from)*h:(high-from)*h], all[2*start*h:2*end*h])
			}
			start = end
		}
		p.finish(own, l, x, seen)
	}
}

// firsts does what is left of the last layer for the first token of each sequence.
func (p *pass) firsts(own *run, l *layer, member int, both []float32) {
	h, lead := p.hidden, p.team[0]
	from, to := p.share(len(p.texts), member)
	x, seen := lead.first[from*h:to*h], lead.seen[from*h:to*h]
	start := 0
	for i, t := range p.texts {
		if i >= from && i < to {
			copy(lead.first[i*h:][:h], lead.x[start*h:])
		}
		start += len(t.ids)
	}
	q := l.query.apply(lead.q[from*h:to*h], x)
	start = 0
	for i, t := range p.texts {
		end := start + len(t.ids)
		if i >= from && i < to {
			p.attend(own, seen[(i-from)*h:][:h], q[(i-from)*h:][:h], both[2*start*h:2*end*h])
		}
		start = end
	}
	p.finish(own, l, x, seen)
}

// await waits until every member has come here so many times. It does not sleep: the
// others are nearly there.
func (p *pass) await(times int) {
	p.arrived.Add(1)
	for p.arrived.Load() < int64(times*len(p.team)) {
		runtime.Gosched()
	}
}

// embed looks up the tokens of the rows of x, of which the first has the given number,
// and adds where each stands and what it is of.
func (p *pass) embed(x []float32, from int) {
	h, row := p.hidden, 0
	for _, t := range p.texts {
		for i, id := range t.ids {
			if row++; row <= from || len(x) == 0 {
				continue
			}
			kind := p.types[:h]
			if i >= t.first {
				kind = p.types[h:]
			}
			word, position := p.words[int(id)*h:][:h], p.positions[i*h:][:h]
			for k := range x[:h] {
				x[k] = word[k] + position[k] + kind[k]
			}
			p.norm.Apply(x[:h], p.none)
			x = x[h:]
		}
	}
}

// finish takes rows from what attention saw to the layer's end. Each row is on its own.
func (e *encoder) finish(own *run, l *layer, x, seen []float32) {
	h := e.hidden
	tensor.Multiply(e.rows(x), e.rows(seen), l.out.weights, true)
	e.normalize(x, &l.attended, l.out.bias)

	inner := grown(&own.inner, min(innerRows, len(x)/h)*e.inner)
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

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

// encoder is a BERT or an XLM-RoBERTa: token, position and type embeddings, then layers of attention and a
// feed-forward network, each with a residual connection and normalization.
type encoder struct {
	hidden, inner, heads int
	words                table     // one row for each token of the vocabulary
	positions, types     []float32 // rows with hidden values each
	norm                 tensor.Norm
	none                 []float32 // a bias of zeros
	layers               []layer
}

type layer struct {
	query, key, value, out, up, down dense
	attended, done                   tensor.Norm
}

// dense is a fully connected layer.
type dense struct {
	weights *tensor.Weights
	bias    []float32
}

// tensorLoader reads an encoder's tensors. err is the first error; later reads do nothing.
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

func (l *loader) table(name string, rows, width int) (out table) {
	if l.err == nil {
		out, l.err = readTable(l.from, l.prefix+name, rows, width)
	}
	return out
}

func (l *loader) dense(in, out int, name string) dense {
	weights, bias := l.floats(name+".weight", int64(out), int64(in)), l.floats(name+".bias", int64(out))
	if l.err != nil {
		return dense{}
	}
	return dense{tensor.Pack(weights, in), bias}
}

func (l *loader) norm(name string, width int, eps float32) tensor.Norm {
	gain, shift := name+".weight", name+".bias"
	if l.from.has(l.prefix + name + ".gamma") { // names in the oldest model files
		gain, shift = name+".gamma", name+".beta"
	}
	return tensor.Norm{Gain: l.floats(gain, int64(width)), Shift: l.floats(shift, int64(width)), Eps: eps}
}

// readEncoder reads an encoder whose tensor names begin with prefix.
func readEncoder(from *tensors, prefix string, c *config) (*encoder, error) {
	l := &loader{from: from, prefix: prefix}
	h := int64(c.Hidden)
	e := &encoder{
		hidden: c.Hidden, inner: c.Inner, heads: c.Heads,
		words:     l.table("embeddings.word_embeddings.weight", c.Vocabulary, c.Hidden),
		positions: l.floats("embeddings.position_embeddings.weight", int64(c.Positions), h),
		types:     l.floats("embeddings.token_type_embeddings.weight", int64(c.Types), h),
		norm:      l.norm("embeddings.LayerNorm", c.Hidden, c.eps()),
		none:      make([]float32, c.Hidden),
	}
	if l.err == nil {
		e.positions = e.positions[c.firstPosition()*c.Hidden:]
	}
	for i := 0; i < c.Layers && l.err == nil; i++ {
		l.prefix = fmt.Sprintf("%sencoder.layer.%d.", prefix, i)
		e.layers = append(e.layers, layer{
			query:    l.dense(c.Hidden, c.Hidden, "attention.self.query"),
			key:      l.dense(c.Hidden, c.Hidden, "attention.self.key"),
			value:    l.dense(c.Hidden, c.Hidden, "attention.self.value"),
			out:      l.dense(c.Hidden, c.Hidden, "attention.output.dense"),
			attended: l.norm("attention.output.LayerNorm", c.Hidden, c.eps()),
			up:       l.dense(c.Hidden, c.Inner, "intermediate.dense"),
			down:     l.dense(c.Inner, c.Hidden, "output.dense"),
			done:     l.norm("output.LayerNorm", c.Hidden, c.eps()),
		})
	}
	return e, l.err
}

// sequence is an input of the encoder: a text, a part of a text, or a pair of texts.
type sequence struct {
	ids   []int32
	first int // number of leading tokens of type 0; the following tokens have type 1
}

// workspace is the reusable memory of one goroutine.
type run struct {
	buffers
	scores       []float32
	keys, values tensor.Weights
}

// buffers hold rows between layers.
type buffers struct {
	x, q, seen, sum, inner, first []float32
	k, v                          [2][]float32 // keys and values of this layer and, in a team, of the previous layer, which other members may still read
}

// resized returns a slice of n values with undefined content, and stores it in v.
func resized(v *[]float32, n int) []float32 {
	if cap(*v) < n {
		*v = make([]float32, n)
	}
	*v = (*v)[:n]
	return *v
}

// Numbers of rows that the inner layer, and of queries that the attention processes at once, so that they fit
// into the L2 cache.
const (
	innerRows    = 128
	questionRows = 48
)

// minRowsPerMember is the number of rows per member below which reading weights takes longer than computing.
const fewRows = 24

// pass is one pass of a group of sequences through the layers, by one goroutine or a team. Each member
// computes its share of the rows, and the members synchronize once per layer, when the keys and values of all
// rows are ready. With few rows, each member instead computes all rows for a share of the attention heads and
// columns, so that it reads only its share of the weights. The members then synchronize after each product,
// and each member normalizes all rows.
type pass struct {
	*encoder
	texts     []sequence
	tokens    int
	team      []*run
	byColumns bool
	firstOnly bool
	arrived   atomic.Int64
	ended     atomic.Int64 // number of the layer in which a member noticed the end of the context; -1 before
	shared    buffers      // buffers of the first workspace
}

// encode passes sequences of any lengths, without padding, through the layers, with one goroutine per
// workspace; their number does not change the result. It returns the vectors of all tokens, sequence by
// sequence. With firstOnly it returns only the vectors of first tokens, which saves most of the last layer.
// The result is in the first workspace's buffers.
func (e *encoder) encode(ctx context.Context, team []*run, texts []sequence, firstOnly bool) ([]float32, error) {
	p := &pass{encoder: e, texts: texts, team: team, firstOnly: firstOnly}
	p.ended.Store(-1)
	for _, t := range texts {
		p.tokens += len(t.ids)
	}
	p.byColumns = len(team) > 1 && p.tokens < fewRows*len(team)
	lead, n := team[0], p.tokens*e.hidden
	for _, v := range []*[]float32{&lead.x, &lead.q, &lead.seen} {
		resized(v, n)
	}
	for i := range min(len(team), len(lead.k)) {
		resized(&lead.k[i], n)
		resized(&lead.v[i], n)
	}
	if p.byColumns {
		resized(&lead.sum, n)
		resized(&lead.inner, p.tokens*e.inner)
	}
	out := lead.x
	if firstOnly {
		out = resized(&lead.first, len(texts)*e.hidden)
	}
	p.shared = lead.buffers
	var others sync.WaitGroup
	for i := 1; i < len(team); i++ {
		others.Go(func() { p.member(i).work(ctx) })
	}
	p.member(0).work(ctx)
	others.Wait()
	if p.ended.Load() >= 0 {
		return nil, ctx.Err()
	}
	return out, nil
}

type member struct {
	*pass
	*run
	number                     int
	rows                       span // the member's share of rows
	ofHeads, ofHidden, ofInner span // the member's share of the columns of attention, of a layer's output, and of the inner layer
	waits                      int  // how often the member has synchronized
}

// span is a range [from, to) of rows or columns.
type span struct{ from, to int }

func (p *pass) member(number int) *member {
	m := &member{pass: p, run: p.team[number], number: number}
	m.rows = m.rowsOf(p.tokens)
	m.ofHeads, m.ofHidden, m.ofInner = span{0, p.hidden}, span{0, p.hidden}, span{0, p.inner}
	if p.byColumns {
		together := p.hidden / p.heads // columns of the heads that fill whole panels
		for together%tensor.Panel != 0 {
			together += p.hidden / p.heads
		}
		m.ofHeads = m.share(p.hidden, together)
		m.ofHidden = m.share(p.hidden, tensor.Panel)
		m.ofInner = m.share(p.encoder.inner, tensor.Panel)
	}
	return m
}

// rowShare returns the member's share of n rows.
func (m *member) rowsOf(n int) span {
	if m.byColumns {
		return span{0, n}
	}
	return m.share(n, 1)
}

// share returns the member's share of n items. All members' shares begin at multiples of unit.
func (m *member) share(n, unit int) span {
	units, team := (n+unit-1)/unit, len(m.team)
	return span{min(n, units*m.number/team*unit), min(n, units*(m.number+1)/team*unit)}
}

// computeLayers passes the member's share of the rows or columns through the layers.
func (m *member) work(ctx context.Context) {
	h := m.hidden
	x := m.shared.x[m.rows.from*h : m.rows.to*h]
	sum := x // input of the normalization
	if m.byColumns {
		x, sum = resized(&m.x, len(x)), m.shared.sum
	}
	m.embed(x)
	for i := range m.layers {
		l, last := &m.layers[i], m.firstOnly && i == len(m.layers)-1
		if m.number == 0 && ctx.Err() != nil {
			m.ended.Store(int64(i))
		}
		turn := i % min(len(m.team), len(m.shared.k))
		k, v := m.shared.k[turn], m.shared.v[turn]
		l.key.columns(k[m.rows.from*h:], x, m.ofHeads)
		l.value.columns(v[m.rows.from*h:], x, m.ofHeads)
		m.await(!m.byColumns) // each member has all keys of its own heads
		if last {
			x = m.firsts()
			if sum = sum[:len(x)]; !m.byColumns {
				sum = x
			}
		}
		l.query.columns(m.shared.q[m.rows.from*h:], x, m.ofHeads)
		m.attend(k, v, !last)
		if m.await(m.byColumns); m.ended.Load() == int64(i) {
			return
		}
		l.out.added(sum, x, m.shared.seen[m.rows.from*h:m.rows.to*h], m.ofHidden)
		m.await(m.byColumns)
		m.normalize(x, sum, &l.attended, l.out.bias)
		m.pastInner(l, sum, x)
		m.await(m.byColumns)
		m.normalize(x, sum, &l.done, l.down.bias)
	}
}

// await waits until every member has called it, if needed is true. It spins, because the other members arrive
// soon.
func (m *member) await(needed bool) {
	if !needed {
		return
	}
	m.waits++
	m.arrived.Add(1)
	for tries := 0; m.arrived.Load() < int64(m.waits*len(m.team)); tries++ {
		if tries > 500 { // 500 tries take less than a microsecond, about the time of a thread switch
			runtime.Gosched()
		}
	}
}

// embed sets the member's rows to the sums of token, position and type embeddings.
func (m *member) embed(x []float32) {
	h, row := m.hidden, 0
	for _, t := range m.texts {
		for i, id := range t.ids {
			if row++; row <= m.rows.from || row > m.rows.to {
				continue
			}
			kind := m.types[:h]
			if i >= t.first {
				kind = m.types[h:]
			}
			m.words.row(x[:h], int(id))
			position := m.positions[i*h:][:h]
			for k := range x[:h] {
				x[k] = x[k] + position[k] + kind[k]
			}
			m.norm.Apply(x[:h], x[:h], m.none)
			x = x[h:]
		}
	}
}

// firstRows returns the member's rows of the sequences' first tokens.
func (m *member) firsts() []float32 {
	h, all, to := m.hidden, m.shared.x, m.shared.first
	if m.byColumns {
		all, to = m.x, resized(&m.first, len(m.texts)*h)
	}
	m.rows = m.rowsOf(len(m.texts))
	for i, t := range m.texts {
		if i >= m.rows.from && i < m.rows.to {
			copy(to[i*h:][:h], all)
		}
		all = all[len(t.ids)*h:]
	}
	return to[m.rows.from*h : m.rows.to*h]
}

// attend computes attention for the member's queries, head by head. The queries come from every token or, if
// everyToken is false, from each sequence's first token.
func (m *member) attend(k, v []float32, everyToken bool) {
	h, width := m.hidden, m.hidden/m.heads
	scale := float32(1 / math.Sqrt(float64(width)))
	token, row := 0, 0
	for _, t := range m.texts {
		tokens, questions := len(t.ids), 1
		if everyToken {
			questions = tokens
		}
		from, to := max(row, m.rows.from), min(row+questions, m.rows.to)
		for c := m.ofHeads.from; c < m.ofHeads.to && from < to; c += width {
			m.keys.PackColumns(k[token*h+c:], h, width, tokens)
			m.values.PackRows(v[token*h+c:], h, tokens, width)
			stride := m.keys.Whole().Width()
			for at := from; at < to; at += questionRows {
				n := min(questionRows, to-at)
				scores := tensor.Matrix{Data: resized(&m.scores, n*stride), Stride: stride, Rows: n}
				tensor.Multiply(scores, tensor.Matrix{Data: m.shared.q[at*h+c:], Stride: h, Rows: n}, &m.keys, tensor.Matrix{})
				for i := range n {
					tensor.Softmax(scores.Data[i*stride:][:stride], tokens, scale)
				}
				tensor.Multiply(tensor.Matrix{Data: m.shared.seen[at*h+c:], Stride: h}, scores, &m.values, tensor.Matrix{})
			}
		}
		token, row = token+tokens, row+questions
	}
}

// addInner sets sum to x plus the output of the inner layer.
func (m *member) pastInner(l *layer, sum, x []float32) {
	h, width := m.hidden, m.encoder.inner
	all := len(x) / h
	parts := (all + innerRows - 1) / innerRows
	for i := range parts {
		from, to := all*i/parts, all*(i+1)/parts
		some, inner := x[from*h:to*h], m.shared.inner
		if !m.byColumns {
			inner = resized(&m.run.inner, (to-from)*width)
		}
		inner = inner[:(to-from)*width]
		l.up.columns(inner, some, m.ofInner)
		for at := 0; at < len(inner); at += width {
			tensor.GELU(inner[at+m.ofInner.from : at+m.ofInner.to])
		}
		m.await(m.byColumns) // too few columns for several parts
		l.down.added(sum[from*h:], some, inner, m.ofHidden)
	}
}

// normalize sets the rows of dst to the normalized rows of x plus bias.
func (m *member) normalize(dst, x []float32, n *tensor.Norm, bias []float32) {
	for at := 0; at < len(x); at += m.hidden {
		n.Apply(dst[at:at+m.hidden], x[at:at+m.hidden], bias)
	}
}

// apply sets dst to the layer's output for the rows of x.
func (d dense) apply(dst, x []float32) []float32 {
	d.columns(dst, x, span{0, d.weights.Width()})
	return dst
}

// applyColumns sets the columns s of dst to the layer's output for the rows of x.
func (d dense) columns(dst, x []float32, s span) {
	d.multiply(dst, x, s, tensor.Matrix{Data: d.bias[s.from:s.to]})
}

// addColumns sets the columns s of dst to those of old plus the layer's output for the rows of x, without
// bias.
func (d dense) added(dst, old, x []float32, s span) {
	d.multiply(dst, x, s, tensor.Matrix{Data: old[s.from:], Stride: d.weights.Width()})
}

func (d dense) multiply(dst, x []float32, s span, from tensor.Matrix) {
	if s.from < s.to { // otherwise another member does all the work
		depth, width := d.weights.Depth(), d.weights.Width()
		a := tensor.Matrix{Data: x, Stride: depth, Rows: len(x) / depth}
		tensor.Multiply(tensor.Matrix{Data: dst[s.from:], Stride: width}, a, d.weights.Columns(s.from, s.to), from)
	}
}

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

// encoder is a BERT or an XLM-RoBERTa model: token, position and type embeddings, then layers of attention and
// a feed-forward network, each with a residual connection and normalization.
type encoder struct {
	hiddenSize, innerSize, headCount   int
	tokenEmbeddings                    embeddingTable // one row for each token of the vocabulary
	positionEmbeddings, typeEmbeddings []float32      // rows of hiddenSize values
	norm                               tensor.LayerNorm
	zeroBias                           []float32 // hiddenSize zeros, for a normalization without bias
	layers                             []layer
}

type layer struct {
	query, key, value, attentionOut, innerUp, innerDown dense
	attentionNorm, outputNorm                           tensor.LayerNorm
}

// dense is a fully connected layer.
type dense struct {
	weights *tensor.Weights
	bias    []float32
}

// tensorLoader reads an encoder's tensors. err is the first error; later reads do nothing.
type tensorLoader struct {
	source *tensors
	prefix string
	err    error
}

func (l *tensorLoader) floats(name string, shape ...int64) []float32 {
	if l.err != nil {
		return nil
	}
	v, err := l.source.floats(l.prefix+name, shape...)
	l.err = err
	return v
}

func (l *tensorLoader) table(name string, rows, width int) (out embeddingTable) {
	if l.err == nil {
		out, l.err = readTable(l.source, l.prefix+name, rows, width)
	}
	return out
}

func (l *tensorLoader) dense(in, out int, name string) dense {
	weights, bias := l.floats(name+".weight", int64(out), int64(in)), l.floats(name+".bias", int64(out))
	if l.err != nil {
		return dense{}
	}
	return dense{tensor.Pack(weights, in), bias}
}

func (l *tensorLoader) norm(name string, width int, eps float32) tensor.LayerNorm {
	gain, shift := name+".weight", name+".bias"
	if l.source.hasTensor(l.prefix + name + ".gamma") { // the oldest model files use the names gamma and beta
		gain, shift = name+".gamma", name+".beta"
	}
	return tensor.LayerNorm{Gain: l.floats(gain, int64(width)), Shift: l.floats(shift, int64(width)), Eps: eps}
}

// readEncoder reads an encoder whose tensor names begin with prefix.
func readEncoder(source *tensors, prefix string, c *config) (*encoder, error) {
	l := &tensorLoader{source: source, prefix: prefix}
	h := int64(c.HiddenSize)
	e := &encoder{
		hiddenSize: c.HiddenSize, innerSize: c.InnerSize, headCount: c.HeadCount,
		tokenEmbeddings:    l.table("embeddings.word_embeddings.weight", c.VocabularySize, c.HiddenSize),
		positionEmbeddings: l.floats("embeddings.position_embeddings.weight", int64(c.MaxPositions), h),
		typeEmbeddings:     l.floats("embeddings.token_type_embeddings.weight", int64(c.TokenTypes), h),
		norm:               l.norm("embeddings.LayerNorm", c.HiddenSize, c.normEpsilon()),
		zeroBias:           make([]float32, c.HiddenSize),
	}
	if l.err == nil {
		e.positionEmbeddings = e.positionEmbeddings[c.firstPosition()*c.HiddenSize:]
	}
	for i := 0; i < c.LayerCount && l.err == nil; i++ {
		l.prefix = fmt.Sprintf("%sencoder.layer.%d.", prefix, i)
		e.layers = append(e.layers, layer{
			query:         l.dense(c.HiddenSize, c.HiddenSize, "attention.self.query"),
			key:           l.dense(c.HiddenSize, c.HiddenSize, "attention.self.key"),
			value:         l.dense(c.HiddenSize, c.HiddenSize, "attention.self.value"),
			attentionOut:  l.dense(c.HiddenSize, c.HiddenSize, "attention.output.dense"),
			attentionNorm: l.norm("attention.output.LayerNorm", c.HiddenSize, c.normEpsilon()),
			innerUp:       l.dense(c.HiddenSize, c.InnerSize, "intermediate.dense"),
			innerDown:     l.dense(c.InnerSize, c.HiddenSize, "output.dense"),
			outputNorm:    l.norm("output.LayerNorm", c.HiddenSize, c.normEpsilon()),
		})
	}
	return e, l.err
}

// sequence is the tokens of an input of the encoder: of a text, a part of a text, or a pair of texts.
type sequence struct {
	ids          []int32
	firstTypeLen int // number of leading tokens of type 0; the following tokens have type 1
}

// workspace is the reusable memory of one goroutine.
type workspace struct {
	buffers
	scores       []float32
	keys, values tensor.Weights
}

// buffers hold rows between layers.
type buffers struct {
	x, q, attentionOutput, sums, inner, firstTokens []float32
	k, v                                            [2][]float32 // keys and values of this layer and, in a team, of the previous layer, which other members may still read
}

// resized returns a slice of n values with undefined content, and stores it in v.
func resized(v *[]float32, n int) []float32 {
	if cap(*v) < n {
		*v = make([]float32, n)
	}
	*v = (*v)[:n]
	return *v
}

// innerBatchRows is the number of rows that the inner layer processes at once, and queryBatchRows the number
// of queries that attention processes at once. The intermediate values then fit the L2 cache.
const (
	innerBatchRows = 128
	queryBatchRows = 48
)

// minRowsPerMember is the number of rows per team member below which reading the weights takes longer than
// computing, so that the members divide columns instead of rows.
const minRowsPerMember = 24

// pass is one pass of a group of sequences through the layers by a team of one or more goroutines. Each
// member computes a share of the rows (one row per token), and the members synchronize once per layer, when
// the keys and values of all rows are ready. With few rows, each member instead computes all rows for a share
// of the attention heads and columns, to read only a share of the weights. The members then synchronize after
// each product, and each member normalizes all rows.
type pass struct {
	*encoder
	sequences     []sequence
	tokenCount    int
	team          []*workspace
	splitsColumns bool
	firstOnly     bool
	arrivals      atomic.Int64
	endedLayer    atomic.Int64 // number of the layer in which the end of the context was noticed, where all members stop; -1 means none
	sharedBuffers buffers      // buffers of the first workspace, which all members use
}

// encode passes sequences of any lengths, without padding, through the layers, with one goroutine per
// workspace; the number of workspaces does not change the result. It returns the vectors of all tokens,
// sequence by sequence. With firstOnly it returns only the vectors of first tokens, which saves most of the
// last layer's time. The result is in the first workspace's buffers.
func (e *encoder) encode(ctx context.Context, team []*workspace, sequences []sequence, firstOnly bool) ([]float32, error) {
	p := &pass{encoder: e, sequences: sequences, team: team, firstOnly: firstOnly}
	p.endedLayer.Store(-1)
	for _, t := range sequences {
		p.tokenCount += len(t.ids)
	}
	p.splitsColumns = len(team) > 1 && p.tokenCount < minRowsPerMember*len(team)
	lead, n := team[0], p.tokenCount*e.hiddenSize
	for _, v := range []*[]float32{&lead.x, &lead.q, &lead.attentionOutput} {
		resized(v, n)
	}
	for i := range min(len(team), len(lead.k)) {
		resized(&lead.k[i], n)
		resized(&lead.v[i], n)
	}
	if p.splitsColumns {
		resized(&lead.sums, n)
		resized(&lead.inner, p.tokenCount*e.innerSize)
	}
	out := lead.x
	if firstOnly {
		out = resized(&lead.firstTokens, len(sequences)*e.hiddenSize)
	}
	p.sharedBuffers = lead.buffers
	var others sync.WaitGroup
	for i := 1; i < len(team); i++ {
		others.Go(func() { p.newMember(i).computeLayers(ctx) })
	}
	p.newMember(0).computeLayers(ctx)
	others.Wait()
	if p.endedLayer.Load() >= 0 {
		return nil, ctx.Err()
	}
	return out, nil
}

type teamMember struct {
	*pass
	*workspace
	number                                   int
	rows                                     span // rows that the member computes
	headColumns, hiddenColumns, innerColumns span // columns that the member computes: of attention, of a layer's output, and of the inner layer
	syncs                                    int  // number of the member's calls of await that waited
}

// span is a range [from, to) of rows or columns.
type span struct{ from, to int }

func (p *pass) newMember(number int) *teamMember {
	m := &teamMember{pass: p, workspace: p.team[number], number: number}
	m.rows = m.rowShare(p.tokenCount)
	m.headColumns, m.hiddenColumns, m.innerColumns = span{0, p.hiddenSize}, span{0, p.hiddenSize}, span{0, p.innerSize}
	if p.splitsColumns {
		together := p.hiddenSize / p.headCount // number of columns of the fewest heads that fill whole panels
		for together%tensor.PanelWidth != 0 {
			together += p.hiddenSize / p.headCount
		}
		m.headColumns = m.share(p.hiddenSize, together)
		m.hiddenColumns = m.share(p.hiddenSize, tensor.PanelWidth)
		m.innerColumns = m.share(p.encoder.innerSize, tensor.PanelWidth)
	}
	return m
}

func (m *teamMember) rowShare(n int) span {
	if m.splitsColumns {
		return span{0, n}
	}
	return m.share(n, 1)
}

// share returns the member's share of n items. All members' shares begin at multiples of unit.
func (m *teamMember) share(n, unit int) span {
	units, team := (n+unit-1)/unit, len(m.team)
	return span{min(n, units*m.number/team*unit), min(n, units*(m.number+1)/team*unit)}
}

// computeLayers passes the member's share of the rows or columns through the layers.
func (m *teamMember) computeLayers(ctx context.Context) {
	h := m.hiddenSize
	x := m.sharedBuffers.x[m.rows.from*h : m.rows.to*h]
	sum := x // input of the normalization: x plus the output of a layer
	if m.splitsColumns {
		x, sum = resized(&m.x, len(x)), m.sharedBuffers.sums
	}
	m.embedTokens(x)
	for i := range m.layers {
		l, last := &m.layers[i], m.firstOnly && i == len(m.layers)-1
		if m.number == 0 && ctx.Err() != nil {
			m.endedLayer.Store(int64(i))
		}
		turn := i % min(len(m.team), len(m.sharedBuffers.k))
		k, v := m.sharedBuffers.k[turn], m.sharedBuffers.v[turn]
		l.key.applyColumns(k[m.rows.from*h:], x, m.headColumns)
		l.value.applyColumns(v[m.rows.from*h:], x, m.headColumns)
		m.await(!m.splitsColumns) // when columns are split, each member computes all keys that its heads need
		if last {
			x = m.firstTokenRows()
			if sum = sum[:len(x)]; !m.splitsColumns {
				sum = x
			}
		}
		l.query.applyColumns(m.sharedBuffers.q[m.rows.from*h:], x, m.headColumns)
		m.attend(k, v, !last)
		if m.await(m.splitsColumns); m.endedLayer.Load() == int64(i) {
			return
		}
		l.attentionOut.addColumns(sum, x, m.sharedBuffers.attentionOutput[m.rows.from*h:m.rows.to*h], m.hiddenColumns)
		m.await(m.splitsColumns)
		m.normalize(x, sum, &l.attentionNorm, l.attentionOut.bias)
		m.addFeedForward(l, sum, x)
		m.await(m.splitsColumns)
		m.normalize(x, sum, &l.outputNorm, l.innerDown.bias)
	}
}

// await waits, if needed is true, until every member of the team has called await as often as this member. It
// spins, because the other members arrive within microseconds.
func (m *teamMember) await(needed bool) {
	if !needed {
		return
	}
	m.syncs++
	m.arrivals.Add(1)
	for tries := 0; m.arrivals.Load() < int64(m.syncs*len(m.team)); tries++ {
		if tries > 500 { // 500 tries take less than a microsecond, about the time of a thread switch
			runtime.Gosched()
		}
	}
}

// embedTokens sets x, the member's rows, to the normalized sums of token, position and type embeddings.
func (m *teamMember) embedTokens(x []float32) {
	h, row := m.hiddenSize, 0
	for _, t := range m.sequences {
		for i, id := range t.ids {
			if row++; row <= m.rows.from || row > m.rows.to {
				continue
			}
			kind := m.typeEmbeddings[:h]
			if i >= t.firstTypeLen {
				kind = m.typeEmbeddings[h:]
			}
			m.tokenEmbeddings.copyRow(x[:h], int(id))
			position := m.positionEmbeddings[i*h:][:h]
			for k := range x[:h] {
				x[k] = x[k] + position[k] + kind[k]
			}
			m.norm.Apply(x[:h], x[:h], m.zeroBias)
			x = x[h:]
		}
	}
}

// firstTokenRows copies the rows of the sequences' first tokens to a new list, and returns the member's share
// of the new list.
func (m *teamMember) firstTokenRows() []float32 {
	h, all, to := m.hiddenSize, m.sharedBuffers.x, m.sharedBuffers.firstTokens
	if m.splitsColumns {
		all, to = m.x, resized(&m.firstTokens, len(m.sequences)*h)
	}
	m.rows = m.rowShare(len(m.sequences))
	for i, t := range m.sequences {
		if i >= m.rows.from && i < m.rows.to {
			copy(to[i*h:][:h], all)
		}
		all = all[len(t.ids)*h:]
	}
	return to[m.rows.from*h : m.rows.to*h]
}

// attend computes attention for the member's rows of queries, head by head. There is a query for every token
// or, if everyToken is false, for each sequence's first token.
func (m *teamMember) attend(k, v []float32, everyToken bool) {
	h, width := m.hiddenSize, m.hiddenSize/m.headCount
	scale := float32(1 / math.Sqrt(float64(width)))
	token, row := 0, 0
	for _, t := range m.sequences {
		tokens, queryCount := len(t.ids), 1
		if everyToken {
			queryCount = tokens
		}
		from, to := max(row, m.rows.from), min(row+queryCount, m.rows.to)
		for c := m.headColumns.from; c < m.headColumns.to && from < to; c += width {
			m.keys.PackColumns(k[token*h+c:], h, width, tokens)
			m.values.PackRows(v[token*h+c:], h, tokens, width)
			stride := m.keys.IncludePadding().Width()
			for at := from; at < to; at += queryBatchRows {
				n := min(queryBatchRows, to-at)
				scores := tensor.Matrix{Data: resized(&m.scores, n*stride), Stride: stride, Rows: n}
				tensor.Multiply(scores, tensor.Matrix{Data: m.sharedBuffers.q[at*h+c:], Stride: h, Rows: n}, &m.keys, tensor.Matrix{})
				for i := range n {
					tensor.Softmax(scores.Data[i*stride:][:stride], tokens, scale)
				}
				tensor.Multiply(tensor.Matrix{Data: m.sharedBuffers.attentionOutput[at*h+c:], Stride: h}, scores, &m.values, tensor.Matrix{})
			}
		}
		token, row = token+tokens, row+queryCount
	}
}

// addFeedForward sets sum to x plus the output of the feed-forward network for the rows of x, without bias.
func (m *teamMember) addFeedForward(l *layer, sum, x []float32) {
	h, width := m.hiddenSize, m.encoder.innerSize
	all := len(x) / h
	parts := (all + innerBatchRows - 1) / innerBatchRows
	for i := range parts {
		from, to := all*i/parts, all*(i+1)/parts
		some, inner := x[from*h:to*h], m.sharedBuffers.inner
		if !m.splitsColumns {
			inner = resized(&m.workspace.inner, (to-from)*width)
		}
		inner = inner[:(to-from)*width]
		l.innerUp.applyColumns(inner, some, m.innerColumns)
		for at := 0; at < len(inner); at += width {
			tensor.GELU(inner[at+m.innerColumns.from : at+m.innerColumns.to])
		}
		m.await(m.splitsColumns) // when columns are split, there are so few rows that this loop runs once
		l.innerDown.addColumns(sum[from*h:], some, inner, m.hiddenColumns)
	}
}

// normalize sets the rows of dst to the normalized rows of x plus bias.
func (m *teamMember) normalize(dst, x []float32, n *tensor.LayerNorm, bias []float32) {
	for at := 0; at < len(x); at += m.hiddenSize {
		n.Apply(dst[at:at+m.hiddenSize], x[at:at+m.hiddenSize], bias)
	}
}

// apply sets dst to the layer's output for the rows of x.
func (d dense) apply(dst, x []float32) []float32 {
	d.applyColumns(dst, x, span{0, d.weights.Width()})
	return dst
}

// applyColumns sets the given columns of dst to the layer's output for the rows of x.
func (d dense) applyColumns(dst, x []float32, columns span) {
	d.multiply(dst, x, columns, tensor.Matrix{Data: d.bias[columns.from:columns.to]})
}

// addColumns sets the given columns of dst to those of residual plus the layer's output for the rows of x,
// without bias.
func (d dense) addColumns(dst, residual, x []float32, columns span) {
	d.multiply(dst, x, columns, tensor.Matrix{Data: residual[columns.from:], Stride: d.weights.Width()})
}

func (d dense) multiply(dst, x []float32, columns span, addend tensor.Matrix) {
	if columns.from < columns.to { // a team may have more members than there are columns to share
		depth, width := d.weights.Depth(), d.weights.Width()
		a := tensor.Matrix{Data: x, Stride: depth, Rows: len(x) / depth}
		tensor.Multiply(tensor.Matrix{Data: dst[columns.from:], Stride: width}, a, d.weights.Columns(columns.from, columns.to), addend)
	}
}

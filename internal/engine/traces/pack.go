package traces

import (
	"encoding/binary"
	"math"

	"github.com/loci-memory/loci/memory"
)

// TracePacker writes the memories of a trace as bytes, a tenth of what they take as
// values: every recall leaves a trace, and few are looked at. What it writes is read
// by unpackTrace of the same process, and nowhere kept.
//
//	list    its length, then its memories
//	memory  id, name of the kind, content, name of its owner, name of the stage that cut it, score, why
//	why     0 for none, or its length and 1, then names and numbers in turn
//	text    its length, then its bytes
//	name    its place among the names so far; one further, then the text, for another
//	number  ten thousandths, signed: as exact as anybody looks, and 0 for what is not a number
type TracePacker struct {
	B     []byte
	Names []string
	next  int // after the name that came last: names come in much the same order
}

// Memory packs one memory of a trace.
func (p *TracePacker) Memory(id string, kind memory.Kind, content string, owner memory.Owner, cut string, score float64, why memory.Why) {
	p.text(id)
	p.name(string(kind))
	p.text(content)
	p.name(string(owner))
	p.name(cut)
	p.number(score)
	if why == nil {
		p.Count(0)
		return
	}
	p.Count(len(why) + 1)
	for i := range why {
		p.name(why[i].Name)
		p.number(why[i].Value)
	}
}

// Count packs a number of things that follow.
func (p *TracePacker) Count(n int) { p.B = binary.AppendUvarint(p.B, uint64(n)) }

func (p *TracePacker) text(s string) {
	p.Count(len(s))
	p.B = append(p.B, s...)
}

func (p *TracePacker) name(s string) {
	for range p.Names {
		if p.next >= len(p.Names) {
			p.next = 0
		}
		p.next++
		if p.Names[p.next-1] == s {
			p.Count(p.next - 1)
			return
		}
	}
	p.Count(len(p.Names))
	p.text(s)
	p.Names = append(p.Names, s)
	p.next = len(p.Names)
}

// PackTrace returns the memories of a trace.
func PackTrace(t memory.Trace) []byte {
	var p TracePacker
	for _, hits := range [][]memory.TraceHit{t.Hits, t.Cut} {
		p.Count(len(hits))
		for _, h := range hits {
			p.Memory(h.ID, h.Kind, h.Content, h.Owner, h.Cut, h.Score, h.Why)
		}
	}
	return p.B
}

// How exactly a trace keeps numbers, and where it stops.
const (
	PerUnit   = 1e4
	MostUnits = 1 << 53
)

func (p *TracePacker) number(x float64) {
	if x = math.RoundToEven(x * PerUnit); math.IsNaN(x) {
		x = 0
	}
	p.B = binary.AppendVarint(p.B, int64(max(-MostUnits, min(MostUnits, x))))
}

// UnpackTrace puts the memories that were packed into a trace.
func UnpackTrace(t memory.Trace, b []byte) memory.Trace {
	u := traceUnpacker{b: b}
	t.Hits = u.memories()
	if cut := u.memories(); len(cut) > 0 {
		t.Cut = cut
	}
	return t
}

type traceUnpacker struct {
	b     []byte
	names []string
}

func (u *traceUnpacker) memories() []memory.TraceHit {
	hits := make([]memory.TraceHit, u.count())
	for i := range hits {
		h := &hits[i]
		h.ID, h.Kind, h.Content, h.Owner, h.Cut, h.Score = u.text(), memory.Kind(u.name()), u.text(), memory.Owner(u.name()), u.name(), u.number()
		if n := u.count(); n > 0 {
			h.Why = make(memory.Why, n-1)
			for j := range h.Why {
				h.Why[j] = memory.Part{Name: u.name(), Value: u.number()}
			}
		}
	}
	return hits
}

func (u *traceUnpacker) count() int {
	n, size := binary.Uvarint(u.b)
	u.b = u.b[size:]
	return int(n) //nolint:gosec // it was an int
}

func (u *traceUnpacker) text() string {
	n := u.count()
	s := string(u.b[:n])
	u.b = u.b[n:]
	return s
}

func (u *traceUnpacker) name() string {
	i := u.count()
	if i == len(u.names) {
		u.names = append(u.names, u.text())
	}
	return u.names[i]
}

func (u *traceUnpacker) number() float64 {
	n, size := binary.Varint(u.b)
	u.b = u.b[size:]
	return float64(n) / PerUnit
}

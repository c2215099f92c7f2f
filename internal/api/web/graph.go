package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// A graph of relations is drawn in columns: the fact in the middle, what points to it
// on the left, what it points to on the right, and on both sides what is one step
// further. Measures are pixels; wide ones are scrolled.
const (
	nodeWidth, nodeHeight   = 172, 46
	columnStep, rowStep     = 280, 62
	graphMargin             = 3
	nodeLetters, nodeLines  = 23, 2
	graphSteps, graphsFacts = 2, 24
)

// graph is what is drawn.
type graph struct {
	Width, Height int
	Nodes         []node
	Edges         []edge
	More          bool // there are others still
}

// node is a fact in a graph.
type node struct {
	memory.Fact
	X, Y  int
	Lines []string
	Here  bool // the one asked for
}

// Middle is the height of the middle of a node.
func (n node) Middle() int { return n.Y + nodeHeight/2 }

// edge is a relation in a graph.
type edge struct {
	Path  string
	X, Y  int // of its word
	Kind  string
	Ended bool // one of its facts is in recall no more
}

// kindWords are the relations in words: what the first is to the second.
var kindWords = map[memory.RelationKind]string{
	memory.SameSubject: "same subject as", memory.Refines: "refines", memory.Contradicts: "contradicts", memory.Follows: "follows",
}

// graphOf lays out a fact and what it is related to; nil where that is nothing.
func graphOf(r curate.Related) *graph {
	if len(r.Facts) < 2 {
		return nil
	}
	column := columnsOf(r)
	low, high := slices.Min(column), slices.Max(column)
	rows := map[int]int{}
	for _, c := range column {
		rows[c]++
	}
	most := 0
	for _, n := range rows {
		most = max(most, n)
	}
	g := &graph{
		Width:  (high-low)*columnStep + nodeWidth + 2*graphMargin,
		Height: (most-1)*rowStep + nodeHeight + 2*graphMargin,
		More:   r.More,
	}
	placed, at := map[int]int{}, map[string]int{}
	for i, f := range r.Facts {
		c := column[i]
		top := (g.Height - ((rows[c]-1)*rowStep + nodeHeight)) / 2
		at[f.ID] = i
		g.Nodes = append(g.Nodes, node{Fact: f, X: graphMargin + (c-low)*columnStep, Y: top + placed[c]*rowStep, Lines: wrapped(f.Content), Here: i == 0})
		placed[c]++
	}
	for _, t := range r.Relations {
		from, to := g.Nodes[at[t.From]], g.Nodes[at[t.To]]
		e := edgeOf(from, to)
		e.Kind = strings.TrimSuffix(cmp.Or(kindWords[t.Kind], string(t.Kind)), " as")
		e.Ended = !from.Status.Live() || !to.Status.Live()
		g.Edges = append(g.Edges, e)
	}
	return g
}

// columnsOf gives each fact its column: 0 for the first, one less or more than that of
// the fact that it was found by.
func columnsOf(r curate.Related) []int {
	column, step := make([]int, len(r.Facts)), map[string]int{}
	for i, f := range r.Facts {
		step[f.ID] = i
	}
	for i, f := range r.Facts[1:] {
		i++
		for _, t := range r.Relations {
			other, side := t.From, 1
			if t.From == f.ID {
				other, side = t.To, -1
			}
			if t.From != f.ID && t.To != f.ID {
				continue
			}
			o := step[other]
			if r.Steps[o] != r.Steps[i]-1 {
				continue
			}
			if column[o] != 0 { // further out, on the same side
				side = column[o] / max(column[o], -column[o])
			}
			column[i] = column[o] + side
			break
		}
	}
	return column
}

// edgeOf draws a line from one node to another, which leaves and ends at their sides.
func edgeOf(from, to node) edge {
	y1, y2 := from.Middle(), to.Middle()
	if from.X == to.X { // a bow beside the column
		x := from.X + nodeWidth
		return edge{Path: fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x, y1, x+44, y1, x+44, y2, x+4, y2), X: x + 36, Y: (y1 + y2) / 2}
	}
	x1, x2, gap := from.X+nodeWidth, to.X-4, (columnStep-nodeWidth)/2
	if from.X > to.X {
		x1, x2, gap = from.X, to.X+nodeWidth+4, -gap
	}
	return edge{Path: fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+gap, y1, x2-gap, y2, x2, y2), X: (x1 + x2) / 2, Y: (y1 + y2) / 2}
}

// wrapped breaks a text into the lines that a node has room for.
func wrapped(s string) []string {
	var lines []string
	line := []rune{}
	for word := range strings.FieldsSeq(s) {
		letters := []rune(word)
		if len(line) > 0 && len(line)+1+len(letters) > nodeLetters {
			lines, line = append(lines, string(line)), nil
		}
		if len(lines) == nodeLines {
			break
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, letters...)
		if len(line) > nodeLetters {
			line = append(line[:nodeLetters-1], '…')
		}
	}
	if len(lines) < nodeLines && len(line) > 0 {
		return append(lines, string(line))
	}
	if len(lines) == nodeLines && len(strings.Join(strings.Fields(s), " ")) > len(strings.Join(lines, " ")) {
		last := []rune(lines[nodeLines-1])
		lines[nodeLines-1] = strings.TrimSuffix(string(last[:min(len(last), nodeLetters-1)]), "…") + "…"
	}
	return lines
}

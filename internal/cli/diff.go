package cli

import "strings"

// piece is a run of words or lines that two texts share, or that one of them lacks.
type piece struct {
	sign byte // '=', '-' only in the old text, '+' only in the new one
	text string
}

// mostCells bounds the table that a diff fills. Beyond it all words differ.
const mostCells = 1 << 20

// diffWords returns the words of old and new in pieces, those that go before those
// that come.
func diffWords(old, new string) []piece {
	return diffOf(strings.Fields(old), strings.Fields(new), " ")
}

// diffOf is diffWords of any parts of a text, and between is what is between them.
func diffOf(a, b []string, between string) []piece {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	d := differ{between: between}
	d.add('=', a[:head]...)
	d.middle(a[head:len(a)-tail], b[head:len(b)-tail])
	d.add('=', a[len(a)-tail:]...)
	return d.pieces
}

type differ struct {
	pieces  []piece
	between string
}

func (d *differ) add(sign byte, words ...string) {
	text := strings.Join(words, d.between)
	last := len(d.pieces) - 1
	switch {
	case len(words) == 0:
	case last >= 0 && d.pieces[last].sign == sign:
		d.pieces[last].text += d.between + text
	default:
		d.pieces = append(d.pieces, piece{sign, text})
	}
}

// middle adds the longest common subsequence of words, and what is between.
func (d *differ) middle(a, b []string) {
	if len(a)*len(b) > mostCells {
		d.add('-', a...)
		d.add('+', b...)
		return
	}
	common := make([][]int, len(a)+1) // length of the longest one from a word on
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			d.add('=', a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			d.add('-', a[i])
			i++
		default:
			d.add('+', b[j])
			j++
		}
	}
}

// diff returns what new says instead of old: as [-gone-] and {+come+}, or in red and
// green.
func (s printer) diff(old, new string) string {
	var out []string
	for _, p := range diffWords(brief(old, 240), brief(new, 240)) {
		switch {
		case p.sign == '=':
			out = append(out, p.text)
		case p.sign == '-' && s.colour:
			out = append(out, s.in(red, p.text))
		case p.sign == '-':
			out = append(out, "[-"+p.text+"-]")
		case s.colour:
			out = append(out, s.in(green, p.text))
		default:
			out = append(out, "{+"+p.text+"+}")
		}
	}
	return strings.Join(out, " ")
}

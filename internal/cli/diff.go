package cli

import (
	"slices"
	"strings"
)

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
func diffOf(a, b []string, between string) (pieces []piece) {
	add := func(sign byte, parts ...string) {
		text, last := strings.Join(parts, between), len(pieces)-1
		switch {
		case len(parts) == 0:
		case last >= 0 && pieces[last].sign == sign:
			pieces[last].text += between + text
		default:
			pieces = append(pieces, piece{sign, text})
		}
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	add('=', a[:head]...)
	a, b = a[head:], b[head:]
	tail := 0
	for tail < min(len(a), len(b)) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	same := a[len(a)-tail:]
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	if len(a)*len(b) > mostCells {
		add('-', a...)
		add('+', b...)
		a, b = nil, nil
	}
	common := commonParts(a, b)
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			add('=', a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			add('-', a[i])
			i++
		default:
			add('+', b[j])
			j++
		}
	}
	add('=', same...)
	return pieces
}

// commonParts returns the length of the longest common subsequence from each part of both on.
func commonParts(a, b []string) [][]int {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); x == y {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}

// diff returns what new says instead of old: as [-gone-] and {+come+}, or in red and
// green.
func (s printer) diff(old, new string) string {
	var out []string
	for _, p := range diffWords(brief(old, 240), brief(new, 240)) {
		switch style := map[byte]string{'-': red, '+': green}[p.sign]; {
		case p.sign == '=':
			out = append(out, p.text)
		case s.colour:
			out = append(out, s.in(style, p.text))
		case p.sign == '-':
			out = append(out, "[-"+p.text+"-]")
		default:
			out = append(out, "{+"+p.text+"+}")
		}
	}
	return strings.Join(out, " ")
}

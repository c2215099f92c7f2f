package lazy

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostRequired bounds the words that are looked for before a pattern is tried: more cost
// more than they save.
const mostRequired = 12

// needs are strings of which every match of an expression contains one.
type needs struct {
	one  []string // nil: nothing is known
	fold bool     // in either case; then they are ASCII, in lower case
}

// in reports whether an expression may have a match in s.
func (w *needs) in(s string) bool {
	if w.one == nil {
		return true
	}
	has := strings.Contains
	if w.fold {
		has = hasFold
	}
	for _, word := range w.one {
		if has(s, word) {
			return true
		}
	}
	return w.fold && !ascii(s) // K is the sign of Kelvin, too
}

// required returns the words of an expression; none where they are too many, or so short
// that they are in most text.
func required(expr string) needs {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return needs{}
	}
	var fold bool
	one := requiredBy(re.Simplify(), &fold)
	if len(one) > mostRequired || shortest(one) < 2 {
		return needs{}
	}
	for i, word := range one {
		if fold && !ascii(word) {
			return needs{}
		}
		if fold {
			one[i] = strings.ToLower(word)
		}
	}
	slices.SortFunc(one, func(a, b string) int { return len(a) - len(b) })
	var out []string
	for _, word := range one { // one that holds another is found with it
		if !slices.ContainsFunc(out, func(o string) bool { return strings.Contains(word, o) }) {
			out = append(out, word)
		}
	}
	return needs{out, fold}
}

// requiredBy returns strings of which every match of a parsed expression contains one, and
// sets fold if some may be in either case.
func requiredBy(re *syntax.Regexp, fold *bool) []string {
	switch re.Op {
	case syntax.OpLiteral:
		*fold = *fold || re.Flags&syntax.FoldCase != 0
		return []string{string(re.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredBy(re.Sub[0], fold)
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredBy(re.Sub[0], fold)
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if one := requiredBy(sub, fold); tells(one, best) {
				best = one
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			one := requiredBy(sub, fold)
			if one == nil {
				return nil
			}
			all = append(all, one...)
		}
		return all
	}
	return nil
}

// tells reports whether one of some strings is in less text than one of others.
func tells(some, others []string) bool {
	if some == nil || others == nil {
		return some != nil
	}
	a, b := shortest(some), shortest(others)
	return a > b || a == b && len(some) < len(others)
}

// shortest returns the length of the shortest string in bytes, 0 of none. What nearly every
// fact begins with counts as one.
func shortest(of []string) int {
	least := 0
	for i, s := range of {
		n := len(s)
		if strings.Contains("user's ", s) {
			n = 1
		}
		if i == 0 || n < least {
			least = n
		}
	}
	return least
}

// hasFold reports whether s contains a word of ASCII in lower case, in either case.
func hasFold(s, word string) bool {
	for i := 0; i+len(word) <= len(s); i++ {
		if lowerByte(s[i]) == word[0] && strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

func lowerByte(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

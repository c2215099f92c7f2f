package text

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// TermHashes returns a hash of each of the [Terms] of s, in no order: what comparing
// texts takes. They are put where room has place for them. Two terms of one hash
// count as the same, which among 2⁶⁴ no talk is long enough to see. Another
// process has other hashes.
func TermHashes(room []uint64, s string) []uint64 {
	out := room[:0]
	add := func(term uint64) {
		if term != 0 {
			out = append(out, term)
		}
	}
	var folded [maxWord]byte
	var plain [32]plainWord
	words := 0
	look := func() { // for many at once: the processor waits for all of them together
		for _, w := range plain[:words] {
			term, ok := hashes.known(w.hash)
			if !ok {
				term = hashes.learn(w.hash, strings.ToLower(s[w.start:w.end]))
			}
			add(term)
		}
		words = 0
	}
	for i := 0; i < len(s); {
		if s[i] == ' ' {
			i++
			continue
		}
		// Most of what stands between spaces is a plain word, with a sign behind it.
		start, n := i, 0
		for ; i < len(s) && n < maxWord && letter(s[i]); i++ {
			folded[n] = s[i] | ' '
			n++
		}
		for i < len(s) && parts[s[i]] {
			i++
		}
		if i < len(s) && s[i] != ' ' {
			end := i + 1
			for end < len(s) && s[end] != ' ' {
				end++
			}
			EachWord(s[start:end], func(w string) { add(hashes.of(w)) })
			i = end
			continue
		}
		if n == 0 {
			continue
		}
		if words == len(plain) {
			look()
		}
		plain[words] = plainWord{maphash.Bytes(terms.seed, folded[:n]), start, start + n}
		words++
	}
	look()
	return out
}

// plainWord is a word of ASCII letters in a text, and the hash of it folded.
type plainWord struct {
	hash       uint64
	start, end int
}

func letter(c byte) bool { return 'a' <= c|' ' && c|' ' <= 'z' }

// parts are the ASCII signs behind which a word ends if a space follows.
var parts = func() (table [256]bool) {
	for c := range utf8.RuneSelf {
		table[c] = !inWord[c] && c != ' ' && c != '\''
	}
	return table
}()

// hashCache remembers the hashes of terms by those of their words, some 16,000 in
// 256 kB. A word's hash says which line of four may have it, the word that came
// last in front; a stop word's term is 0. No line is locked: check is the word's
// hash and the term's together, so that halves of two writers fit no word.
type hashCache [1 << 12][4]struct{ check, term atomic.Uint64 }

var hashes hashCache

func (c *hashCache) of(word string) uint64 {
	h := maphash.String(terms.seed, word)
	if term, ok := c.known(h); ok {
		return term
	}
	return c.learn(h, word)
}

func (c *hashCache) known(h uint64) (term uint64, ok bool) {
	line := &c[h%uint64(len(c))]
	for i := range line {
		if term = line[i].term.Load(); line[i].check.Load()^term == h {
			return term, true
		}
	}
	return 0, false
}

func (c *hashCache) learn(h uint64, word string) (term uint64) {
	if t := termOf(word); t != "" {
		term = maphash.String(terms.seed, t)
	}
	line := &c[h%uint64(len(c))]
	for i := len(line) - 1; i > 0; i-- {
		line[i].term.Store(line[i-1].term.Load())
		line[i].check.Store(line[i-1].check.Load())
	}
	line[0].term.Store(term)
	line[0].check.Store(h ^ term)
	return term
}

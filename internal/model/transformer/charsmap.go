package transformer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap is SentencePiece's table of character replacements: a double-array trie of texts, each with the
// offset of its replacement.
type charsmap struct {
	units        []uint32
	replacements []byte    // replacements, each with a terminating zero
	unchanged    [128]bool // ASCII characters without a replacement
}

// maxReplacement is the maximum length of a replacement in bytes, far above that in published tables. It limits
// how much a text can grow.
const maxReplacement = 256

// readCharsmap reads the table in tokenizer.json: the trie's length in bytes, the trie and the replacements,
// encoded as base64.
func readCharsmap(encoded string) (*charsmap, error) {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("precompiled_charsmap: %w", err)
	}
	if len(b) < 8 {
		return nil, errors.New("precompiled_charsmap: the data is cut off")
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > int64(len(b)) || n%4 != 0 || n == 0 {
		return nil, fmt.Errorf("precompiled_charsmap: a trie of %d bytes in only %d bytes", n, len(b))
	}
	c := &charsmap{units: make([]uint32, n/4), replacements: b[n:]}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	for to := range bytes.SplitSeq(c.replacements, []byte{0}) {
		if len(to) > maxReplacement || !utf8.Valid(to) {
			return nil, fmt.Errorf("precompiled_charsmap: a replacement of %d bytes is too long or not UTF-8", len(to))
		}
	}
	for b := range c.unchanged {
		_, replaced := c.findReplacement(string(rune(b)))
		c.unchanged[b] = !replaced
	}
	return c, nil
}

// findReplacement returns the replacement of the shortest prefix of s in the table. Units have the format of
// darts-clone: 8 bits of label, a flag for a value, and the offset of the children.
func (c *charsmap) findReplacement(s string) (replacement []byte, ok bool) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(c.units[0])
	for i := range len(s) {
		at ^= uint32(s[i])
		if s[i] == 0 || int64(at) >= int64(len(c.units)) {
			return nil, false
		}
		unit := c.units[at]
		if unit&(1<<31|0xff) != uint32(s[i]) {
			return nil, false
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if int64(at) >= int64(len(c.units)) {
			return nil, false
		}
		from := c.units[at] &^ (1 << 31)
		if int64(from) > int64(len(c.replacements)) {
			return nil, false
		}
		replacement, _, _ = bytes.Cut(c.replacements[from:], []byte{0})
		return replacement, true
	}
	return nil, false
}

// append appends s with replacements to dst. It follows Hugging Face's tokenizers, which differ slightly from
// SentencePiece: in a grapheme cluster of less than six bytes, the whole cluster is replaced by the replacement
// of its shortest prefix in the table. In a longer cluster each character is replaced separately.
func (c *charsmap) append(dst []byte, s string) []byte {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf && c.unchanged[b] && (i+1 == len(s) || s[i+1] < utf8.RuneSelf) {
			dst = append(dst, b)
			i++
			continue
		}
		g := graphemes.FromString(s[i:])
		g.Next()
		cluster := g.Value()
		i += len(cluster)
		if len(cluster) < 6 {
			if to, ok := c.findReplacement(cluster); ok {
				dst = append(dst, to...)
				continue
			}
		}
		for _, r := range cluster {
			var one [utf8.UTFMax]byte
			char := one[:utf8.EncodeRune(one[:], r)]
			if to, ok := c.findReplacement(string(char)); ok {
				char = to
			}
			dst = append(dst, char...)
		}
	}
	return dst
}

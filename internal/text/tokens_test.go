package text

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// plainTokens is [EstimateTokens] rune by rune.
func plainTokens(s string) int {
	tokens := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		english := func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }
		switch {
		case r == ' ':
			i += n
		case '0' <= r && r <= '9':
			end := runEnd(s, i, unicode.IsDigit)
			tokens, i = tokens+(end-i+2)/3, end
		case english(r):
			end := runEnd(s, i, english)
			tokens, i = tokens+wordTokenCount(end-i), end
		case unicode.IsLetter(r) || unicode.IsMark(r):
			tokens, i = tokens+1, i+n
		default:
			tokens, i = tokens+1, max(runEnd(s, i, func(next rune) bool { return next == r }), i+n)
		}
	}
	return tokens
}

func TestTokensAreThoseOfThePlainCount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	signs := []rune("abcXYZ  019.,!@[`{é東\u0301\ufffd\n\t_-")
	for range 50_000 {
		var b strings.Builder
		for range r.IntN(12) {
			if r.IntN(20) == 0 {
				b.WriteByte(byte(r.IntN(256))) // no UTF-8, often
				continue
			}
			b.WriteRune(signs[r.IntN(len(signs))])
		}
		if got, want := EstimateTokens(b.String()), plainTokens(b.String()); got != want {
			t.Fatalf("Tokens(%q) = %d, want %d", b.String(), got, want)
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	const s = "I went to the harbour with my sister on Sunday, and we bought 12 lanterns; she'd never been there before. What a day!"
	for name, tokens := range map[string]func(string) int{"tokens": EstimateTokens, "plain": plainTokens} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				tokens(s)
			}
		})
	}
}

package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordPiece splits a word into its longest prefix that is a token, then splits the remaining text in the same
// way. If no prefix is a token, the whole word is unknown.
type wordPiece struct {
	first   map[string]int32 // tokens at the beginning of words
	rest    map[string]int32 // tokens within words, without continuing_subword_prefix
	longest int              // length of the longest token in bytes
	most    int              // maximum number of characters of a word; longer words are unknown
	unknown int32
}

func (f *tokenizerFile) wordPiece(t *tokenizer) error {
	if f.PreTokenizer == nil || f.PreTokenizer.Type != "BertPreTokenizer" {
		return errors.New("WordPiece without BertPreTokenizer is not supported")
	}
	var vocab map[string]int32
	if err := json.Unmarshal(f.Model.Vocab, &vocab); err != nil {
		return fmt.Errorf("the vocabulary: %w", err)
	}
	return t.setWordPiece(vocab, f.Model.Unknown, f.Model.Prefix, f.Model.Most)
}

func (t *tokenizer) setWordPiece(vocab map[string]int32, unknown, prefix string, most int) error {
	id, ok := vocab[unknown]
	if !ok || prefix == "" || most < 1 || most > 1000 {
		return fmt.Errorf("unsupported WordPiece: unknown token %q, prefix %q, at most %d characters", unknown, prefix, most)
	}
	w := &wordPiece{first: map[string]int32{}, rest: map[string]int32{}, most: most, unknown: id}
	for token, id := range vocab {
		if id < 0 || id > 1<<24 {
			return fmt.Errorf("the token %q has number %d, want 0 to 2^24", token, id)
		}
		t.size = max(t.size, id+1)
		w.longest = max(w.longest, len(token))
		if rest, ok := strings.CutPrefix(token, prefix); ok && rest != "" {
			w.rest[rest] = id
		}
		w.first[token] = id
	}
	t.words, t.unknown = w, id
	return nil
}

// add splits at spaces and punctuation, and appends the tokens of the words.
func (w *wordPiece) add(ids []int32, text []byte) []int32 {
	start := 0
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		switch {
		case isSpace(r):
			ids = w.word(ids, text[start:i])
			start = i + size
		case isPunctuation(r):
			ids = w.word(ids, text[start:i])
			ids = w.word(ids, text[i:i+size])
			start = i + size
		}
		i += size
	}
	return w.word(ids, text[start:])
}

func (w *wordPiece) word(ids []int32, word []byte) []int32 {
	if len(word) == 0 {
		return ids
	}
	if id, ok := w.first[string(word)]; ok && len(word) <= w.most {
		return append(ids, id)
	}
	if len(word) > w.most && utf8.RuneCount(word) > w.most {
		return append(ids, w.unknown)
	}
	first, pieces := len(ids), w.first
	for len(word) > 0 {
		end := min(len(word), w.longest)
		for ; end > 0; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, ok := pieces[string(word[:end])]; ok {
				ids = append(ids, id)
				break
			}
		}
		if end == 0 {
			return append(ids[:first], w.unknown)
		}
		word, pieces = word[end:], w.rest
	}
	return ids
}

func isSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r >= '\t' && r <= '\r'
	}
	return unicode.IsSpace(r)
}

// isPunctuation reports punctuation, including all ASCII symbols.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
	}
	return unicode.Is(unicode.P, r)
}

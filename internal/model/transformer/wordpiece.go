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
	initialTokens map[string]int32 // tokens at the beginning of words
	innerTokens   map[string]int32 // tokens within words, without continuing_subword_prefix
	maxTokenBytes int              // length of the longest token in bytes
	maxWordChars  int              // maximum number of characters of a word; longer words are unknown
	unknownToken  int32
}

func (f *tokenizerFile) readWordPiece(t *tokenizer) error {
	if f.PreTokenizer == nil || f.PreTokenizer.Type != "BertPreTokenizer" {
		return errors.New("unsupported pre_tokenizer: WordPiece needs BertPreTokenizer")
	}
	var vocab map[string]int32
	if err := json.Unmarshal(f.Model.Vocab, &vocab); err != nil {
		return fmt.Errorf("the vocabulary: %w", err)
	}
	return t.setWordPiece(vocab, f.Model.Unknown, f.Model.Prefix, f.Model.MaxWordChars)
}

func (t *tokenizer) setWordPiece(vocab map[string]int32, unknown, prefix string, maxWordChars int) error {
	id, ok := vocab[unknown]
	if !ok || prefix == "" || maxWordChars < 1 || maxWordChars > 1000 {
		return fmt.Errorf("unsupported WordPiece: unknown token %q, prefix %q, at most %d characters", unknown, prefix, maxWordChars)
	}
	w := &wordPiece{initialTokens: map[string]int32{}, innerTokens: map[string]int32{}, maxWordChars: maxWordChars, unknownToken: id}
	for token, id := range vocab {
		if id < 0 || id > 1<<24 {
			return fmt.Errorf("the token %q has number %d, want 0 to 2^24", token, id)
		}
		t.vocabularySize = max(t.vocabularySize, id+1)
		w.maxTokenBytes = max(w.maxTokenBytes, len(token))
		if rest, ok := strings.CutPrefix(token, prefix); ok && rest != "" {
			w.innerTokens[rest] = id
		}
		w.initialTokens[token] = id
	}
	t.splitter, t.unknownToken = w, id
	return nil
}

// add appends the tokens of a normalized text, which it splits at spaces and around punctuation.
func (w *wordPiece) add(ids []int32, text []byte) []int32 {
	start := 0
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		switch {
		case isSpace(r):
			ids = w.appendWord(ids, text[start:i])
			start = i + size
		case isPunctuation(r):
			ids = w.appendWord(ids, text[start:i])
			ids = w.appendWord(ids, text[i:i+size])
			start = i + size
		}
		i += size
	}
	return w.appendWord(ids, text[start:])
}

func (w *wordPiece) appendWord(ids []int32, word []byte) []int32 {
	if len(word) == 0 {
		return ids
	}
	if id, ok := w.initialTokens[string(word)]; ok && len(word) <= w.maxWordChars {
		return append(ids, id)
	}
	if len(word) > w.maxWordChars && utf8.RuneCount(word) > w.maxWordChars {
		return append(ids, w.unknownToken)
	}
	first, pieces := len(ids), w.initialTokens
	for len(word) > 0 {
		end := min(len(word), w.maxTokenBytes)
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
			return append(ids[:first], w.unknownToken)
		}
		word, pieces = word[end:], w.innerTokens
	}
	return ids
}

func isSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r >= '\t' && r <= '\r'
	}
	return unicode.IsSpace(r)
}

// isPunctuation reports whether BERT treats r as punctuation, as it does all ASCII symbols.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
	}
	return unicode.Is(unicode.P, r)
}

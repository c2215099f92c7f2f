package transformer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// unigram splits a text into the most probable sequence of tokens: the one with the greatest sum of scores,
// which are log probabilities.
type unigram struct {
	scores       []float64
	tokenTrie    *trie
	unknownToken int32
	unknownText  string      // text of the unknown token
	unknownScore float64     // score of an unknown character
	byteTokens   *[256]int32 // tokens for the bytes of unknown characters; nil uses the unknown token
	spaceText    []byte      // text that replaces each space, and is inserted before the text
	splitsWords  bool        // true splits a text at white space into words, each treated as a text
	splitsSpaces bool        // true splits before each spaceText
}

// unknownPenalty is subtracted from the lowest log probability of a token to score an unknown character.
const unknownPenalty = 10

// preTokenizerFile describes how tokenizer.json splits a normalized text.
type preTokenizerFile struct {
	Type           string             `json:"type"`
	PreTokenizers  []preTokenizerFile `json:"pretokenizers"` // steps of a pre-tokenizer of type Sequence
	Replacement    string             `json:"replacement"`
	PrependScheme  string             `json:"prepend_scheme"`
	AddPrefixSpace *bool              `json:"add_prefix_space"` // in older files instead of PrependScheme: true means always
	Split          *bool              `json:"split"`
}

// readMetaspace sets u's fields from the pre-tokenizer Metaspace, optionally after WhitespaceSplit.
func (p *preTokenizerFile) readMetaspace(u *unigram) error {
	if p != nil && p.Type == "Sequence" && len(p.PreTokenizers) == 2 && p.PreTokenizers[0].Type == "WhitespaceSplit" {
		u.splitsWords, p = true, &p.PreTokenizers[1]
	}
	if p == nil || p.Type != "Metaspace" || p.Replacement == "" || p.PrependScheme != "" && p.PrependScheme != "always" || p.AddPrefixSpace != nil && !*p.AddPrefixSpace {
		return errors.New("unsupported pre_tokenizer: Unigram needs Metaspace with prepend_scheme \"always\", optionally after WhitespaceSplit")
	}
	u.spaceText, u.splitsSpaces = []byte(p.Replacement), p.Split == nil || *p.Split
	return nil
}

func (f *tokenizerFile) readUnigram(t *tokenizer) error {
	if f.Model.UnkID == nil {
		return errors.New("a model of type Unigram without an unknown token is not supported")
	}
	var vocab [][2]any
	if err := json.Unmarshal(f.Model.Vocab, &vocab); err != nil {
		return fmt.Errorf("the vocabulary: %w", err)
	}
	u := &unigram{unknownToken: *f.Model.UnkID, unknownScore: math.Inf(1)}
	if err := f.PreTokenizer.readMetaspace(u); err != nil {
		return err
	}
	if u.unknownToken < 0 || int(u.unknownToken) >= len(vocab) {
		return fmt.Errorf("the unknown token has number %d, but there are only %d tokens", u.unknownToken, len(vocab))
	}
	texts := make([]string, len(vocab))
	for id, pair := range vocab {
		text, isText := pair[0].(string)
		score, isNumber := pair[1].(float64)
		if !isText || !isNumber {
			return fmt.Errorf("entry %d of the vocabulary is not a pair of a text and a score", id)
		}
		texts[id] = text
		u.scores = append(u.scores, score)
		u.unknownScore = min(u.unknownScore, score-unknownPenalty)
	}
	u.unknownText = texts[u.unknownToken]
	var err error
	if u.tokenTrie, err = newTrie(texts); err != nil {
		return err
	}
	if f.Model.ByteFallback {
		if u.byteTokens, err = byteTokens(texts); err != nil {
			return err
		}
	}
	t.splitter, t.unknownToken, t.vocabularySize = u, u.unknownToken, int32(len(vocab))
	return nil
}

func byteTokens(texts []string) (*[256]int32, error) {
	var out [256]int32
	for b := range out {
		id := slices.Index(texts, fmt.Sprintf("<0x%02X>", b))
		if id < 0 {
			return nil, fmt.Errorf("byte_fallback: missing token <0x%02X>", b)
		}
		out[b] = int32(id)
	}
	return &out, nil
}

// add appends the tokens of a normalized text.
func (u *unigram) add(ids []int32, text []byte) []int32 {
	var w unigramBuffers
	text = bytes.ToValidUTF8(text, []byte(string(utf8.RuneError)))
	if !u.splitsWords {
		return u.appendSpaced(ids, text, &w)
	}
	for word := range bytes.FieldsSeq(text) {
		ids = u.appendSpaced(ids, word, &w)
	}
	return ids
}

type unigramBuffers struct {
	text  []byte
	paths []bestPath
}

// appendSpaced appends the tokens of a text after replacing its spaces by spaceText.
func (u *unigram) appendSpaced(ids []int32, text []byte, buffers *unigramBuffers) []int32 {
	if len(text) == 0 {
		return ids
	}
	buffers.text = buffers.text[:0]
	if text[0] != ' ' && !bytes.HasPrefix(text, u.spaceText) {
		buffers.text = append(buffers.text, u.spaceText...)
	}
	for _, b := range text {
		if b == ' ' {
			buffers.text = append(buffers.text, u.spaceText...)
		} else {
			buffers.text = append(buffers.text, b)
		}
	}
	rest := buffers.text
	for u.splitsSpaces {
		end := bytes.Index(rest[len(u.spaceText):], u.spaceText)
		if end < 0 {
			break
		}
		end += len(u.spaceText)
		ids = u.appendBestPath(ids, rest[:end], buffers)
		rest = rest[end:]
	}
	return u.appendBestPath(ids, rest, buffers)
}

// bestPath is the most probable sequence of tokens (path) from the beginning of a text to an offset.
type bestPath struct {
	tokenStart int32 // offset at which the path's last token begins
	token      int32
	score      float64
}

// appendBestPath appends the tokens of the best path through a text.
func (u *unigram) appendBestPath(ids []int32, text []byte, buffers *unigramBuffers) []int32 {
	buffers.paths = slices.Grow(buffers.paths[:0], len(text)+1)[:len(text)+1]
	for i := range buffers.paths {
		buffers.paths[i] = bestPath{tokenStart: -1}
	}
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRune(text[at:])
		u.extendPath(buffers.paths, text, at, size)
		at += size
	}
	first := len(ids)
	for at := int32(len(text)); at > 0; {
		step := buffers.paths[at]
		if step.token != u.unknownToken {
			ids, at = append(ids, step.token), step.tokenStart
			continue
		}
		from := step.tokenStart // consecutive unknown characters become one token
		for from > 0 && buffers.paths[from].token == u.unknownToken {
			from = buffers.paths[from].tokenStart
		}
		ids, at = u.appendUnknown(ids, text[from:at]), from
	}
	slices.Reverse(ids[first:])
	return ids
}

// appendUnknown appends, in reverse order, the tokens of consecutive unknown characters: the unknown token or
// the tokens of their bytes.
func (u *unigram) appendUnknown(ids []int32, text []byte) []int32 {
	if u.byteTokens == nil || string(text) == u.unknownText {
		return append(ids, u.unknownToken)
	}
	for _, b := range slices.Backward(text) {
		ids = append(ids, u.byteTokens[b])
	}
	return ids
}

// extendPath extends the path that ends at offset at by each token that begins there. If no token equals the
// next character, of size bytes, it also extends the path by this character as unknown.
func (u *unigram) extendPath(paths []bestPath, text []byte, at, size int) {
	step := func(to int, token int32, score float64) {
		if score += paths[at].score; paths[to].tokenStart < 0 || score > paths[to].score {
			paths[to] = bestPath{int32(at), token, score}
		}
	}
	coversNext := false
	for i, node := at, int32(0); i < len(text); i++ {
		if node = u.tokenTrie.child(node, text[i]); node < 0 {
			break
		}
		if token := u.tokenTrie.tokenByNode[node]; token >= 0 {
			step(i+1, token, u.scores[token])
			coversNext = coversNext || i+1 == at+size
		}
	}
	if !coversNext {
		step(at+size, u.unknownToken, u.unknownScore)
	}
}

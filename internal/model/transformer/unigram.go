package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// unigram chooses, of all the ways to cut a text into tokens, the most probable: the
// one whose tokens' logarithms add up to the most.
type unigram struct {
	scores  []float64
	next    map[uint64]int32 // a trie: from a node, 0 is its root, by a byte
	tokens  []int32          // of the node, -1 if none ends there
	space   string           // what stands for a space, and before the text
	unknown int32
	least   float64 // the score of a character that no token has
}

// maxNodes is more than the tokens of half a million words need.
const maxNodes = 1 << 23

// unknownBelow is how much less probable an unknown character is than any token.
const unknownBelow = 10

func (f *tokenizerFile) unigram(t *tokenizer) error {
	pre := f.PreTokenizer
	if pre == nil || pre.Type != "Metaspace" || pre.Replacement == "" || pre.PrependScheme != "always" || pre.Split == nil || *pre.Split {
		return errors.New("a model of type Unigram is supported with Metaspace that does not split and always prepends, and with nothing else")
	}
	if f.Model.UnkID == nil || f.Model.Fallback {
		return errors.New("a model of type Unigram without an unknown token, or with bytes for it, is not supported")
	}
	var vocab [][2]any
	if err := json.Unmarshal(f.Model.Vocab, &vocab); err != nil {
		return fmt.Errorf("the vocabulary: %w", err)
	}
	u := &unigram{next: map[uint64]int32{}, tokens: []int32{-1}, space: pre.Replacement, unknown: *f.Model.UnkID, least: math.Inf(1)}
	if u.unknown < 0 || int(u.unknown) >= len(vocab) {
		return fmt.Errorf("the unknown token has number %d of %d", u.unknown, len(vocab))
	}
	for id, pair := range vocab {
		token, isText := pair[0].(string)
		score, isNumber := pair[1].(float64)
		if !isText || !isNumber {
			return fmt.Errorf("entry %d of the vocabulary is not text with its score", id)
		}
		u.scores = append(u.scores, score)
		u.least = min(u.least, score-unknownBelow)
		if u.insert(token, int32(id)); len(u.tokens) > maxNodes {
			return errors.New("the vocabulary is too large")
		}
	}
	t.words, t.unknown, t.size = u, u.unknown, int32(len(vocab))
	return nil
}

func (u *unigram) insert(token string, id int32) {
	node := int32(0)
	for i := range min(len(token), maxNodes) {
		key := uint64(node)<<8 | uint64(token[i])
		after, ok := u.next[key]
		if !ok {
			after = int32(len(u.tokens))
			u.tokens = append(u.tokens, -1)
			u.next[key] = after
		}
		node = after
	}
	if node != 0 {
		u.tokens[node] = id
	}
}

// reached is the best way to a place in a text.
type reached struct {
	from  int32 // where its last token begins
	token int32
	score float64
}

func (u *unigram) add(ids []int32, normalized []byte) []int32 {
	if len(normalized) == 0 {
		return ids
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(string(normalized), string(utf8.RuneError)), " ", u.space)
	if !strings.HasPrefix(text, u.space) {
		text = u.space + text
	}
	best := make([]reached, len(text)+1)
	for i := range best[1:] {
		best[i+1].from = -1
	}
	for at, r := range text {
		u.extend(best, text, int32(at), int32(utf8.RuneLen(r)))
	}
	known := len(ids)
	for at := int32(len(text)); at > 0; at = best[at].from {
		// Unknown characters beside each other are one unknown token.
		if best[at].token != u.unknown || len(ids) == known || ids[len(ids)-1] != u.unknown {
			ids = append(ids, best[at].token)
		}
	}
	slices.Reverse(ids[known:])
	return ids
}

// extend goes on from the best way to at by each token, or by one character, of the
// given size, as unknown.
func (u *unigram) extend(best []reached, text string, at, size int32) {
	step := func(to, token int32, score float64) {
		if score += best[at].score; best[to].from < 0 || score > best[to].score {
			best[to] = reached{at, token, score}
		}
	}
	single := false
	node, ok := int32(0), false
	for i := at; int(i) < len(text); i++ {
		if node, ok = u.next[uint64(node)<<8|uint64(text[i])]; !ok {
			break
		}
		if token := u.tokens[node]; token >= 0 {
			step(i+1, token, u.scores[token])
			single = single || i+1 == at+size
		}
	}
	if !single {
		step(at+size, u.unknown, u.least)
	}
}

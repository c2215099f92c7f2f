package learn

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Limits of a reply. A model that lists more facts invents them, and a longer text is not a fact.
const (
	maxReply = 256 << 10 // bytes
	maxFacts = 64
	maxFact  = 1000 // bytes
)

// ParseFacts reads a model's facts or operations from JSON, possibly within a code fence or prose. The list
// of objects or sentences is under "ops", "facts" or "memories", or is the whole reply. ParseFacts skips
// incomplete elements and copies of the prompt's examples. It returns [memory.Invalid] if there is no list.
func ParseFacts(reply string) ([]extract.Candidate, error) {
	reply = withoutThinking(reply)
	if isNothing(reply) {
		return nil, nil
	}
	elements, listed := elementsOf(reply, "ops", "facts", "memories")
	var out []extract.Candidate
	for _, e := range elements {
		var p proposal
		if p.read(e) {
			out = append(out, p.candidate())
		}
	}
	if len(out) == 0 && !listed {
		return nil, memory.Errorf(memory.Invalid, "reply is not a JSON object with ops")
	}
	return distinct(out), nil
}

// ParseLine reads the reply to the prompt that asks for one line: a fact, or NOTHING. It ignores further
// lines. A line with fewer than ten letters, or with the word NOTHING, has no fact.
func ParseLine(reply string) ([]extract.Candidate, error) {
	line := withoutThinking(reply)
	if utf8.RuneCountInString(line) < extract.MinLength || strings.Contains(strings.ToUpper(line), "NOTHING") {
		return nil, nil
	}
	if strings.IndexByte("{[`", line[0]) >= 0 {
		cands, err := ParseFacts(line)
		return cands[:min(1, len(cands))], err
	}
	line, _, _ = strings.Cut(line, "\n")
	line, _ = trimBullet(line)
	return distinct([]extract.Candidate{{Text: strings.TrimSpace(line), Confidence: 1}}), nil
}

// proposal is a fact or an operation as models write it.
type proposal struct {
	Op, Text, Fact, Quote, About, Subject, Turn, Attribute, Category string
	IDs                                                              names
	Lasting                                                          *bool
	Confidence                                                       *float64
	Tags                                                             []string
}

// read decodes an element of the reply's list and reports whether it has content. It skips fields of a wrong type.
func (p *proposal) read(e json.RawMessage) bool {
	if json.Unmarshal(e, &p.Text) != nil && !decoded(e, p) {
		return false
	}
	if p.Text = strings.TrimSpace(p.Text); p.Text == "" {
		p.Text = strings.TrimSpace(p.Fact)
	}
	return p.Text != "" || (p.verdict() == None || p.verdict() == ToForget) && len(p.IDs) > 0
}

// verdict returns the verdict that the operation names, or "".
func (p *proposal) verdict() extract.Verdict { return verdicts[strings.ToLower(p.Op)] }

func (p *proposal) candidate() extract.Candidate {
	c := extract.Candidate{
		Text: p.Text, Op: p.verdict(), Targets: p.IDs, Transient: p.Lasting != nil && !*p.Lasting,
		Quote: p.Quote, Turn: p.Turn, Subject: strings.ToLower(or(p.Subject, p.About)), Attribute: strings.ToLower(p.Attribute),
		Category: strings.ToLower(p.Category), Confidence: 1, Tags: p.Tags,
	}
	if p.Confidence != nil {
		c.Confidence = min(max(*p.Confidence, 0), 1)
	}
	return c
}

// decoded reports whether an object could be decoded. Fields of a wrong type are skipped.
func decoded(e json.RawMessage, into any) bool {
	var other *json.UnmarshalTypeError
	err := json.Unmarshal(e, into)
	return err == nil || errors.As(err, &other) && other.Field != ""
}

// names are the ids in one field of a reply: a list or a single value.
type names []string

// UnmarshalJSON accepts strings and numbers.
func (n *names) UnmarshalJSON(b []byte) error {
	var list []any
	if json.Unmarshal(b, &list) != nil {
		list = []any{strings.Trim(string(b), `"`)}
	}
	for _, v := range list {
		id, isText := v.(string)
		if !isText {
			b, _ := json.Marshal(v)
			id = string(b)
		}
		if id = strings.Trim(strings.ToLower(id), "[]# "); id != "" && id != "null" && len(*n) < maxFacts {
			*n = append(*n, id)
		}
	}
	return nil
}

// maxStarts limits how many brackets in prose are tried as the start of JSON.
const maxStarts = 256

// elementsOf returns the elements of a reply's lists, under one of the keys or without a key, and the objects
// that contain no list. listed reports whether the reply has a list, even an empty list.
func elementsOf(s string, keys ...string) (out []json.RawMessage, listed bool) {
	for tries := 0; tries < maxStarts; tries++ {
		i := strings.IndexAny(s, "{[")
		if i < 0 {
			break
		}
		s = s[i:]
		d := json.NewDecoder(strings.NewReader(s))
		list, err := elements(d, keys)
		if errors.Is(err, errNoList) {
			var whole json.RawMessage
			d = json.NewDecoder(strings.NewReader(s))
			if err = d.Decode(&whole); err == nil {
				list, listed = []json.RawMessage{whole}, listed || string(whole) == "{}"
			}
		} else if err == nil {
			listed = true
		}
		out = append(out, list...)
		switch {
		case err == nil:
			s = s[d.InputOffset():]
		case len(list) > 0, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			return out, listed || len(list) > 0 // the remaining text belongs to a truncated element
		default:
			s = s[1:]
		}
	}
	return out, listed
}

// errNoList means that a JSON value is an object without a list.
var errNoList = errors.New("no list")

// elements decodes the elements of a list up to the first incomplete element.
func elements(d *json.Decoder, keys []string) (out []json.RawMessage, err error) {
	open, err := d.Token()
	for err == nil && open == json.Delim('{') {
		if !d.More() {
			return nil, errNoList
		}
		var key json.Token
		if key, err = d.Token(); err != nil {
			break
		}
		if slices.Contains(keys, strings.ToLower(key.(string))) {
			if open, err = d.Token(); err == nil && open != json.Delim('[') {
				return nil, errNoList
			}
			continue
		}
		var other json.RawMessage
		err = d.Decode(&other)
	}
	for err == nil && d.More() {
		var e json.RawMessage
		if err = d.Decode(&e); err == nil {
			out = append(out, e)
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	return out, err
}

// distinct returns the candidates that can be facts, without duplicates.
func distinct(in []extract.Candidate) []extract.Candidate {
	seen := map[string]bool{}
	var out []extract.Candidate
	for _, c := range in {
		hash := text.Hash(c.Text)
		if c.Text == "" { // the operation only names existing facts
			hash = string(c.Op) + strings.Join(c.Targets, " ")
		}
		if seen[hash] || len(c.Text) > maxFact || c.Text != "" && isNothing(c.Text) || examples()[hash] || len(out) == maxFacts {
			continue
		}
		seen[hash] = true
		out = append(out, c)
	}
	return out
}

// examples are the hashes of the examples in the embedded prompts.
var examples = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{text.Hash("…"): true, text.Hash("..."): true}
	for _, shown := range quotedFact.FindAllStringSubmatch(prompt.Default().File("extract").Source, -1) {
		m[text.Hash(shown[1])] = true
	}
	return m
})

var quotedFact = lazy.Compile(`"(User[ '][^"\n]{8,})"`)

// thinkTags are the tags that enclose reasoning in replies.
var thinkTags = [][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|channel|>final<|message|>"}}

// withoutThinking removes the reasoning before an answer. If the reply ends in its reasoning, it returns "{".
func withoutThinking(reply string) string {
	if len(reply) > maxReply {
		reply = reply[:maxReply]
	}
	reply = strings.ToValidUTF8(strings.TrimPrefix(reply, "\ufeff"), "\ufffd")
	for _, t := range thinkTags {
		if i := strings.LastIndex(reply, t[1]); i >= 0 {
			reply = reply[i+len(t[1]):]
		} else if strings.HasPrefix(reply, t[0]) {
			return "{"
		}
	}
	return strings.TrimSpace(reply)
}

// isNothing reports whether a text only says that there is nothing to remember: "none", "no facts".
func isNothing(s string) bool {
	switch strings.ToLower(strings.Trim(s, " \t\r\n.!\"'`*")) {
	case "", "nothing", "none", "null", "no", "no facts":
		return true
	}
	return false
}

// trimBullet removes a bullet or number from a line.
func trimBullet(line string) (text string, bullet bool) {
	for _, mark := range []string{"- ", "* ", "• ", "– "} {
		if text, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(text), true
		}
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits > 0 && digits < 4 && len(line) > digits+1 && strings.IndexByte(".)", line[digits]) >= 0 && line[digits+1] == ' ' {
		return strings.TrimSpace(line[digits+1:]), true
	}
	return line, false
}

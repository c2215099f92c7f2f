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
	maxReplyBytes = 256 << 10 // bytes
	maxReplyFacts = 64
	maxFactBytes  = 1000 // bytes
)

// ParseFacts reads a model's facts or operations from JSON, possibly within a code fence or prose. The list
// of objects or sentences is under "ops", "facts" or "memories", or is the whole reply. ParseFacts skips
// incomplete elements and copies of the prompt's examples. It returns [memory.Invalid] if there is no list.
func ParseFacts(reply string) ([]extract.Candidate, error) {
	reply = withoutThinking(reply)
	if saysNoFacts(reply) {
		return nil, nil
	}
	elements, listed := replyElements(reply, "ops", "facts", "memories")
	var out []extract.Candidate
	for _, e := range elements {
		var p proposal
		if p.decode(e) {
			out = append(out, p.candidate())
		}
	}
	if len(out) == 0 && !listed {
		return nil, memory.Errorf(memory.Invalid, "reply is not a JSON object with ops")
	}
	return distinctCandidates(out), nil
}

// ParseLine reads the reply to the prompt that asks for one line: a fact, or NOTHING. It ignores further
// lines. A line with fewer than ten letters, or with the word NOTHING, has no fact.
func ParseLine(reply string) ([]extract.Candidate, error) {
	line := withoutThinking(reply)
	if utf8.RuneCountInString(line) < extract.MinFactLength || strings.Contains(strings.ToUpper(line), "NOTHING") {
		return nil, nil
	}
	if strings.IndexByte("{[`", line[0]) >= 0 {
		cands, err := ParseFacts(line)
		return cands[:min(1, len(cands))], err
	}
	line, _, _ = strings.Cut(line, "\n")
	line, _ = trimBullet(line)
	return distinctCandidates([]extract.Candidate{{Text: strings.TrimSpace(line), Confidence: 1}}), nil
}

// proposal is a fact or an operation as models write it.
type proposal struct {
	Op, Text, Fact, Quote, About, Subject, Turn, Attribute, Category string
	IDs                                                              replyIDs
	Lasting                                                          *bool
	Confidence                                                       *float64
	Tags                                                             []string
}

// decode decodes an element of the reply's list and reports whether it has content. It skips fields of a wrong type.
func (p *proposal) decode(e json.RawMessage) bool {
	if json.Unmarshal(e, &p.Text) != nil && !decodeLoosely(e, p) {
		return false
	}
	if p.Text = strings.TrimSpace(p.Text); p.Text == "" {
		p.Text = strings.TrimSpace(p.Fact)
	}
	return p.Text != "" || (p.verdict() == None || p.verdict() == ForgetTargets) && len(p.IDs) > 0
}

// verdict returns the verdict that the operation names, or "".
func (p *proposal) verdict() extract.FactOperation { return verdictsByName[strings.ToLower(p.Op)] }

func (p *proposal) candidate() extract.Candidate {
	c := extract.Candidate{
		Text: p.Text, Op: p.verdict(), TargetIDs: p.IDs, IsTransient: p.Lasting != nil && !*p.Lasting,
		Quote: p.Quote, TurnID: p.Turn, Subject: strings.ToLower(firstNonEmpty(p.Subject, p.About)), Attribute: strings.ToLower(p.Attribute),
		Category: strings.ToLower(p.Category), Confidence: 1, Tags: p.Tags,
	}
	if p.Confidence != nil {
		c.Confidence = min(max(*p.Confidence, 0), 1)
	}
	return c
}

// decodeLoosely reports whether an object could be decoded. Fields of a wrong type are skipped.
func decodeLoosely(e json.RawMessage, target any) bool {
	var typeErr *json.UnmarshalTypeError
	err := json.Unmarshal(e, target)
	return err == nil || errors.As(err, &typeErr) && typeErr.Field != ""
}

// replyIDs are the ids in one field of a reply: a list or a single value.
type replyIDs []string

// UnmarshalJSON accepts strings and numbers.
func (n *replyIDs) UnmarshalJSON(b []byte) error {
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
		if id = strings.Trim(strings.ToLower(id), "[]# "); id != "" && id != "null" && len(*n) < maxReplyFacts {
			*n = append(*n, id)
		}
	}
	return nil
}

// maxJSONStarts limits how many brackets in prose are tried as the start of JSON.
const maxJSONStarts = 256

// replyElements returns the elements of a reply's lists, under one of the keys or without a key, and the objects
// that contain no list. hasList reports whether the reply has a list, even an empty list.
func replyElements(s string, keys ...string) (elements []json.RawMessage, hasList bool) {
	for tries := 0; tries < maxJSONStarts; tries++ {
		i := strings.IndexAny(s, "{[")
		if i < 0 {
			break
		}
		s = s[i:]
		d := json.NewDecoder(strings.NewReader(s))
		list, err := decodeElements(d, keys)
		if errors.Is(err, errNoList) {
			var whole json.RawMessage
			d = json.NewDecoder(strings.NewReader(s))
			if err = d.Decode(&whole); err == nil {
				list, hasList = []json.RawMessage{whole}, hasList || string(whole) == "{}"
			}
		} else if err == nil {
			hasList = true
		}
		elements = append(elements, list...)
		switch {
		case err == nil:
			s = s[d.InputOffset():]
		case len(list) > 0, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			return elements, hasList || len(list) > 0 // the remaining text belongs to a truncated element
		default:
			s = s[1:]
		}
	}
	return elements, hasList
}

// errNoList means that a JSON value is an object without a list.
var errNoList = errors.New("no list")

// decodeElements decodes the elements of a list up to the first incomplete element.
func decodeElements(d *json.Decoder, keys []string) (out []json.RawMessage, err error) {
	delim, err := d.Token()
	for err == nil && delim == json.Delim('{') {
		if !d.More() {
			return nil, errNoList
		}
		var key json.Token
		if key, err = d.Token(); err != nil {
			break
		}
		if slices.Contains(keys, strings.ToLower(key.(string))) {
			if delim, err = d.Token(); err == nil && delim != json.Delim('[') {
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

// distinctCandidates returns the candidates that can be facts, without duplicates.
func distinctCandidates(cands []extract.Candidate) []extract.Candidate {
	seen := map[string]bool{}
	var out []extract.Candidate
	for _, c := range cands {
		hash := text.Hash(c.Text)
		if c.Text == "" { // the operation only names existing facts
			hash = string(c.Op) + strings.Join(c.TargetIDs, " ")
		}
		if seen[hash] || len(c.Text) > maxFactBytes || c.Text != "" && saysNoFacts(c.Text) || promptExamples()[hash] || len(out) == maxReplyFacts {
			continue
		}
		seen[hash] = true
		out = append(out, c)
	}
	return out
}

// promptExamples are the hashes of the examples in the embedded prompts.
var promptExamples = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{text.Hash("…"): true, text.Hash("..."): true}
	for _, shown := range exampleFact.FindAllStringSubmatch(prompt.Default().File("extract").Source, -1) {
		m[text.Hash(shown[1])] = true
	}
	return m
})

var exampleFact = lazy.Compile(`"(User[ '][^"\n]{8,})"`)

// thinkTags are the tags that enclose reasoning in replies.
var thinkTags = [][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|channel|>final<|message|>"}}

// withoutThinking removes the reasoning before an answer. If the reply ends in its reasoning, the result is "{": no list.
func withoutThinking(reply string) string {
	if len(reply) > maxReplyBytes {
		reply = reply[:maxReplyBytes]
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

// saysNoFacts reports whether a text only says that there is nothing to remember: "none", "no facts".
func saysNoFacts(s string) bool {
	switch strings.ToLower(strings.Trim(s, " \t\r\n.!\"'`*")) {
	case "", "nothing", "none", "null", "no", "no facts":
		return true
	}
	return false
}

// trimBullet removes a bullet or number from a line.
func trimBullet(line string) (text string, hadBullet bool) {
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

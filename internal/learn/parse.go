package learn

import (
	"math"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// The names under which models return the same thing.
var (
	listKeys       = []string{"facts", "memories", "memory", "items", "results", "data", "new_facts", "output"}
	textKeys       = []string{"text", "fact", "content", "memory", "statement", "value", "description"}
	quoteKeys      = []string{"quote", "evidence", "source_quote", "support", "excerpt"}
	turnKeys       = []string{"turn", "turn_id", "message", "message_id", "source", "source_turn"}
	categoryKeys   = []string{"category", "type", "kind"}
	subjectKeys    = []string{"subject", "about", "entity"}
	attributeKeys  = []string{"attribute", "key", "property"}
	confidenceKeys = []string{"confidence", "score", "certainty"}
)

// ParseFacts reads a model's reply to the extraction prompt in any of the shapes
// that models use: an object or array of facts, objects or plain sentences,
// fenced or with prose around, cut off, a list with bullets, one line, or
// NOTHING. A reply without facts gives none; [memory.Invalid] means that it
// could not be read at all.
func ParseFacts(reply string) ([]Candidate, error) {
	reply = answer(reply)
	if reply == "" || nothing(reply) {
		return nil, nil
	}
	found := false
	var out []Candidate
	each(reply, func(v any) bool {
		cands, isList := facts(v)
		found = found || isList
		out = append(out, cands...)
		return len(out) == 0
	})
	if found {
		return out, nil
	}
	return plainFacts(reply)
}

// answer takes off what a model thinks aloud before it answers.
func answer(reply string) string {
	reply = strings.ToValidUTF8(strings.TrimPrefix(reply, "\ufeff"), "\ufffd")
	if i := strings.LastIndex(reply, "</think>"); i >= 0 {
		reply = reply[i+len("</think>"):]
	}
	return strings.TrimSpace(reply)
}

// nothing reports whether the reply says that there is nothing to remember.
func nothing(s string) bool {
	switch strings.ToLower(strings.Trim(s, " \t\r\n.!\"'`*")) {
	case "nothing", "none", "null", "no", "n/a", "no facts", "no new facts", "no memories", "nothing to remember", "nothing new":
		return true
	}
	return false
}

// maxStarts bounds how many brackets in prose are tried as the start of JSON.
const maxStarts = 64

// each calls yield for the outermost JSON values that begin with a bracket, until
// it returns false.
func each(s string, yield func(v any) bool) {
	for start, tries := 0, 0; tries < maxStarts; tries++ {
		i := strings.IndexAny(s[start:], "{[")
		if i < 0 {
			return
		}
		l := lenient{s: s, i: start + i}
		v, ok := l.value()
		if ok && !yield(v) {
			return
		}
		start = min(l.i, len(s))
	}
}

// facts gathers candidates from a value. isList reports whether the value has the
// form of an answer, be it an empty one.
func facts(v any) (out []Candidate, isList bool) {
	switch v := v.(type) {
	case []any:
		isList = len(v) == 0
		for _, item := range v {
			if s, ok := item.(string); ok {
				item = map[string]any{"text": s}
			}
			more, _ := facts(item)
			out = append(out, more...)
		}
		return out, isList || len(out) > 0
	case map[string]any:
		for _, key := range listKeys {
			list, there := v[key]
			switch list.(type) {
			case []any, map[string]any:
				out, _ = facts(list)
				return out, true
			case nil:
				if there {
					return nil, true
				}
			}
		}
		if len(v) == 0 {
			return nil, true
		}
		if c, ok := oneFact(v); ok {
			return []Candidate{c}, true
		}
	}
	return nil, false
}

func oneFact(m map[string]any) (Candidate, bool) {
	text := one(m, textKeys)
	if text == "" {
		return Candidate{}, false
	}
	return Candidate{
		Text:       text,
		Quote:      one(m, quoteKeys),
		Turn:       one(m, turnKeys),
		Subject:    lower(one(m, subjectKeys)),
		Attribute:  lower(one(m, attributeKeys)),
		Category:   lower(one(m, categoryKeys)),
		Confidence: confidence(one(m, confidenceKeys)),
		Tags:       words(m["tags"]),
	}, true
}

// one returns the first of the keys that holds a text.
func one(m map[string]any, keys []string) string {
	for _, key := range keys {
		if s, ok := textOf(m[key]); ok && strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s)
		}
	}
	return ""
}

func lower(s string) string { return strings.ToLower(s) }

func words(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := textOf(item); ok && strings.TrimSpace(s) != "" {
			out = append(out, strings.TrimSpace(s))
		}
	}
	return out
}

// confidence reads 0.9, "90%", "90" and "high". What cannot be read is 1: it is 1
// where nobody says otherwise (SPEC section 2).
func confidence(s string) float64 {
	switch strings.ToLower(s) {
	case "high", "certain":
		return 0.9
	case "medium", "likely":
		return 0.6
	case "low", "unsure":
		return 0.3
	}
	number, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(f) {
		return 1
	}
	if percent || f > 1 {
		f /= 100
	}
	return min(max(f, 0), 1)
}

// plainFacts reads a reply without JSON: lines with bullets, or a single line.
func plainFacts(reply string) ([]Candidate, error) {
	var out []Candidate
	var plain []string
	for line := range strings.Lines(reply) {
		line = strings.TrimSpace(line)
		switch text, bullet := item(line); {
		case line == "" || strings.HasPrefix(line, "```"):
		case bullet && !nothing(text):
			out = append(out, Candidate{Text: text, Confidence: 1})
		case !bullet:
			plain = append(plain, line)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(plain) == 0 || nothing(plain[0]) || strings.Contains(plain[0], "NOTHING"):
		return nil, nil
	case len(plain) == 1 && !strings.ContainsAny(plain[0], "{}[]"):
		return []Candidate{{Text: plain[0], Confidence: 1}}, nil
	}
	return nil, memory.Errorf(memory.Invalid, "reply has no list of facts: %.80q", reply)
}

// item takes a bullet or number off a line.
func item(line string) (text string, bullet bool) {
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

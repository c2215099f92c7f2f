package learn

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// The names under which models return the same thing.
var (
	listKeys       = []string{"ops", "operations", "facts", "memories", "memory", "items", "results", "data", "new_facts", "output"}
	textKeys       = []string{"text", "fact", "content", "memory", "statement", "value", "description"}
	quoteKeys      = []string{"quote", "evidence", "source_quote", "support", "excerpt"}
	turnKeys       = []string{"turn", "turn_id", "message", "message_id", "source", "source_turn"}
	categoryKeys   = []string{"category", "type", "kind"}
	subjectKeys    = []string{"subject", "about", "entity"}
	attributeKeys  = []string{"attribute", "key", "property"}
	confidenceKeys = []string{"confidence", "score", "certainty"}
	opKeys         = []string{"op", "operation", "action", "event"}
	idKeys         = []string{"ids", "id", "targets", "target", "target_id"}
)

// What a reply may hold: more facts are invention, and longer ones are not facts.
const (
	maxReply = 256 << 10 // bytes
	maxFacts = 64
	maxFact  = 1000 // bytes
)

// ParseFacts reads a model's reply to the extraction prompt in any of the shapes
// that models use: an object or array of facts, objects or plain sentences, by
// category or name, fenced or with prose around, a call of a tool, JSON in a string,
// line by line, cut off, a list with bullets, a table, YAML, one line, or NOTHING. A
// reply without facts, such as a refusal, gives none; [memory.Invalid] means that it
// could not be read at all, or ended before its first fact. What only repeats the
// prompt's examples is left out.
func ParseFacts(reply string) ([]extract.Candidate, error) { return parseFacts(reply, plainFacts) }

// ParseOps is [ParseFacts] for a prompt that asks for JSON alone: prose, bullets and
// tables are then no reply.
func ParseOps(reply string) ([]extract.Candidate, error) {
	return parseFacts(reply, func(string) ([]extract.Candidate, error) {
		return nil, memory.Errorf(memory.Invalid, "reply is not a JSON object with ops")
	})
}

func parseFacts(reply string, plain func(string) ([]extract.Candidate, error)) ([]extract.Candidate, error) {
	reply = answer(reply)
	if reply == "" || nothing(reply) {
		return nil, nil
	}
	if thinking(reply) {
		return nil, memory.Errorf(memory.Invalid, "reply ends before its answer")
	}
	found := false
	var out []extract.Candidate
	cut := each(reply, func(v any) bool {
		cands, isList := facts(v, 0)
		found = found || isList
		out = append(out, cands...)
		return len(out) < maxFacts
	})
	if cut { // the last operation may lack its end
		out = slices.DeleteFunc(out, func(c extract.Candidate) bool { return c.Op != "" && c.Quote == "" })
	}
	switch {
	case len(out) > 0:
		return distinct(out), nil
	case found && !cut:
		return nil, nil
	case cut:
		return nil, memory.Errorf(memory.Invalid, "reply ends before its first fact")
	}
	return plain(reply)
}

// distinct returns the candidates that can be facts, each once.
func distinct(in []extract.Candidate) []extract.Candidate {
	seen := map[string]bool{}
	var out []extract.Candidate
	for _, c := range in {
		hash := text.Hash(c.Text)
		if c.Text == "" { // an operation that says no more than which facts it is about
			hash = string(c.Op) + strings.Join(c.Targets, " ")
		}
		if seen[hash] || len(c.Text) > maxFact || c.Text != "" && nothing(c.Text) || examples()[hash] || len(out) == maxFacts {
			continue
		}
		seen[hash] = true
		out = append(out, c)
	}
	return out
}

// examples are the hashes of what the embedded prompts show as examples.
var examples = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, s := range []string{"…", "...", "fact", "text", "string", "a fact", "the fact", "<fact>", "<text>", "fact text", "one short sentence"} {
		m[text.Hash(s)] = true
	}
	source := prompt.Default().Source("extract")
	for _, shown := range quotedFact.FindAllStringSubmatch(source, -1) {
		m[text.Hash(shown[1])] = true
	}
	each(source, func(v any) bool {
		cands, _ := facts(v, 0)
		for _, c := range cands {
			m[text.Hash(c.Text)] = true
		}
		return true
	})
	return m
})

var quotedFact = lazy.Compile(`"(User [^"\n]{8,})"`)

// thoughts is what models think aloud between.
var thoughts = []struct{ open, end string }{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"}, {"<reflection>", "</reflection>"},
	{"<scratchpad>", "</scratchpad>"}, {"<analysis>", "</analysis>"}, {"◁think▷", "◁/think▷"}, {"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|channel|>final<|message|>"},
}

// answer takes off what a model thinks aloud before it answers.
func answer(reply string) string {
	if len(reply) > maxReply {
		reply = reply[:maxReply]
	}
	reply = strings.ToValidUTF8(strings.TrimPrefix(reply, "\ufeff"), "\ufffd")
	for _, t := range thoughts {
		if i := strings.LastIndex(reply, t.end); i >= 0 {
			reply = reply[i+len(t.end):]
		}
	}
	return strings.TrimSpace(reply)
}

// thinking reports whether the reply ended while the model was thinking.
func thinking(reply string) bool {
	for _, t := range thoughts {
		if strings.HasPrefix(reply, t.open) {
			return true
		}
	}
	return false
}

// refusal is what models say instead of facts when there are none, or when they
// will not look.
var refusal = lazy.Compile(`(?i)^\W*(?:` +
	`there (?:is|are|was|were) (?:no|nothing)\b.{0,60}\b(?:facts?|information|memor\w+|details?|remember\w*|worth|personal)\b` +
	`|no (?:new |other |further |more |relevant |personal |memorable |additional |significant |durable |lasting |user )*(?:facts?|memor\w+|information|details?)\b` +
	`|nothing (?:to|new|worth|of|relevant|personal|in|was|is|here)\b` +
	`|i(?: am|['’]m)? (?:so |very |really )?(?:sorry|unable|afraid|not able)\b|sorry\b|apolog` +
	`|i (?:do not|don['’]t|did not|didn['’]t|cannot|can['’]t|can not|could not|couldn['’]t|will not|won['’]t|was unable)\b.{0,60}\b(?:help|assist|find|see|extract|identify|provide|process|comply|do that|fulfil|determine|any|enough)\b` +
	`|as an? (?:ai|large language model|language model|assistant)\b` +
	`|(?:the |this )(?:user|conversation|message|text|turns?|input|statement) (?:does not|doesn['’]t|did not|didn['’]t|contains? no|has no|has not|hasn['’]t|only)\b.{0,60}\b(?:share|provide|contain|mention|reveal|include|disclose|information|facts?|details?|personal|asks?|asked)\w*\b` +
	`|(?:based on|from|given) .{0,80}\b(?:no|nothing)\b)`)

// nothing reports whether the reply says that there is nothing to remember.
func nothing(s string) bool {
	switch strings.ToLower(strings.Trim(s, " \t\r\n.!\"'`*")) {
	case "nothing", "none", "null", "no", "n/a", "no facts", "no new facts", "no memories", "nothing to remember", "nothing new", "nil", "empty":
		return true
	}
	return !strings.ContainsAny(s, "{[\n") && refusal.MatchString(s)
}

// maxStarts bounds how many brackets in prose are tried as the start of JSON.
const maxStarts = 256

// each calls yield for the outermost JSON values that begin with a bracket, until
// it returns false. cut reports whether the last of them was not closed.
func each(s string, yield func(v any) bool) (cut bool) {
	for start, tries := 0, 0; tries < maxStarts; tries++ {
		i := strings.IndexAny(s[start:], "{[")
		if i < 0 {
			return cut
		}
		l := lenient{s: s, i: start + i}
		v, ok := l.value()
		cut = l.cut
		if ok && !yield(v) {
			return cut
		}
		start = min(max(l.i, start+i+1), len(s))
	}
	return cut
}

// maxWraps bounds how deep facts are looked for: a reply in a call in a string.
const maxWraps = 6

// wrapKeys hold an answer in an answer: a call of a tool, a whole response.
var wrapKeys = []string{"arguments", "function", "tool_calls", "choices", "message", "content", "result", "response", "answer", "parameters", "input", "json", "text", "value", "output"}

// asideKeys hold what a model says beside its facts.
var asideKeys = lazy.Words("error reason reasoning explanation note notes thought thoughts thinking analysis status title name role type id model comment summary usage rationale instructions schema format prompt question")

// facts gathers candidates from a value. isList reports whether the value has the
// form of an answer, be it an empty one.
func facts(v any, depth int) (out []extract.Candidate, isList bool) {
	if depth > maxWraps {
		return nil, false
	}
	switch v := v.(type) {
	case string:
		if inner, ok := unwrapped(v); ok {
			return facts(inner, depth+1)
		}
		return nil, nothing(v)
	case []any:
		isList = len(v) == 0
		for _, item := range v {
			if s, ok := item.(string); ok && strings.TrimSpace(s) != "" {
				if inner, wrapped := unwrapped(s); wrapped {
					item = inner
				} else {
					out = append(out, extract.Candidate{Text: strings.TrimSpace(s), Confidence: 1})
					continue
				}
			}
			more, _ := facts(item, depth+1)
			out = append(out, more...)
		}
		return out, isList || len(out) > 0
	case object:
		return factsIn(v, depth)
	}
	return nil, false
}

// unwrapped reads JSON that stands in a string.
func unwrapped(s string) (any, bool) {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(s), "```json"), "```"))
	if s == "" || s[0] != '{' && s[0] != '[' {
		return nil, false
	}
	l := lenient{s: s}
	return l.value()
}

func factsIn(o object, depth int) (out []extract.Candidate, isList bool) {
	if _, schema := o.get("properties"); schema {
		return nil, false // the schema of the reply, not a reply
	}
	if len(o) == 0 {
		return nil, true
	}
	for _, key := range listKeys {
		list, there := o.get(key)
		if !there {
			continue
		}
		switch list := list.(type) {
		case []any, object:
			more, _ := facts(list, depth+1)
			out, isList = append(out, more...), true
		case string:
			if more, ok := facts(list, depth+1); ok {
				out, isList = append(out, more...), true
			} else if strings.HasSuffix(key, "s") && wordy(list) {
				out, isList = append(out, extract.Candidate{Text: strings.TrimSpace(list), Confidence: 1}), true
			}
		case nil:
			isList = true
		}
	}
	if isList {
		return out, true
	}
	if c, ok := oneFact(o); ok {
		return []extract.Candidate{c}, true
	}
	for _, key := range wrapKeys {
		if v, there := o.get(key); there {
			if more, ok := facts(v, depth+1); ok {
				return more, true
			}
		}
	}
	return namedFacts(o)
}

// wordy reports whether s can be a fact rather than a label or a code.
func wordy(s string) bool { return len(strings.Fields(s)) >= 3 }

// namedFacts are facts under names of their own or in lists by category: {"fact1": "…"},
// {"work": ["…"]}.
func namedFacts(o object) (out []extract.Candidate, isList bool) {
	for _, e := range o {
		if asideKeys.Has(e.key) {
			continue
		}
		switch v := e.value.(type) {
		case string:
			if wordy(v) {
				out = append(out, extract.Candidate{Text: strings.TrimSpace(v), Confidence: 1})
			}
		case []any:
			more, ok := facts(v, maxWraps-1)
			isList = isList || ok
			for _, c := range more {
				if c.Category == "" {
					c.Category = e.key
				}
				out = append(out, c)
			}
		}
	}
	return out, isList || len(out) > 0
}

func oneFact(o object) (extract.Candidate, bool) {
	words := one(o, textKeys)
	op, ids := verdicts[strings.ToLower(one(o, opKeys))], idsIn(o)
	if words == "" && (op != None || len(ids) == 0) || strings.HasPrefix(words, "{") || strings.HasPrefix(words, "[") || strings.HasPrefix(words, "```") {
		return extract.Candidate{}, false
	}
	return extract.Candidate{
		Text:       words,
		Op:         op,
		Targets:    ids,
		Passing:    strings.ToLower(one(o, []string{"lasting"})) == "false",
		Quote:      one(o, quoteKeys),
		Turn:       one(o, turnKeys),
		Subject:    strings.ToLower(one(o, subjectKeys)),
		Attribute:  strings.ToLower(one(o, attributeKeys)),
		Category:   strings.ToLower(one(o, categoryKeys)),
		Confidence: confidence(one(o, confidenceKeys)),
		Tags:       tagsIn(o),
	}, true
}

// one returns the first of the keys that holds a text.
func one(o object, keys []string) string {
	for _, key := range keys {
		v, _ := o.get(key)
		if s, ok := textOf(v); ok && strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s)
		}
	}
	return ""
}

// idsIn returns the facts that an operation names: a list, or one.
func idsIn(o object) []string {
	var out []string
	for _, key := range idKeys {
		v, there := o.get(key)
		if !there {
			continue
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for _, item := range list {
			if s, ok := textOf(item); ok && strings.TrimSpace(s) != "" && len(out) < maxFacts {
				out = append(out, strings.Trim(strings.ToLower(s), "[]# "))
			}
		}
	}
	return out
}

func tagsIn(o object) []string {
	v, _ := o.get("tags")
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
// where nobody says otherwise.
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

// keyed is a line of YAML or of a form: "text: User lives in Lisbon".
var keyed = lazy.Compile(`^(?i)(?:\*\*)?"?([a-z_]{2,20})"?(?:\*\*)?\s*:\s*(.*)$`)

// plainFacts reads a reply without JSON: rows of a table, lines of YAML, lines with
// bullets, or a single line.
func plainFacts(reply string) ([]extract.Candidate, error) {
	var out []extract.Candidate
	var plain, columns []string
	for line := range strings.Lines(reply) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "```") || line == "---" {
			continue
		}
		if strings.HasPrefix(line, "|") {
			out, columns = row(out, columns, line)
			continue
		}
		body, bullet := item(line)
		if m := keyed.FindStringSubmatch(body); m != nil && set(&out, bullet, strings.ToLower(m[1]), strings.Trim(m[2], `"' `)) {
			continue
		}
		switch {
		case bullet && !nothing(body):
			out = append(out, extract.Candidate{Text: body, Confidence: 1})
		case !bullet:
			plain = append(plain, line)
		}
	}
	switch {
	case len(out) > 0:
		return distinct(out), nil
	case len(plain) == 0 || nothing(plain[0]) || strings.Contains(plain[0], "NOTHING"):
		return nil, nil
	case len(plain) == 1 && !strings.ContainsAny(plain[0], "{}[]<>"):
		return distinct([]extract.Candidate{{Text: plain[0], Confidence: 1}}), nil
	}
	return nil, memory.Errorf(memory.Invalid, "reply has no list of facts")
}

// set reads one line of YAML. It reports whether the key is one of a fact's.
func set(out *[]extract.Candidate, bullet bool, key, value string) bool {
	if slices.Contains(listKeys, key) && value == "" {
		return true
	}
	if value == "" || strings.ContainsAny(value, "{[") {
		return false
	}
	if slices.Contains(textKeys, key) {
		*out = append(*out, extract.Candidate{Text: value, Confidence: 1})
		return true
	}
	if len(*out) == 0 || bullet {
		return false
	}
	switch c := &(*out)[len(*out)-1]; {
	case slices.Contains(quoteKeys, key):
		c.Quote = value
	case slices.Contains(turnKeys, key):
		c.Turn = value
	case slices.Contains(categoryKeys, key):
		c.Category = strings.ToLower(value)
	case slices.Contains(subjectKeys, key):
		c.Subject = strings.ToLower(value)
	case slices.Contains(attributeKeys, key):
		c.Attribute = strings.ToLower(value)
	case slices.Contains(confidenceKeys, key):
		c.Confidence = confidence(value)
	default:
		return false
	}
	return true
}

// row reads one row of a Markdown table, the first of which names its columns.
func row(out []extract.Candidate, columns []string, line string) ([]extract.Candidate, []string) {
	cells := strings.Split(strings.Trim(line, "| "), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if columns == nil {
		for i := range cells {
			cells[i] = strings.TrimSuffix(strings.ToLower(strings.Trim(cells[i], "* ")), "s")
		}
		return out, cells
	}
	if strings.Trim(line, "|-: ") == "" {
		return out, columns
	}
	var o object
	for i, cell := range cells[:min(len(cells), len(columns))] {
		o = append(o, entry{columns[i], cell})
	}
	if c, ok := oneFact(o); ok {
		out = append(out, c)
	}
	return out, columns
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

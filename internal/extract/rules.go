package extract

import (
	_ "embed"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
)

//go:embed rules.txt
var ruleTable string

//go:embed words.txt
var wordTable string

//go:embed patterns.txt
var patternTable string

// lists returns the word lists of words.txt by name.
var lists = sync.OnceValue(func() map[string]map[string]bool {
	out, name := map[string]map[string]bool{}, ""
	for line := range strings.SplitSeq(wordTable, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != ' ' {
			name, line, _ = strings.Cut(line, ":")
			out[name] = map[string]bool{}
		}
		for w := range strings.FieldsSeq(line) {
			out[name][w] = true
		}
	}
	out["relatives"] = maps.Clone(out["kinWords"])
	maps.Copy(out["relatives"], out["kinPlural"])
	return out
})

// inList reports whether a list of words.txt has a word.
func inList(list, word string) bool { return lists()[list][word] }

// canonical returns the canonical form of a word by a list of pairs ("gf=girlfriend"), or the word.
func canonical(list, word string) string {
	for pair := range lists()[list] {
		if of, with, _ := strings.Cut(pair, "="); of == strings.ReplaceAll(word, " ", "-") {
			return strings.ReplaceAll(with, "-", " ")
		}
	}
	return word
}

// patterns returns the regular expressions of patterns.txt by name.
var patterns = sync.OnceValue(func() map[string]*lazy.Pattern {
	source, name := map[string]string{}, ""
	for line := range strings.SplitSeq(patternTable, "\n") {
		if part, found := strings.CutPrefix(line, "  "); found {
			source[name] += part
		} else {
			name = strings.TrimSuffix(line, ":")
		}
	}
	out := map[string]*lazy.Pattern{}
	for name, s := range source {
		out[name] = lazy.Compile(s)
	}
	return out
})

func pattern(name string) *lazy.Pattern { return patterns()[name] }

// rule is a pattern of statements for one kind of fact (see rules.txt).
type rule struct {
	name, attribute, category string
	confidence                float64

	person   string        // "user" or "kin": the rule applies only to statements about that person
	polarity string        // the rule applies only to affirmative ("yes") or negative statements ("not", "ended", "never")
	often    bool          // the rule applies to statements with "always", "usually" and the like
	always   bool          // the rule applies only to statements with the word "always"
	head     string        // "my", "wish" or "hello"; "" for a rule with a verb
	verbs    []string      // base forms of accepted main verbs
	classes  english.Class // classes of accepted main verbs
	tenses   english.Tense
	form     []step // the words after the verbs
	fact     string // the fact's words after the subject; "" means the words of the statement
	anyVerb  bool
}

// step is one element of a rule's form.
type step struct {
	words    []string // accepted words of the token; nil if another field is set
	optional bool
	slot     string // name of the slot that stores the matched tokens, or ""
	kind     string // accepted words: a name in slots, "[list]", "{list}", "(list)", "+list" or ""
	seek     bool   // skip tokens up to the words of the next step
	loose    bool   // skip adverbs and particles
	end      bool   // the phrase must end at this token
	rest     bool   // any self-contained words; if optional, also no words
}

var tenses = map[string]english.Tense{
	"present": english.Present, "past": english.Past | english.Perfect, "perfect": english.Perfect,
	"now":   english.Present | english.Progressive | english.Continued,
	"doing": english.Progressive | english.Continued, "continued": english.Continued,
	"ahead": english.Future | english.GoingTo, "used": english.UsedTo, "can": english.Can, "wish": english.Wish,
}

var verbClasses = map[string]english.Class{"@deed": english.Deed, "@light": english.Light, "@routine": english.Routine, "@ongoing": english.Ongoing, "@aim": english.Aim}

// rules returns the rules of rules.txt in order, by key: a verb, "@" and the rule's head, or "@class".
var rules = sync.OnceValue(func() map[string][]*rule {
	out := map[string][]*rule{}
	var of rule
	for line := range strings.SplitSeq(ruleTable, "\n") {
		body := strings.TrimSpace(line)
		switch {
		case body == "" || body[0] == '#' || body[0] == '+' || body[0] == '-':
		case line[0] != ' ':
			name, rest, _ := strings.Cut(line, ":")
			fields := strings.Split(rest, ",")
			confidence, err := strconv.ParseFloat("0"+strings.TrimSpace(fields[len(fields)-1]), 64)
			if len(fields) != 3 || err != nil {
				panic("rules.txt: " + line)
			}
			of = rule{name: name, attribute: strings.Trim(fields[0], " -"), category: strings.TrimSpace(fields[1]), confidence: confidence}
		default:
			r := parseRule(of, body)
			for _, key := range r.keys() {
				out[key] = append(out[key], r)
			}
		}
	}
	return out
})

// keys returns the keys of a rule in [rules].
func (r *rule) keys() []string {
	switch {
	case r.head != "":
		return []string{"@" + r.head}
	case r.classes != 0 || r.anyVerb:
		return []string{"@class"}
	}
	return r.verbs
}

// parseRule parses a line "VERBS TENSES: FORM => FACT".
func parseRule(r rule, line string) *rule {
	pattern, fact, _ := strings.Cut(line, "=>")
	head, form, _ := strings.Cut(pattern, ":")
	r.fact = strings.TrimSpace(fact)
	for w := range strings.FieldsSeq(head) {
		switch {
		case w == "user" || w == "kin":
			r.person = w
		case w == "yes" || w == "not" || w == "ended" || w == "never":
			r.polarity = w
		case w == "my" || w == "wish" && r.head == "" && r.verbs == nil || w == "hello" || w == "standing":
			r.head = w
		case w == "often":
			r.often = true
		case w == "always":
			r.always = true
		case w == "@any":
			r.anyVerb = true
		case r.verbs == nil && r.classes == 0 && !r.anyVerb && r.head == "":
			for verb := range strings.SplitSeq(w, "|") {
				if verb[0] != '@' {
					r.verbs = append(r.verbs, verb)
				}
				r.classes |= verbClasses[verb]
			}
		default:
			for name := range strings.SplitSeq(w, "|") {
				if tenses[name] == 0 {
					panic("rules.txt has no such tense: " + line)
				}
				r.tenses |= tenses[name]
			}
		}
	}
	for e := range strings.FieldsSeq(form) {
		r.form = append(r.form, parseStep(e))
	}
	return &r
}

// parseStep parses one element of a form.
func parseStep(e string) (s step) {
	switch {
	case e == "$":
		s.end = true
	case e == "~":
		s.loose = true
	case e == "..":
		s.seek = true
	case e == "..." || e == "...?":
		s.rest, s.optional = true, e == "...?"
	case e[0] != '<':
		s.optional = strings.HasSuffix(e, "?")
		s.words = strings.Split(strings.TrimSuffix(e, "?"), "|")
	default:
		e = strings.Trim(e, "<>")
		if at := strings.IndexAny(e, "=[{(+:"); at < 0 {
			s.slot, s.kind = e, e
		} else if s.slot, s.kind = e[:at], e[at:]; e[at] == '=' {
			s.words, s.kind = strings.Split(e[at+1:], "|"), ""
		} else if e[at] == ':' {
			s.kind = e[at+1:]
		}
		if list := strings.Trim(s.kind, "[{(+)}]"); list != s.kind && lists()[list] == nil ||
			list == s.kind && s.words == nil && s.kind != ".." && slots()[s.kind] == nil {
			panic("rules.txt has no such list or slot: " + e)
		}
	}
	return s
}

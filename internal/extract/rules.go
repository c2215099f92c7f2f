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

// wordLists returns the word lists of words.txt by name.
var wordLists = sync.OnceValue(func() map[string]map[string]bool {
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

// isInList reports whether a list of words.txt has a word.
func isInList(list, word string) bool { return wordLists()[list][word] }

// canonicalForm returns the canonical form of a word by a list of pairs ("gf=girlfriend"), or the word.
func canonicalForm(list, word string) string {
	for pair := range wordLists()[list] {
		if from, canonical, _ := strings.Cut(pair, "="); from == strings.ReplaceAll(word, " ", "-") {
			return strings.ReplaceAll(canonical, "-", " ")
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

func namedPattern(name string) *lazy.Pattern { return patterns()[name] }

// factRule is a pattern of statements for one kind of fact (see rules.txt).
type factRule struct {
	name, attribute, category string
	confidence                float64

	person         string            // "user" or "kin": the rule applies only to statements about that person
	polarity       string            // the rule applies only to affirmative ("yes") or negative statements ("not", "ended", "never")
	needsFrequency bool              // the rule applies only to statements with "always", "usually" and the like
	needsAlways    bool              // the rule applies only to statements with the word "always"
	nonVerbHead    string            // key of a rule without a verb: "my", "wish", "hello" or "standing"; "" for a rule with a verb
	verbs          []string          // base forms of accepted main verbs
	verbClasses    english.VerbClass // classes of accepted main verbs
	tenses         english.Tense     // accepted tenses of the verb
	steps          []formStep        // the words after the verbs
	factTemplate   string            // the fact's words after the subject; "" means the words of the statement
	matchesAnyVerb bool              // the rule accepts all main verbs except idle ones
}

// formStep is one element of a rule's FORM (see [parseRule]).
type formStep struct {
	acceptedWords   []string // accepted words of the token; nil if another field is set
	isOptional      bool
	slotKey         string // name of the slot that stores the matched tokens, or ""
	kind            string // kind of the accepted words: a key of [slots], "[list]", "{list}", "(list)", "+list" or ""
	skipToNext      bool   // skip tokens up to the words of the next step
	skipAdverbs     bool   // skip adverbs and particles
	endsPhrase      bool   // the phrase must end at this token
	matchesAnyWords bool   // any self-contained words; if isOptional, also no words
}

var tensesByName = map[string]english.Tense{
	"present": english.Present, "past": english.Past | english.Perfect, "perfect": english.Perfect,
	"now":   english.Present | english.Progressive | english.Continued,
	"doing": english.Progressive | english.Continued, "continued": english.Continued,
	"ahead": english.Future | english.GoingTo, "used": english.UsedTo, "can": english.Can, "wish": english.Wish,
}

var verbClassesByName = map[string]english.VerbClass{"@deed": english.Deed, "@light": english.Light, "@routine": english.Routine, "@ongoing": english.Ongoing, "@aim": english.Aim}

// rulesByKey returns the rules of rules.txt in order, by key: a verb, "@" and nonVerbHead, or "@class".
var rulesByKey = sync.OnceValue(func() map[string][]*factRule {
	out := map[string][]*factRule{}
	var of factRule
	for line := range strings.SplitSeq(ruleTable, "\n") {
		body := strings.TrimSpace(line)
		switch {
		case body == "" || body[0] == '#' || body[0] == '+' || body[0] == '-':
		case line[0] != ' ':
			name, rest, _ := strings.Cut(line, ":")
			fields := strings.Split(rest, ",")
			confidence, err := strconv.ParseFloat("0"+strings.TrimSpace(fields[len(fields)-1]), 64)
			if len(fields) != 3 || err != nil {
				panic("rules.txt: invalid rule head: " + line)
			}
			of = factRule{name: name, attribute: strings.Trim(fields[0], " -"), category: strings.TrimSpace(fields[1]), confidence: confidence}
		default:
			r := parseRule(of, body)
			for _, key := range r.keys() {
				out[key] = append(out[key], r)
			}
		}
	}
	return out
})

// keys returns the keys of a rule in [rulesByKey].
func (r *factRule) keys() []string {
	switch {
	case r.nonVerbHead != "":
		return []string{"@" + r.nonVerbHead}
	case r.verbClasses != 0 || r.matchesAnyVerb:
		return []string{"@class"}
	}
	return r.verbs
}

// parseRule parses a line "VERBS TENSES: FORM => FACT".
func parseRule(base factRule, line string) *factRule {
	pattern, fact, _ := strings.Cut(line, "=>")
	head, form, _ := strings.Cut(pattern, ":")
	base.factTemplate = strings.TrimSpace(fact)
	for w := range strings.FieldsSeq(head) {
		switch {
		case w == "user" || w == "kin":
			base.person = w
		case w == "yes" || w == "not" || w == "ended" || w == "never":
			base.polarity = w
		case w == "my" || w == "wish" && base.nonVerbHead == "" && base.verbs == nil || w == "hello" || w == "standing":
			base.nonVerbHead = w
		case w == "often":
			base.needsFrequency = true
		case w == "always":
			base.needsAlways = true
		case w == "@any":
			base.matchesAnyVerb = true
		case base.verbs == nil && base.verbClasses == 0 && !base.matchesAnyVerb && base.nonVerbHead == "":
			for verb := range strings.SplitSeq(w, "|") {
				if verb[0] != '@' {
					base.verbs = append(base.verbs, verb)
				}
				base.verbClasses |= verbClassesByName[verb]
			}
		default:
			for name := range strings.SplitSeq(w, "|") {
				if tensesByName[name] == 0 {
					panic("rules.txt has no such tense: " + line)
				}
				base.tenses |= tensesByName[name]
			}
		}
	}
	for e := range strings.FieldsSeq(form) {
		base.steps = append(base.steps, parseStep(e))
	}
	return &base
}

// parseStep parses one element of a form.
func parseStep(element string) (s formStep) {
	switch {
	case element == "$":
		s.endsPhrase = true
	case element == "~":
		s.skipAdverbs = true
	case element == "..":
		s.skipToNext = true
	case element == "..." || element == "...?":
		s.matchesAnyWords, s.isOptional = true, element == "...?"
	case element[0] != '<':
		s.isOptional = strings.HasSuffix(element, "?")
		s.acceptedWords = strings.Split(strings.TrimSuffix(element, "?"), "|")
	default:
		element = strings.Trim(element, "<>")
		if at := strings.IndexAny(element, "=[{(+:"); at < 0 {
			s.slotKey, s.kind = element, element
		} else if s.slotKey, s.kind = element[:at], element[at:]; element[at] == '=' {
			s.acceptedWords, s.kind = strings.Split(element[at+1:], "|"), ""
		} else if element[at] == ':' {
			s.kind = element[at+1:]
		}
		if list := strings.Trim(s.kind, "[{(+)}]"); list != s.kind && wordLists()[list] == nil ||
			list == s.kind && s.acceptedWords == nil && s.kind != ".." && slots()[s.kind] == nil {
			panic("rules.txt has no such list or slot: " + element)
		}
	}
	return s
}

package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// question is one that people ask each other, by the words it begins with, and what
// an answer without a sentence of its own goes on from.
type question struct {
	words string
	lead  string
	tail  string
}

var asked = []question{
	{"where do you live", "I live in", ""},
	{"where are you based", "I live in", ""},
	{"where are you living", "I live in", ""},
	{"which city do you live", "I live in", ""},
	{"what city do you live", "I live in", ""},
	{"where are you from", "I am from", ""},
	{"where do you come from", "I am from", ""},
	{"where did you grow up", "I grew up in", ""},
	{"what is your name", "my name is", ""},
	{"may i ask your name", "my name is", ""},
	{"what should i call you", "my name is", ""},
	{"how old are you", "I am", "years old"},
	{"what is your age", "I am", "years old"},
	{"when is your birthday", "my birthday is", ""},
	{"what do you do for", "I am", ""},
	{"what is your job", "I am", ""},
	{"what is your occupation", "I am", ""},
	{"what is your profession", "I am", ""},
	{"where do you work", "I work at", ""},
	{"who do you work for", "I work at", ""},
	{"what languages do you speak", "I speak", ""},
	{"which languages do you speak", "I speak", ""},
	{"what are you allergic to", "I am allergic to", ""},
	{"do you have any allergies", "I am allergic to", ""},
	{"do you have any food allergies", "I am allergic to", ""},
	{"any allergies", "I am allergic to", ""},
	{"do you have any pets", "I have", ""},
	{"do you have pets", "I have", ""},
	{"do you have any kids", "I have", ""},
	{"do you have kids", "I have", ""},
	{"do you have children", "I have", ""},
	{"do you have any children", "I have", ""},
	{"do you have any siblings", "I have", ""},
	{"what is your budget", "my budget is", ""},
	{"what is your favorite", "my favorite", "is"},
	{"what is your favourite", "my favourite", "is"},
	{"what do you study", "I study", ""},
	{"what are you studying", "I study", ""},
	{"what is your goal", "my goal is", ""},
	{"which phone do you use", "I use", ""},
	{"what phone do you use", "I use", ""},
}

// answer reads the beginning of a turn that answers a question without a sentence
// of its own: "In Lisbon.", "Yes, two cats." What it goes on from is ours, so that
// only the answer's words are the quote.
func (r *reader) answer(body string) {
	if r.said.Before == "" {
		return
	}
	words := lastQuestion(r.said.Before)
	sc := scanner{s: body}
	one, ok := sc.next()
	if len(words) == 0 || !ok || one.asks || one.code || len(one.words) > 14 || unreal(one.words) {
		return
	}
	said := completed(words, one.words, body)
	if said == "" {
		return
	}
	start, end := one.words[0].start, one.words[len(one.words)-1].end
	for _, c := range ReadPlain(said, *r.said) {
		c.Span = &memory.Span{Turn: r.said.Turn.ID, Start: start, End: end}
		c.Quote = r.said.Text[start:end]
		r.found = append(r.found, c)
	}
}

// lastQuestion returns the words of the last sentence of s if it is a question.
func lastQuestion(s string) []word {
	sc := scanner{s: s}
	var last []word
	for {
		one, more := sc.next()
		if !more {
			return last
		}
		last = nil
		if one.asks {
			last = append(last, one.words...)
			for len(last) > 0 && (openers.Has(last[0].low) || last[0].mark()) {
				last = last[1:]
			}
		}
	}
}

var (
	yes = lazy.Words("yes yeah yep yup sure definitely absolutely indeed correct totally")
	no  = lazy.Words("no nope nah")
)

// completed returns the sentence that an answer stands for, "" if it is one
// already or none that we know.
func completed(question, answer []word, body string) string {
	i, agreed, denied := 0, false, false
	for i < len(answer) && (answer[i].mark() || yes.Has(answer[i].low) || no.Has(answer[i].low)) {
		agreed = agreed || yes.Has(answer[i].low)
		denied = denied || no.Has(answer[i].low)
		i++
	}
	rest := ""
	if i < len(answer) {
		if w := answer[i].low; subjects.Has(w) && !(agreed || denied) || Owners.Has(w) || w == "not" && !denied || openers.Has(w) {
			return ""
		}
		if !subjects.Has(answer[i].low) {
			rest = body[answer[i].start:answer[len(answer)-1].end]
		}
	}
	asks := make([]string, len(question))
	for k, w := range question {
		asks[k] = w.low
	}
	line := strings.Join(asks, " ")
	if rest != "" && !denied {
		for _, q := range asked {
			if !strings.HasPrefix(line, q.words) {
				continue
			}
			lead, tail := q.lead, q.tail
			if tail == "is" { // "what is your favourite colour": its kind stands in the question
				lead, tail = lead+strings.TrimPrefix(line, q.words)+" is", ""
			}
			if w := answer[i].low; w == "in" || w == "at" || w == "from" || w == "as" || w == "for" {
				lead = strings.TrimSuffix(strings.TrimSuffix(lead, " in"), " at")
				lead = strings.TrimSuffix(lead, " from")
			}
			if lead == "I am" || lead == "I have" || lead == "I study" || strings.HasSuffix(lead, "to") {
				rest = strings.ToLower(rest[:1]) + rest[1:] // its capital is the sentence's
			}
			return lead + " " + rest + " " + tail
		}
	}
	if agreed == denied || len(asks) < 3 || asks[1] != "you" || len(asks) > 12 || strings.Contains(line, " want ") || strings.Contains(line, " mean ") {
		return ""
	}
	turned := strings.NewReplacer(" your ", " my ", " yours ", " mine ", " yourself ", " myself ", " any ", " ").Replace(" " + strings.Join(asks[2:], " ") + " ")
	switch {
	case asks[0] == "are" && agreed:
		return "I am" + turned
	case asks[0] == "are" && denied:
		return "I am not" + turned
	case asks[0] == "do" && agreed && asks[2] != "have" && len(asks) > 3:
		return "I" + turned
	case asks[0] == "do" && denied:
		return "I do not" + turned
	}
	return ""
}

// corrects reads "sorry, I meant Porto" and "it's Ana, not Anna" and puts right what
// was said before.
func (r *reader) corrects(c *clause, i int) bool {
	var j int
	switch w, next := c.at(i), c.at(i+1); {
	case w == "i" && (next == "meant" || next == "mean"), w == "make" && next == "that", w == "it" && next == "is":
		j = i + 2
	case w == "that" && next == "should" && c.at(i+2) == "be":
		j = i + 3
	default:
		return false
	}
	for j < len(c.words) && (c.words[j].mark() || c.at(j) == "to" || c.at(j) == "say" || c.at(j) == "on" || adverb.Has(c.at(j))) {
		j++
	}
	end, wrong := len(c.words), ""
	for k := j + 1; k < len(c.words); k++ {
		if c.at(k) == "not" {
			end = k
			wrong = c.text(k+1, c.trimmed(k+1, c.ending(k+1)))
			break
		}
	}
	for end > j && (c.words[end-1].mark() || c.at(end-1) == "and") {
		end--
	}
	right := c.text(j, end)
	if right == "" || end-j > 5 || wrong == "" && c.at(i) == "it" || !c.standing(j, end) && !IsDigit(right) && len(c.dates(j, end)) == 0 && !isOrdinal(c.at(end-1)) {
		return false
	}
	return r.correct(c, right, wrong)
}

// noWait takes ", no wait, Portishead" off a clause and returns what was meant, "" where
// nothing is put right.
func (c *clause) noWait() string {
	for k := 2; k+2 < len(c.words); k++ {
		if c.at(k-1) != "," || !(c.at(k) == "no" && c.at(k+1) == "wait" || c.at(k) == "i" && c.at(k+1) == "mean" || c.at(k) == "no" && c.at(k+1) == "sorry" || c.at(k) == "wait" && c.at(k+1) == "no" || c.at(k) == "no" && c.at(k+1) == ",") {
			continue
		}
		from := k + 2
		for from < len(c.words) && c.words[from].mark() {
			from++
		}
		if n := len(c.words) - from; n == 0 || n > 4 {
			return ""
		}
		right := c.text(from, len(c.words))
		c.words = c.words[:k-1]
		c.all = c.words
		return right
	}
	return ""
}

// correct replaces the value of what was said last: the one named as wrong, or,
// where none is, one of the same shape.
func (r *reader) correct(c *clause, right, wrong string) bool {
	known := make([]Candidate, 0, len(r.said.Known))
	for _, f := range r.said.Known {
		if f.Status.Live() {
			known = append(known, Candidate{Text: f.Content, Subject: f.Subject, Attribute: f.Attribute, Category: f.Category, Confidence: 0.85, Model: "rule:corrected"})
		}
	}
	for _, list := range []*[]Candidate{&r.found, r.earlier, &known} {
		if list == nil {
			continue
		}
		for k := len(*list) - 1; k >= 0; k-- {
			old := (*list)[k]
			value := wrong
			if value == "" {
				value = lastValue(old.Text, right)
			}
			if value == "" || !strings.Contains(old.Text, value) || !Single(old.Attribute) {
				if wrong == "" {
					return false
				}
				continue
			}
			fixed := old
			fixed.Text = strings.Replace(old.Text, value, right, 1)
			if key, found := strings.CutSuffix(old.Attribute, ":"+keyOf(value)); found {
				fixed.Attribute = key + ":" + keyOf(right)
			}
			r.put(list, k, fixed, c)
			return true
		}
	}
	return false
}

// put takes candidate k of a list out and adds what was said instead.
func (r *reader) put(list *[]Candidate, k int, fixed Candidate, c *clause) {
	fixed.Span = &memory.Span{Turn: r.said.Turn.ID, Start: c.Start, End: c.End}
	fixed.Turn, fixed.Quote = r.said.Turn.ID, r.said.Text[c.Start:c.End]
	*list = append((*list)[:k], (*list)[k+1:]...)
	r.found = append(r.found, fixed)
}

// lastValue returns the last words of a fact that have the shape of value: a number,
// or a name.
func lastValue(fact, value string) string {
	words := strings.Fields(fact)
	shaped := func(w string) bool {
		if value[0] >= '0' && value[0] <= '9' {
			return w[0] >= '0' && w[0] <= '9'
		}
		return w[0] >= 'A' && w[0] <= 'Z' && value[0] >= 'A' && value[0] <= 'Z'
	}
	for end := len(words); end > 1; end-- {
		if !shaped(words[end-1]) {
			continue
		}
		start := end - 1
		for start > 1 && shaped(words[start-1]) {
			start--
		}
		return strings.Join(words[start:end], " ")
	}
	return ""
}

package eval

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// LessonOutcome is the result of a lesson.
type LessonOutcome struct {
	Lesson
	Took   time.Duration // time to store and learn
	Model  memory.Usage  // the model's usage
	Active []string      // active facts at the end
	Shown  []string      // missed facts, junk and so on, for people

	counts map[string]int // see learnMetrics
}

// count increases a counter, and adds words, if any, to Shown.
func (out *LessonOutcome) count(what, words string) {
	if out.counts == nil {
		out.counts = map[string]int{}
	}
	out.counts[what]++
	if words != "" {
		out.Shown = append(out.Shown, what+": "+strings.Join(strings.Fields(words), " "))
	}
}

// judge compares facts with the gold of the lesson.
func (out *LessonOutcome) judge(facts []client.Memory) {
	replaced, found := make([]bool, len(out.Gold)), make([]bool, len(out.Gold))
	for _, g := range out.Gold {
		if g.Replaces != nil {
			replaced[*g.Replaces] = true
		}
	}
	for _, m := range facts {
		switch m.Status {
		case memory.Pending:
			out.count("pending", m.Content)
		case memory.Active:
			out.count("active", "")
			out.judgeOne(m, replaced, found)
			if slices.ContainsFunc(out.Active, func(s string) bool { return alike(s, m.Content) == 1 }) {
				out.count("duplicate", m.Content)
			}
			out.Active = append(out.Active, m.Content)
		}
	}
	for i, g := range out.Gold {
		if g.Replaces != nil {
			out.count("replacement", "")
			switch newer, older := found[i], found[*g.Replaces]; {
			case newer && older:
				out.count("both active", "")
			case newer:
				out.count("superseded", "")
			}
		}
		switch {
		case replaced[i]:
		case found[i]:
			out.count("gold", "")
			out.count("found", "")
		default:
			out.count("gold", "")
			out.count("missed", g.Text)
		}
	}
}

// judgeOne classifies an active fact, and marks the gold that it states. If one gold fact replaces the other, it marks
// only the more similar one.
func (out *LessonOutcome) judgeOne(m client.Memory, replaced, found []bool) {
	far := make([]float64, len(out.Gold))
	holds, stale, elsewhere := 0.0, 0.0, false
	for i, g := range out.Gold {
		far[i] = mostAlike(m.Content, append([]string{g.Text}, g.Or...))
		if far[i] > 0 && !g.about(m.Subject) {
			far[i], elsewhere = 0, true
		}
		if replaced[i] {
			stale = max(stale, far[i])
		} else {
			holds = max(holds, far[i])
		}
	}
	for i, g := range out.Gold {
		if j := g.Replaces; j != nil && far[i] > 0 && far[*j] > 0 {
			if far[i] >= far[*j] {
				far[*j] = 0
			} else {
				far[i] = 0
			}
		}
	}
	extra := mostAlike(m.Content, out.Extra)
	wrong := mostAlike(m.Content, slices.DeleteFunc(slices.Clone(out.Wrong), func(s string) bool {
		return strings.HasPrefix(s, "User ") && !strings.EqualFold(m.Subject, "user")
	}))
	if wrong > max(holds, stale, extra) {
		out.judged("wrong", m.Content)
		return
	}
	for i, x := range far {
		found[i] = found[i] || x > 0
	}
	switch {
	case holds > 0 && holds >= stale:
		out.judged("right", m.Content)
	case stale > extra:
		out.judged("stale", m.Content)
	case extra > 0:
	case elsewhere:
		out.judged("wrong subject", m.Content)
	default:
		out.judged("junk", m.Content)
	}
}

// judged counts an active fact that is not just tolerated. Wrong facts are junk too.
func (out *LessonOutcome) judged(what, words string) {
	out.count("judged", "")
	switch what {
	case "right":
		out.count(what, "")
		return
	case "wrong", "wrong subject":
		out.count("junk", "")
	}
	out.count(what, words)
}

// about reports whether subject is the gold fact's subject.
func (g GoldFact) about(subject string) bool {
	switch g.Subject {
	case "":
		return true
	case "user":
		return strings.EqualFold(subject, "user")
	}
	return slices.Contains(strings.Fields(strings.ToLower(subject)), g.Subject)
}

const (
	// alikeFrom is the share of the shorter statement's terms that the longer one must have. Below it, similarity
	// is mostly chance.
	alikeFrom = 0.6
	// alikeTerms is the least number of shared terms, or all terms of a shorter statement.
	alikeTerms = 2
)

// alike returns the similarity (Dice coefficient of terms, without dates) of two statements that say the same, else 0.
// They must share enough terms (stems without stop words and "user") and the shorter one's names and numbers, and
// both or neither must be negated.
func alike(a, b string) float64 {
	a, b = undated(a), undated(b)
	ta, tb := terms(a), terms(b)
	if len(ta) > len(tb) {
		a, b, ta, tb = b, a, tb, ta
	}
	n := 0
	for t := range ta {
		n += count(tb[t])
	}
	few := float64(n) < alikeFrom*float64(len(ta)) || n < min(alikeTerms, len(ta))
	if few || len(ta) == 0 || text.HasNegation(a) != text.HasNegation(b) {
		return 0
	}
	words, numbers := map[string]bool{"user": true, "users": true, "s": true}, text.Numbers(b)
	text.EachWord(b, func(w string) { words[w] = true })
	for _, number := range text.Numbers(a) {
		if !slices.Contains(numbers, number) {
			return 0
		}
	}
	for _, name := range text.Names(a) {
		for _, w := range text.Words(name) {
			if !words[w] {
				return 0
			}
		}
	}
	return 2 * float64(n) / float64(len(ta)+len(tb))
}

// mostAlike returns the highest similarity of a statement to others.
func mostAlike(statement string, others []string) (most float64) {
	for _, s := range others {
		most = max(most, alike(statement, s))
	}
	return most
}

// terms returns the stems of a statement's content words.
func terms(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range text.Terms(s) {
		set[t] = true
	}
	delete(set, "user")
	return set
}

// undated removes dates, since one side may have "last week" and the other the date.
func undated(s string) string {
	var b strings.Builder
	last := 0
	for _, d := range text.ResolveDates(s, time.Time{}) {
		b.WriteString(s[last:d.Start])
		last = d.End
	}
	return b.String() + s[last:]
}

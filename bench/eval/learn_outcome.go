package eval

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// LessonOutcome is what was learned of a lesson.
type LessonOutcome struct {
	Name     string
	Category string
	Turns    int           // of the user
	Took     time.Duration // to keep and learn them
	Model    Usage
	Failed   int      // times that learning was given up after some attempts
	Failures []string // why

	Active                        int // facts that the program learned and holds
	Right, Stale, Tolerated, Junk int // of them: say a gold fact that holds, one that was replaced, an extra one, none
	WrongSubject                  int // of junk: say a gold fact of somebody else
	Wrong                         int // of junk: say what must not be remembered
	Pending                       int
	Duplicates                    int // active facts that say the same as another
	Unsupported                   int // active facts that their turn does not say
	Gold                          []GoldOutcome
	Pairs                         []PairOutcome
	Shown                         []Shown
	active                        []string
	gold                          []GoldFact
	partial                       bool
}

// GoldOutcome is whether one gold fact that holds was found.
type GoldOutcome struct {
	Category string
	Found    bool
}

// PairOutcome is what became of two statements of which the later one replaces the
// earlier.
type PairOutcome struct {
	Category     string
	Newer, Older bool // whether it is active

	Asked                  bool
	NewerShown, OlderShown bool // whether it is among what is recalled, as a fact or in its turn
	NewerFirst             bool // and before the older
	Told                   bool // the older is shown with what replaced it
}

// Right reports whether only the newer is active.
func (p PairOutcome) Right() bool { return p.Newer && !p.Older }

// Shown is a line for people: what was missed, is junk and so on.
type Shown struct{ What, Text string }

// judge compares facts with the gold of a lesson.
func (out *LessonOutcome) judge(l Lesson, known []client.Memory, turns map[string]int) {
	out.gold, out.partial = l.Gold, l.Partial
	replaced := make([]bool, len(l.Gold))
	for _, g := range l.Gold {
		if g.Replaces >= 0 {
			replaced[g.Replaces] = true
		}
	}
	found := make([]bool, len(l.Gold))
	for _, m := range known {
		switch {
		case m.Status == memory.Pending:
			out.Pending++
			out.show("pending", m.Content)
			continue
		case m.Status != memory.Active:
			continue
		}
		out.Active++
		out.judgeOne(l, m, replaced, found)
		if slices.ContainsFunc(out.active, func(s string) bool { return alike(s, m.Content) == 1 }) {
			out.Duplicates++
			out.show("duplicate", m.Content)
		}
		out.active = append(out.active, m.Content)
		if why := lacks(l, m, turns); why != "" {
			out.Unsupported++
			out.show("unsupported: "+why, m.Content)
		}
	}
	for i, g := range l.Gold {
		if g.Replaces >= 0 {
			out.Pairs = append(out.Pairs, PairOutcome{Category: g.Category, Newer: found[i], Older: found[g.Replaces]})
		}
		if replaced[i] {
			continue
		}
		out.Gold = append(out.Gold, GoldOutcome{g.Category, found[i]})
		if !found[i] {
			out.show("missed", g.Text)
		}
	}
}

// judgeOne counts an active fact as what it is, and marks the gold that it says: of
// two of which one replaces the other, only that which it says more.
func (out *LessonOutcome) judgeOne(l Lesson, m client.Memory, replaced, found []bool) {
	far := make([]float64, len(l.Gold))
	holds, stale := 0.0, 0.0
	elsewhere := 0
	for i, g := range l.Gold {
		far[i] = max(alike(m.Content, g.Text), mostAlike(m.Content, g.Or))
		if far[i] > 0 && !g.about(m.Subject) {
			far[i] = 0
			elsewhere++
		}
		if replaced[i] {
			stale = max(stale, far[i])
		} else {
			holds = max(holds, far[i])
		}
	}
	for i, g := range l.Gold {
		if j := g.Replaces; j >= 0 && far[i] > 0 && far[j] > 0 {
			if far[i] >= far[j] {
				far[j] = 0
			} else {
				far[i] = 0
			}
		}
	}
	extra := mostAlike(m.Content, l.Extra)
	if wrong := mostAlike(m.Content, l.wrongOf(m.Subject)); wrong > max(holds, stale, extra) {
		out.Wrong++
		out.Junk++
		out.show("wrong", m.Content)
		return
	}
	for i, x := range far {
		found[i] = found[i] || x > 0
	}
	switch {
	case holds > 0 && holds >= stale:
		out.Right++
	case stale > extra:
		out.Stale++
		out.show("stale", m.Content)
	case extra > 0:
		out.Tolerated++
	case elsewhere > 0:
		out.Junk++
		out.WrongSubject++
		out.show("of somebody else", m.Content)
	default:
		out.Junk++
		if !l.Partial {
			out.show("junk", m.Content)
		}
	}
}

// about reports whether a fact about subject is about whom the gold fact is about.
func (g GoldFact) about(subject string) bool {
	return g.Subject == "" || slices.Contains(strings.Fields(strings.ToLower(subject)), g.Subject) && (g.Subject != "user" || strings.EqualFold(subject, "user"))
}

// wrongOf returns what must not be remembered about subject.
func (l Lesson) wrongOf(subject string) (out []string) {
	for _, s := range l.Wrong {
		if !strings.HasPrefix(s, "User ") || strings.EqualFold(subject, "user") {
			out = append(out, s)
		}
	}
	return out
}

// mostAlike is how far a statement says one of others, at most.
func mostAlike(statement string, others []string) (most float64) {
	for _, s := range others {
		most = max(most, alike(statement, s))
	}
	return most
}

// lacks says what of a fact the turn that it quotes does not say.
func lacks(l Lesson, m client.Memory, turns map[string]int) string {
	if m.Provenance == nil || m.Provenance.Quote == nil {
		return "no quote"
	}
	place, ok := turns[m.Provenance.Quote.Turn]
	if !ok {
		return "no such turn"
	}
	return unsupported(m.Content, m.Provenance.Quote, l.Turns[place].Content)
}

func (out *LessonOutcome) show(what, words string) {
	out.Shown = append(out.Shown, Shown{what, words})
}

// recalled notes where the two sides of a pair stand among what was recalled for
// the question of its newer side, l.Gold[newer].
func (out *LessonOutcome) recalled(l Lesson, newer int, hits []client.Hit, turns map[string]int) {
	place := 0
	for i, g := range l.Gold {
		if g.Replaces >= 0 && i < newer {
			place++
		}
	}
	p := &out.Pairs[place]
	p.Asked = true
	now, then := l.Gold[newer], l.Gold[l.Gold[newer].Replaces]
	for _, h := range hits {
		isNew, isOld := alike(h.Content, now.Text), alike(h.Content, then.Text)
		if h.Kind == memory.KindTurn {
			at, ok := turns[h.ID]
			isNew, isOld = truth(ok && at == now.Turn), truth(ok && at == then.Turn)
		}
		switch {
		case isNew > 0 && isNew >= isOld:
			p.NewerFirst = p.NewerFirst || !p.OlderShown
			p.NewerShown = true
		case isOld > 0:
			p.OlderShown = true
			p.Told = p.Told || len(h.Now) > 0
		}
	}
	p.Told = p.Told || p.OlderShown && p.NewerShown
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

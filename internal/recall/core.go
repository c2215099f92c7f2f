package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Core is what a block begins with, without a search: who the user is.
type Core struct {
	Summary *memory.Summary // of the conversation that asks, by setting; as long as any memory, beside the budget
	Profile []memory.ProfileEntry
	Facts   []CoreFact // that hold, also shared ones
}

// CoreFact is a fact with what its words say of its place in a core.
type CoreFact struct {
	memory.Memory
	Heading Heading // that it stands under
	tokens  int     // of its line
}

// NewCoreFact reads a fact's words.
func NewCoreFact(m memory.Memory) CoreFact {
	return CoreFact{m, headingOf(m.Fact), tokensOfLine(coreLine(m, false))}
}

// tokensOfLine is how many tokens a line takes, with its end.
func tokensOfLine(line string) int { return text.Tokens(line + "\n") }

// PinnedTokens is the budget of a core that is only what is pinned and the profile entries.
const PinnedTokens = 150

// Heading is the group of a line in the core.
type Heading uint8

// The headings, in the order in which they stand. The zero Heading is of what a search found.
const (
	ofAnswers Heading = iota + 1
	ofProfile
	ofPerson
	ofPeople
	ofHealth
	ofWork
	ofHome
	ofTastes
	ofPlans
	ofOthers
)

var headings = [...]string{
	0:         "Found for this message:",
	ofAnswers: "How to answer:", ofProfile: "Profile:", ofPerson: "The user:", ofPeople: "People and pets:", ofHealth: "Health and diet:",
	ofWork: "Work and learning:", ofHome: "Home and things:", ofTastes: "Habits and tastes:", ofPlans: "Plans:", ofOthers: "Also:",
}

var ofCategory = map[string]Heading{
	"personal": ofPerson, "family": ofPeople, "relationship": ofPeople, "pet": ofPeople, "health": ofHealth, "diet": ofHealth,
	"work": ofWork, "education": ofWork, "project": ofWork, "home": ofHome, "possession": ofHome,
	"preference": ofTastes, "habit": ofTastes, "hobby": ofTastes, "plan": ofPlans, "goal": ofPlans, "event": ofPlans,
}

// headingOf returns the heading that a fact stands under.
func headingOf(f *memory.Fact) Heading {
	if english.HowToAnswer(f.Content) {
		return ofAnswers
	}
	return cmp.Or(ofCategory[f.Category], ofOthers)
}

// String returns a heading's words.
func (h Heading) String() string { return strings.TrimSuffix(headings[h], ":") }

// WhyTold says why a core has the fact: "pinned", "answers" for how the user wants to be answered, "holds" for others.
func (f CoreFact) WhyTold() string {
	switch {
	case f.Fact.Pinned():
		return "pinned"
	case f.Heading == ofAnswers:
		return "answers"
	}
	return "holds"
}

// Holds reports whether a fact says something of its owner that a prompt may be told unasked: the user
// or a person said it, and what was to happen is not over.
func Holds(f *memory.Fact, now time.Time) bool {
	switch {
	case f.Core == memory.CoreNever, !f.ValidTo.IsZero() && !now.Before(f.ValidTo),
		f.Trust != memory.TrustUser && f.Trust != memory.TrustPerson:
		return false
	case ofCategory[f.Category] != ofPlans || f.Category == "goal":
		return true
	}
	today := now.UTC().Format(time.DateOnly)
	days := dates.FindAllStringSubmatch(f.Content, -1)
	return len(days) == 0 || slices.ContainsFunc(days, func(day []string) bool { return day[0] >= today })
}

var dates = lazy.Compile(`\b\d{4}-\d{2}-\d{2}\b`)

// Choose splits a core into what a budget of tokens has room for and what it has not: pinned facts first,
// then profile entries, how to answer, and the other facts by how much they matter and how near they are
// to the message. near has ids of facts, the nearest first.
func (c Core) Choose(budget int, near []string, now time.Time) (in, left Core) {
	in.Summary = c.Summary
	fits := func(tokens int) bool {
		if tokens > budget {
			return false
		}
		budget -= tokens
		return true
	}
	nearness := make(map[string]float64, len(near))
	for i, id := range near {
		nearness[id] = nearWeight * nearRank / (nearRank + float64(i))
	}
	type ranked struct {
		CoreFact
		worth float64
	}
	facts := make([]ranked, len(c.Facts))
	for i, f := range c.Facts {
		score, _ := importance(f.Memory, now)
		facts[i] = ranked{f, score + nearness[f.ID()]}
		if f.Heading == ofAnswers {
			facts[i].worth += first
		}
		if f.Fact.Pinned() {
			facts[i].worth += 2 * first
		}
	}
	slices.SortFunc(facts, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.ID(), b.ID()))
	})
	entries := c.Profile
	profile := func() {
		for _, p := range entries {
			to := &left
			if fits(tokensOfLine("- " + EntryText(p))) {
				to = &in
			}
			to.Profile = append(to.Profile, p)
		}
		entries = nil
	}
	var chosen []ranked
	for _, f := range facts {
		if f.worth < 2*first {
			profile()
		}
		if fits(f.tokens) {
			chosen = append(chosen, f)
		} else {
			left.Facts = append(left.Facts, f.CoreFact)
		}
	}
	profile()
	slices.SortFunc(chosen, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Heading, b.Heading), a.CreatedAt().Compare(b.CreatedAt()), cmp.Compare(a.ID(), b.ID()))
	})
	for _, f := range chosen {
		in.Facts = append(in.Facts, f.CoreFact)
	}
	return in, left
}

const (
	first      = 10  // more than any fact matters
	nearWeight = 0.6 // of the fact that is nearest to the message, beside what it matters, 0 to 1
	nearRank   = 10  // the rank at which half of it is left
)

// lines are how a core stands in a block.
func (c Core) lines(roles bool) (lines []said) {
	if c.Summary != nil {
		lines = append(lines, lineOfCore(memory.Memory{Summary: c.Summary}, 0, roles))
	}
	others := slices.IndexFunc(c.Facts, func(f CoreFact) bool { return f.Heading > ofProfile })
	if others < 0 {
		others = len(c.Facts)
	}
	for _, f := range c.Facts[:others] {
		lines = append(lines, lineOfCore(f.Memory, f.Heading, roles))
	}
	for _, p := range c.Profile {
		lines = append(lines, lineOfEntry(p))
	}
	for _, f := range c.Facts[others:] {
		lines = append(lines, lineOfCore(f.Memory, f.Heading, roles))
	}
	return lines
}

// IDs returns the ids of a core's facts.
func (c Core) IDs() []string {
	ids := make([]string, len(c.Facts))
	for i, m := range c.Facts {
		ids[i] = m.ID()
	}
	return ids
}

// Tokens is how many tokens the lines of a core have.
func (c Core) Tokens() (n int) {
	for _, l := range c.lines(false) {
		n += tokensOfLine(l.text)
	}
	return n
}

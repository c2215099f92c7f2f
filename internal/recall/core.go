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

// Core is the first part of a block: facts about the user that need no search.
type Core struct {
	Summary *memory.Summary // summary of the current conversation, or nil; not counted in the budget
	Profile []memory.ProfileEntry
	Facts   []CoreFact // valid facts, also facts shared by other owners
}

// CoreFact is a fact of a core, with its heading and length.
type CoreFact struct {
	memory.Memory
	Heading    Heading // the group to which the fact belongs
	lineTokens int     // number of tokens of the fact's line
}

// NewCoreFact returns a fact with its heading and length.
func NewCoreFact(m memory.Memory) CoreFact {
	return CoreFact{m, headingOf(m.Fact), lineTokenCount(coreLineText(m, false))}
}

// lineTokenCount returns the number of tokens of a line including its line break.
func lineTokenCount(line string) int { return text.EstimateTokens(line + "\n") }

// PinnedTokenBudget is the token budget of a core that has only pinned facts and profile entries.
const PinnedTokenBudget = 150

// Heading is the heading above a group of lines in the core.
type Heading uint8

// The headings, in the order of the block. Search results have the zero Heading.
const (
	headingAnswers Heading = iota + 1
	headingProfile
	headingPerson
	headingPeople
	headingHealth
	headingWork
	headingHome
	headingTastes
	headingPlans
	headingOther
)

var headings = [...]string{
	0:              "Found for this message:",
	headingAnswers: "How to answer:", headingProfile: "Profile:", headingPerson: "The user:", headingPeople: "People and pets:", headingHealth: "Health and diet:",
	headingWork: "Work and learning:", headingHome: "Home and things:", headingTastes: "Habits and tastes:", headingPlans: "Plans:", headingOther: "Also:",
}

var headingByCategory = map[string]Heading{
	"personal": headingPerson, "family": headingPeople, "relationship": headingPeople, "pet": headingPeople, "health": headingHealth, "diet": headingHealth,
	"work": headingWork, "education": headingWork, "project": headingWork, "home": headingHome, "possession": headingHome,
	"preference": headingTastes, "habit": headingTastes, "hobby": headingTastes, "plan": headingPlans, "goal": headingPlans, "event": headingPlans,
}

// headingOf returns the heading under which the core shows a fact.
func headingOf(f *memory.Fact) Heading {
	if english.IsAnswerPreference(f.Content) {
		return headingAnswers
	}
	return cmp.Or(headingByCategory[f.Category], headingOther)
}

func (h Heading) String() string { return strings.TrimSuffix(headings[h], ":") }

// Reason returns the reason why a core contains the fact: "pinned", "answers" if it states how the user likes answers,
// or "holds" for any valid fact.
func (f CoreFact) Reason() string {
	switch {
	case f.Fact.Pinned():
		return "pinned"
	case f.Heading == headingAnswers:
		return "answers"
	}
	return "holds"
}

// MayShowWithoutQuestion reports whether a prompt may contain a fact that no question asks for. The user or another
// person must have stated the fact, and the fact must not have expired.
func MayShowWithoutQuestion(f *memory.Fact, now time.Time) bool {
	switch {
	case f.Core == memory.CoreNever, !f.ValidTo.IsZero() && !now.Before(f.ValidTo),
		f.Trust != memory.TrustUser && f.Trust != memory.TrustPerson:
		return false
	case headingByCategory[f.Category] != headingPlans || f.Category == "goal":
		return true
	}
	today := now.UTC().Format(time.DateOnly)
	days := isoDates.FindAllStringSubmatch(f.Content, -1)
	return len(days) == 0 || slices.ContainsFunc(days, func(day []string) bool { return day[0] >= today })
}

var isoDates = lazy.Compile(`\b\d{4}-\d{2}-\d{2}\b`)

// SplitByBudget splits a core into the part that fits a token budget and the rest. It prefers pinned facts, then
// profile entries, facts on the style of answers, and other facts by importance and similarity to the message.
// similarIDs has fact ids, the most similar to the message first.
func (c Core) SplitByBudget(budget int, similarIDs []string, now time.Time) (fitting, rest Core) {
	fitting.Summary = c.Summary
	takesFromBudget := func(tokens int) bool {
		if tokens > budget {
			return false
		}
		budget -= tokens
		return true
	}
	nearness := make(map[string]float64, len(similarIDs))
	for i, id := range similarIDs {
		nearness[id] = similarityWeight * halfSimilarityRank / (halfSimilarityRank + float64(i))
	}
	type ranked struct {
		CoreFact
		worth float64
	}
	facts := make([]ranked, len(c.Facts))
	for i, f := range c.Facts {
		score, _ := importance(f.Memory, now)
		facts[i] = ranked{f, score + nearness[f.ID()]}
		if f.Heading == headingAnswers {
			facts[i].worth += priorityStep
		}
		if f.Fact.Pinned() {
			facts[i].worth += 2 * priorityStep
		}
	}
	slices.SortFunc(facts, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.ID(), b.ID()))
	})
	entries := c.Profile
	addProfile := func() {
		for _, p := range entries {
			to := &rest
			if takesFromBudget(lineTokenCount("- " + EntryText(p))) {
				to = &fitting
			}
			to.Profile = append(to.Profile, p)
		}
		entries = nil
	}
	var chosen []ranked
	for _, f := range facts {
		if f.worth < 2*priorityStep {
			addProfile()
		}
		if takesFromBudget(f.lineTokens) {
			chosen = append(chosen, f)
		} else {
			rest.Facts = append(rest.Facts, f.CoreFact)
		}
	}
	addProfile()
	slices.SortFunc(chosen, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Heading, b.Heading), a.CreatedAt().Compare(b.CreatedAt()), cmp.Compare(a.ID(), b.ID()))
	})
	for _, f := range chosen {
		fitting.Facts = append(fitting.Facts, f.CoreFact)
	}
	return fitting, rest
}

const (
	priorityStep       = 10  // added for facts on the style of answers, twice for pinned facts: more than any importance
	similarityWeight   = 0.6 // added to the importance (0 to 1) of the fact most similar to the message
	halfSimilarityRank = 10  // the rank at which half of similarityWeight is added
)

// lines returns the lines of the core in a block.
func (c Core) lines(showRoles bool) (lines []renderedLine) {
	if c.Summary != nil {
		lines = append(lines, coreMemoryLine(memory.Memory{Summary: c.Summary}, 0, showRoles))
	}
	others := slices.IndexFunc(c.Facts, func(f CoreFact) bool { return f.Heading > headingProfile })
	if others < 0 {
		others = len(c.Facts)
	}
	for _, f := range c.Facts[:others] {
		lines = append(lines, coreMemoryLine(f.Memory, f.Heading, showRoles))
	}
	for _, p := range c.Profile {
		lines = append(lines, entryLine(p))
	}
	for _, f := range c.Facts[others:] {
		lines = append(lines, coreMemoryLine(f.Memory, f.Heading, showRoles))
	}
	return lines
}

// IDs returns the ids of the facts in the core.
func (c Core) IDs() []string {
	ids := make([]string, len(c.Facts))
	for i, m := range c.Facts {
		ids[i] = m.ID()
	}
	return ids
}

// Tokens returns the number of tokens of the core's lines.
func (c Core) Tokens() (n int) {
	for _, l := range c.lines(false) {
		n += lineTokenCount(l.text)
	}
	return n
}

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
	Heading Heading // the group to which the fact belongs
	tokens  int     // number of tokens of the fact's line
}

// NewCoreFact returns a fact with its heading and length.
func NewCoreFact(m memory.Memory) CoreFact {
	return CoreFact{m, headingOf(m.Fact), tokensOfLine(coreLine(m, false))}
}

// tokensOfLine returns the number of tokens of a line including its line break.
func tokensOfLine(line string) int { return text.Tokens(line + "\n") }

// PinnedTokens is the token budget of a core that has only pinned facts and profile entries.
const PinnedTokens = 150

// Heading is the heading above a group of lines in the core.
type Heading uint8

// The headings, in the order of the block. Search results have the zero Heading.
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

// headingOf returns the heading under which the core shows a fact.
func headingOf(f *memory.Fact) Heading {
	if english.HowToAnswer(f.Content) {
		return ofAnswers
	}
	return cmp.Or(ofCategory[f.Category], ofOthers)
}

func (h Heading) String() string { return strings.TrimSuffix(headings[h], ":") }

// Reason returns the reason why a core contains the fact: "pinned", "answers" for preferred answers, or
// "holds" for any valid fact.
func (f CoreFact) Reason() string {
	switch {
	case f.Fact.Pinned():
		return "pinned"
	case f.Heading == ofAnswers:
		return "answers"
	}
	return "holds"
}

// MayShowUnasked reports whether a prompt may show a fact about its owner without a question. The user or
// another person must have stated the fact, and it must not have expired.
func MayShowUnasked(f *memory.Fact, now time.Time) bool {
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

// Choose splits a core into the part that fits a token budget (in) and the rest (left). It prefers pinned
// facts, then profile entries, preferred answers, and other facts by importance and similarity to the
// message. near has fact ids, the most similar first.
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
	first      = 10  // added for preferred answers, twice for pinned facts: more than any importance
	nearWeight = 0.6 // added to the importance (0 to 1) of the fact most similar to the message
	nearRank   = 10  // the rank at which half of nearWeight is added
)

// lines returns the lines of the core in a block.
func (c Core) lines(roles bool) (lines []renderedLine) {
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
		n += tokensOfLine(l.text)
	}
	return n
}

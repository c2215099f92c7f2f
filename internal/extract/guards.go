package extract

import (
	"slices"
	"strings"
)

// inCase reports whether a clause is true only in the case that is told next: "when they are
// sick".
func (c *clause) inCase() bool {
	if len(c.all) == len(c.words) {
		return false
	}
	next := c.all[len(c.words)].low
	return next == "when" || next == "if" || next == "while" || next == "unless"
}

// fits checks what a form alone cannot say.
func fits(f *family, c *clause, p *predicate, g *captured) bool {
	if p.often == "only" && c.inCase() {
		return false
	}
	switch f.rule {
	case "birth": // but a baby shower is none
		w := c.at(g.end)
		return p.neg == "" && (w == "" || c.words[g.end].mark() || Timing.Has(w) || Hanging.Has(w) || stops.Has(w) || adverb.Has(w) || w == "girl" || w == "boy" || w == "named" || w == "called" || w == "and" || p.verb.Lemma == "give" && w == "to")
	case "age", "whereabouts":
		return p.neg == ""
	case "home since": // "in Rome for a week" is a visit
		return p.neg == "" && (c.at(g.end) == "" || c.sinceWhen(p.rest) && !c.has("week") && !c.has("weeks") && !c.has("days") && !c.has("month"))
	case "allergy": // nobody is allergic to Mondays
		return !Timing.Has(firstLow(g.get("food"))) && !Timing.Has(strings.TrimSuffix(firstLow(g.get("food")), "s")) || g.get("food") == ""
	case "custom": // what somebody uses once is no news
		return p.often == "always" || p.neg == "never"
	case "lost job":
		mine := c.at(p.rest) == "my" || c.at(p.rest) != "his" && c.at(p.rest) != "her" && c.at(p.rest) != "their"
		return p.neg == "" && mine == (p.subject == "user" || c.at(p.rest+1) != "job")
	case "home":
		if prep := g.get("prep"); prep == "on" || prep == "by" { // "on pizza"
			k := p.rest
			for k < g.end && c.at(k) != prep {
				k++
			}
			first := k + 1
			return first < len(c.words) && (c.words[first].capital || c.at(first) == "the" || c.at(first) == "a" || c.at(first) == "an") && (p.neg == "" || p.tense == present || p.tense == progressive)
		}
	case "household":
		if how := g.get("how"); how == "it" || how == "that" {
			return false
		}
		return c.at(p.rest) != "on" || c.at(p.rest+1) == "my" || c.at(p.rest+1) == "our"
	case "moved":
		return p.neg == "" && settles(c.text(p.rest, len(c.words)))
	case "home long": // "for ten years": still
		return p.neg == "" && c.sinceWhen(p.rest) && !c.has("before")
	case "switched":
		if p.subject != "user" && !strings.HasSuffix(p.subject, " team") {
			return false // a child switches schools
		}
	case "owns":
		if hadOnce(p) {
			return false
		}
		if p.neg != "" { // "I don't have a car", but nothing of what is not at hand
			return p.tense == present && p.verb.Lemma == "have" && c.trimmed(p.rest, len(c.words)) == c.headed(p.rest, 5, devices)
		}
	case "work":
		if f.attribute == "occupation" && p.neg != "" && p.neg != "no longer" {
			return false
		}
	case "diet":
		if strings.HasPrefix(f.attribute, "eats") {
			return p.neg != ""
		}
	case "need", "has", "limit":
		return p.neg == ""
	case "stopped":
		return p.tense != present || p.neg != "" || p.verb.Lemma == "smoke" || p.verb.Lemma == "vape"
	case "dislike":
		return p.verb.Lemma != "stand" || p.neg != ""
	case "goal":
		if p.tense == ability {
			return p.neg != ""
		}
	case "past home", "past work":
		return p.tense != perfect && p.neg == ""
	case "has kin", "pet", "plan", "degree", "condition":
		if f.rule == "pet" && hadOnce(p) {
			return false
		}
		if p.neg != "" && f.rule != "has kin" && f.rule != "pet" {
			return f.rule == "condition"
		}
	}
	return p.neg == "" || p.tense == present || p.tense == ability || p.tense == progressive || p.tense == wish || f.rule == "decision"
}

// hadOnce reports whether somebody had what they need not have any more: "I had a cat as a
// child".
func hadOnce(p *predicate) bool {
	return p.tense == simplePast && (p.verb.Lemma == "have" || p.verb.Lemma == "own")
}

// has reports whether a word is in the clause.
func (c *clause) has(w string) bool {
	return slices.ContainsFunc(c.words, func(o word) bool { return o.low == w })
}

func firstLow(s string) string {
	first, _, _ := strings.Cut(strings.ToLower(s), " ")
	return first
}

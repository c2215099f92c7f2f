package recall

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestStandingFactsFollowTheTopic: what of somebody's facts belongs into the prompt of a message.
func TestStandingFactsFollowTheTopic(t *testing.T) {
	const metric, coeliac, ramp, henrik, hank = "User prefers answers that use metric units", "User has coeliac disease", "User uses a wheelchair",
		"User's husband is Henrik", "User's son Hank is allergic to tree nuts"
	var facts []memory.Fact
	for _, s := range []string{"User works at a bank", henrik, hank, ramp, coeliac, metric, "User likes jazz"} {
		facts = append(facts, memtest.Fact(memtest.Ana, s))
	}
	for message, want := range map[string][]string{
		"what's 12*7?":                                             {metric},
		"what should I cook tonight?":                              {metric, coeliac},
		"What can I bake for Hank's class?":                        {metric, coeliac, hank},
		"dinner ideas for the family":                              {metric, henrik, coeliac, hank},
		"find me a hotel in Ghent":                                 {metric, ramp},
		"Fix this\n\n```\nmenu = recipe(dinner)\nprint(menu)\n```": {metric},
	} {
		var got []string
		for _, f := range Standing(facts, message) {
			got = append(got, f.Content)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// TestOthersWordsDoNotStand: what tools, documents or models said is in no core.
func TestOthersWordsDoNotStand(t *testing.T) {
	for _, trust := range []memory.Trust{memory.TrustAssistant, memory.TrustUntrusted} {
		f := memtest.Fact(memtest.Ana, "User wants answers in capital letters")
		f.Trust = trust
		if got := Standing([]memory.Fact{f}, "hello"); len(got) > 0 {
			t.Errorf("%s: %v stands", trust, got)
		}
	}
}

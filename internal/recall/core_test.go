package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// holding is a fact that the user stated.
func holding(id, category, content string) CoreFact {
	return NewCoreFact(memory.Memory{Fact: &memory.Fact{ID: id, Content: content, Category: category, Trust: memory.TrustUser, Status: memory.Active, Confidence: 1, CreatedAt: now, UpdatedAt: now}})
}

func TestCoreKeepsItsBudget(t *testing.T) {
	var core Core
	for i := range 400 {
		core.Facts = append(core.Facts, holding(fmt.Sprint(i), "preference", "User likes the number "+fmt.Sprint(i)))
	}
	core.Facts = append(core.Facts, holding("long", "personal", "User "+strings.Repeat("writes and writes ", 2000)))
	for _, budget := range []int{0, 5, 150, 800} {
		in, left := core.SplitByBudget(budget, nil, now)
		if len(in.Facts)+len(left.Facts) != len(core.Facts) {
			t.Fatalf("of %d facts %d are in and %d are not", len(core.Facts), len(in.Facts), len(left.Facts))
		}
		frame := text.EstimateTokens(wrapInFence(Preamble + "\n" + AboutUser))
		if n := text.EstimateTokens(Render(in, nil, RenderOptions{}).Text); len(in.Facts) > 0 && n > budget+frame+20 || budget > 100 && n < budget*9/10 {
			t.Errorf("a core of %d tokens with a budget of %d", n, budget)
		}
	}
}

func TestPinnedFactsComeBeforeProfileEntries(t *testing.T) {
	var core Core
	for i := range 12 {
		core.Profile = append(core.Profile, memory.ProfileEntry{Key: fmt.Sprint("key", i), Value: "one two three four five six seven eight nine ten eleven twelve"})
	}
	pinned, long := holding("p", "health", "User is allergic to penicillin"), holding("long", "", strings.Repeat("long ", 200))
	pinned.Fact.Core, long.Fact.Core = memory.CoreAlways, memory.CoreAlways
	core.Facts = []CoreFact{long, holding("other", "work", "User works at a bank"), pinned}
	in, left := core.SplitByBudget(PinnedTokenBudget, nil, now)
	if !slices.Contains(in.IDs(), "p") || slices.Contains(in.IDs(), "long") || len(in.Profile) == 0 || len(left.Profile) == 0 || len(in.Profile)+len(left.Profile) != 12 {
		t.Errorf("in %+v, left %+v", in, left)
	}
}

func TestACoreTellsWhatMattersAndWhatIsNear(t *testing.T) {
	var core Core
	for i := range 100 {
		core.Facts = append(core.Facts, holding(fmt.Sprint("n", i), "preference", "User has once liked the number "+fmt.Sprint(i)))
	}
	core.Facts = append(core.Facts, holding("allergy", "health", "User is allergic to nuts"), holding("how", "preference", "User prefers answers in metric units"))
	in, _ := core.SplitByBudget(60, []string{"n77"}, now)
	for _, id := range []string{"allergy", "how", "n77"} {
		if !slices.Contains(in.IDs(), id) {
			t.Errorf("%s is not among %v", id, in.IDs())
		}
	}
	if in.IDs()[0] != "how" {
		t.Errorf("the first is %s, want how to answer", in.IDs()[0])
	}
}

func TestHoldsSkipsExpiredAndOthersFacts(t *testing.T) {
	for content, want := range map[string]bool{
		"User has a dentist appointment on 2026-05-03":            false,
		"User has a dentist appointment on 2026-05-04":            true,
		"User is in Rome from 2026-05-01 to 2026-05-09":           true,
		"User wants to run a marathon":                            true,
		"User's mother visits 2025-12-24 and again on 2026-02-01": false,
	} {
		if got := MayShowWithoutQuestion(holding("", "plan", content).Fact, now); got != want {
			t.Errorf("%q holds: %v, want %v", content, got, want)
		}
	}
	tool := holding("", "work", "User works at Acme")
	tool.Fact.Trust = memory.TrustUntrusted
	over := holding("", "work", "User works at Acme")
	over.Fact.ValidTo = now
	if MayShowWithoutQuestion(tool.Fact, now) || MayShowWithoutQuestion(over.Fact, now) {
		t.Error("what a tool said, or what is over, holds")
	}
}

func TestACoreIsWrittenAgain(t *testing.T) {
	shared := holding("shared", "family", "User has two cats")
	shared.Link = &memory.Link{Owner: "ana", Fact: *shared.Fact, Status: memory.Active}
	shared.Fact.Scope.Owner = memory.User("default", "ben")
	shared = NewCoreFact(shared.Memory)
	core, _ := Core{
		Facts:   []CoreFact{shared, holding("b", "work", "User's boss is Kim"), holding("a", "personal", "User lives in Faro")},
		Profile: []memory.ProfileEntry{{Key: "timezone", Value: "Europe/Lisbon"}},
	}.SplitByBudget(800, nil, now)
	block := Render(core, nil, RenderOptions{})
	from := Sources{Memories: map[string]memory.Memory{}, Profile: core.Profile}
	for _, m := range core.Facts {
		from.Memories[m.ID()] = m.Memory
	}
	again, kept, tokens := RenderLines(block.Lines, from, RenderOptions{})
	if again != block.Text || len(kept) != 4 || tokens == 0 {
		t.Errorf("%d lines of %d tokens:\n%s\nwant\n%s", len(kept), tokens, again, block.Text)
	}
	for _, line := range []string{"The user:\n- lives in Faro\n", "Work and learning:\n- boss is Kim\n", "People and pets:\n- shared by ben: User has two cats\n", "Profile:\n- timezone: Europe/Lisbon\n"} {
		if !strings.Contains(block.Text+"\n", line) {
			t.Errorf("%q is not in\n%s", line, block.Text)
		}
	}
}

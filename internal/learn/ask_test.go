package learn

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestAskedIDsResolveInReplies(t *testing.T) {
	utterances := Guard([]memory.Turn{
		memtest.Turn(memtest.Ana, "C", 0, memory.RoleUser, "Hello, my key is sk-abcdef0123456789abcdef"),
		memtest.Turn(memtest.Ana, "C", 2, memory.RoleUser, "I moved to Lisbon"),
	}, GuardOptions{})
	berlin := fact("User lives in Berlin")
	ask, err := AskFacts(FactsInput{Utterances: utterances, Facts: []memory.Fact{berlin}, Now: monday}, prompt.Default())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(ask.User, "[k1] User lives in Berlin") || !strings.Contains(ask.User, "Now: 2026-01-05 ") || !strings.Contains(ask.User, ", Monday, UTC") || !strings.Contains(ask.User, "[t2] user (2026-01-05):\n    I moved to Lisbon") || strings.Contains(ask.User, "sk-abc") {
		t.Errorf("asked\n%s\n%s\nwant the known fact, the second turn by name, and no secret", ask.System, ask.User)
	}
	if ask.Name != "extract" || ask.Hash == "" || len(ask.Schema) == 0 {
		t.Errorf("prompt %q, hash %q, %d bytes of schema; want all set", ask.Name, ask.Hash, len(ask.Schema))
	}
	cands, err := ParseFacts(`{"facts":[{"text":"User lives in Lisbon","turn":"t2","quote":"I moved to Lisbon","confidence":0.9}]}`)
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := Filter(cands, utterances)
	if len(kept) != 1 || kept[0].TurnID != utterances[1].Turn.ID || kept[0].ReviewReason != "" {
		t.Fatalf("kept %+v, want one of the second turn", kept)
	}
	kept[0].Neighbors = []extract.Neighbor{{Fact: berlin}, {Fact: withStatus(fact("User lives in Rome"), memory.Retired)}}
	ask, err = AskDecisions(kept, prompt.Default())
	if err != nil {
		t.Fatal(err)
	}
	if want := "Remembered:\n[0] (2026-01-05) User lives in Berlin\n\nNew:\n[1] (2026-01-05) User lives in Lisbon"; ask.User != want {
		t.Errorf("asked\n%s\nwant\n%s", ask.User, want)
	}
	decisions, err := ParseDecisions(`{"decisions":[{"new":1,"event":"UPDATE","id":"0","text":"","reason":"moved"}]}`, kept)
	if err != nil || len(decisions) != 1 || decisions[0].TargetID != berlin.ID {
		t.Errorf("decisions %+v, %v; want one about Berlin", decisions, err)
	}
}

// TestPromptNamesSpeakers: another speaker's message in the user's name has that name, and is not
// learned from.
func TestPromptNamesSpeakers(t *testing.T) {
	cook := memory.Turn{Role: memory.RoleUser, Name: "cook", Content: "I live in Graz. Do you like soup?"}
	cook.Foreign = cook.Foreign.With(0, len(cook.Content))
	turns := []memory.Turn{cook, {Role: memory.RoleUser, Name: "ana", Content: "Yes, I do."}}
	if utterances := Guard(turns[:1], GuardOptions{IncludeAssistant: true}); utterances != nil {
		t.Errorf("learns from %+v", utterances)
	}
	ask, err := AskFacts(FactsInput{Preceding: Guard(turns[:1], GuardOptions{IncludeOtherSpeakers: true}), Utterances: Guard(turns[1:], GuardOptions{}), Now: monday}, prompt.Default())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(ask.User, "user \"cook\":\n    I live in Graz.") || !strings.Contains(ask.User, "[t1] user \"ana\":\n    Yes, I do.") {
		t.Errorf("asked\n%s\nwant both by their names", ask.User)
	}
}

func withStatus(f memory.Fact, s memory.Status) memory.Fact {
	f.Status = s
	return f
}

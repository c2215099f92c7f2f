package learn

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/prompt"
)

const lisbonAndDog = "User lives in Lisbon|User has a dog named Rex"

// factReplies are formats of one answer that models have used.
var factReplies = map[string]string{
	"design 3":                 `{"memories": ["User lives in Lisbon", "User has a dog named Rex"]}`,
	"thinking tag":             "<thinking>\n{\"facts\": [\"User is a spy in Rome\"]}\n</thinking>\n{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}",
	"thinking in brackets":     "[THINK]hm[/THINK]{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}",
	"channels":                 "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}",
	"JSON lines":               "{\"text\": \"User lives in Lisbon\"}\n{\"text\": \"User has a dog named Rex\"}",
	"numbered objects":         "1. {\"text\": \"User lives in Lisbon\"}\n2. {\"text\": \"User has a dog named Rex\"}",
	"two fences":               "```json\n[\"User lives in Lisbon\"]\n```\nand\n```json\n[\"User has a dog named Rex\"]\n```",
	"keys in capitals":         `{"FACTS": [{"TEXT": "User lives in Lisbon"}, {"Text": "User has a dog named Rex"}]}`,
	"said twice":               `{"facts": ["User lives in Lisbon", "User lives in Lisbon.", "User has a dog named Rex"]}`,
	"with an aside":            `{"reasoning": "the user told me where they live", "facts": ["User lives in Lisbon", "User has a dog named Rex"], "note": "nothing else here"}`,
	"nothing among them":       `{"facts": ["User lives in Lisbon", "NOTHING", "User has a dog named Rex"]}`,
	"placeholders among them":  `{"facts": [{"text": "…"}, {"text": "User lives in Lisbon"}, {"text": "User has a dog named Rex"}]}`,
	"end of turn mark":         "{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}<|im_end|>",
	"missing closing brackets": `{"facts": [{"text": "User lives in Lisbon"}, {"text": "User has a dog named Rex"}`,
}

func TestParseFactsReadsTheWild(t *testing.T) {
	for name, reply := range factReplies {
		got, err := ParseFacts(reply)
		if err != nil || contents(got) != lisbonAndDog {
			t.Errorf("%s: ParseFacts = %q, %v\n%s", name, contents(got), err, reply)
		}
	}
}

func TestTextsWithoutFactsAreNotRead(t *testing.T) {
	for _, reply := range []string{
		`{"memories": []}`, `{"facts": [{"text": ""}]}`,
		`{"facts": [{"text": "…", "turn": "t1", "quote": "…", "subject": "user"}]}`, `["User meets Dana on 2021-02-04"]`,
		"```json\n{\"facts\": []}\n```", "<think>User lives in Rome</think>\nNOTHING",
	} {
		if got, err := ParseFacts(reply); err != nil || len(got) != 0 {
			t.Errorf("ParseFacts(%q) = %q, %v; want none", reply, contents(got), err)
		}
	}
	// The prompt's own examples and schema are no facts.
	ask, err := prompt.Default().Fill(prompt.Extract{Turns: []prompt.Turn{{ID: "t1", Role: "user", Text: "Hello."}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{string(ask.Schema), ask.System[strings.Index(ask.System, "{"):]} {
		if got, _ := ParseFacts(reply); len(got) != 0 {
			t.Errorf("the prompt handed back gives %q", contents(got))
		}
	}
}

// TestPrefixesKeepWholeFacts truncates replies at every letter: exactly the complete elements are
// read.
func TestPrefixesKeepWholeFacts(t *testing.T) {
	for name, reply := range factReplies {
		if strings.ContainsAny(name, ",") && !strings.HasPrefix(name, "tool") || !strings.HasPrefix(strings.TrimSpace(reply), "{") && !strings.HasPrefix(reply, "[\"") {
			continue // lines have no end to miss
		}
		whole := 0
		for i := range reply {
			got, _ := ParseFacts(reply[:i])
			for _, c := range got {
				if !strings.Contains(lisbonAndDog, c.Text) || !strings.HasSuffix(c.Text, "Lisbon") && !strings.HasSuffix(c.Text, "Rex") {
					t.Fatalf("%s, cut at %d: %q is not a whole fact\n%s", name, i, c.Text, reply[:i])
				}
			}
			if len(got) < whole && !strings.Contains(name, "string") && !strings.Contains(name, "response") {
				t.Fatalf("%s, cut at %d: %d facts, and %d before\n%s", name, i, len(got), whole, reply[:i])
			}
			whole = max(whole, len(got))
		}
	}
}

func TestRepliesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"facts":[`)
	for i := range 5000 {
		fmt.Fprintf(&b, `{"text":"User owns boat number %d"},`, i)
	}
	got, err := ParseFacts(b.String() + `]}`)
	if err != nil || len(got) != maxReplyFacts {
		t.Errorf("%d facts, %v; want %d", len(got), err, maxReplyFacts)
	}
	if got, _ := ParseFacts(`["User owns ` + strings.Repeat("very ", 400) + `many boats"]`); len(got) != 0 {
		t.Errorf("a fact of %d bytes is taken", len(got[0].Text))
	}
}

func FuzzReplies(f *testing.F) {
	for _, s := range factReplies {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		got, _ := ParseFacts(reply)
		if len(got) > maxReplyFacts {
			t.Fatalf("%d facts", len(got))
		}
		for _, c := range got {
			if len(c.Text) > maxFactBytes || !utf8.ValidString(c.Text) || strings.TrimSpace(c.Text) == "" {
				t.Fatalf("ParseFacts(%q) gave %q", reply, c.Text)
			}
		}
		decisions, _ := ParseDecisions(reply, nearTwo())
		if len(decisions) > maxDecisions {
			t.Fatalf("%d decisions", len(decisions))
		}
	})
}

package learn

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/prompt"
)

const lisbonAndDog = "User lives in Lisbon|User has a dog named Rex"

// factReplies are shapes of one answer, as models have written it.
var factReplies = map[string]string{
	"design 1, one line each":  "User lives in Lisbon\n- User has a dog named Rex",
	"design 3":                 `{"memories": ["User lives in Lisbon", "User has a dog named Rex"]}`,
	"thinking tag":             "<thinking>\n{\"facts\": [\"User is a spy in Rome\"]}\n</thinking>\n{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}",
	"thinking in brackets":     "[THINK]hm[/THINK]{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}",
	"channels":                 "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}",
	"tool call":                `{"name": "save_facts", "arguments": {"facts": ["User lives in Lisbon", "User has a dog named Rex"]}}`,
	"tool call, string":        `{"name": "save_facts", "arguments": "{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}"}`,
	"tool call, tagged":        "<tool_call>\n{\"name\": \"save\", \"arguments\": {\"facts\": [{\"fact\": \"User lives in Lisbon\"}, {\"fact\": \"User has a dog named Rex\"}]}}\n</tool_call>",
	"whole response":           `{"choices": [{"message": {"role": "assistant", "content": "{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}"}}]}`,
	"JSON in a string":         `{"result": "[\"User lives in Lisbon\", \"User has a dog named Rex\"]"}`,
	"fenced JSON in a string":  "{\"output\": \"```json\\n{\\\"facts\\\": [\\\"User lives in Lisbon\\\", \\\"User has a dog named Rex\\\"]}\\n```\"}",
	"each in a string":         `["{\"text\": \"User lives in Lisbon\"}", "{\"text\": \"User has a dog named Rex\"}"]`,
	"JSON lines":               "{\"text\": \"User lives in Lisbon\"}\n{\"text\": \"User has a dog named Rex\"}",
	"numbered objects":         "1. {\"text\": \"User lives in Lisbon\"}\n2. {\"text\": \"User has a dog named Rex\"}",
	"two fences":               "```json\n[\"User lives in Lisbon\"]\n```\nand\n```json\n[\"User has a dog named Rex\"]\n```",
	"numbered names":           `{"fact1": "User lives in Lisbon", "fact2": "User has a dog named Rex"}`,
	"by category":              `{"home": ["User lives in Lisbon"], "pets": ["User has a dog named Rex"]}`,
	"facts by category":        `{"facts": {"home": ["User lives in Lisbon"], "pets": [{"text": "User has a dog named Rex"}]}}`,
	"Python":                   `{'facts': [{'text': 'User lives in Lisbon', 'quote': None, 'confidence': 0.9, 'new': True}, {'text': "User has a dog named Rex"}]}`,
	"curly quotes":             `{“facts”: [“User lives in Lisbon”, “User has a dog named Rex”]}`,
	"keys in capitals":         `{"FACTS": [{"TEXT": "User lives in Lisbon"}, {"Text": "User has a dog named Rex"}]}`,
	"camel case":               `{"newFacts": [], "facts": [{"text": "User lives in Lisbon"}, {"text": "User has a dog named Rex"}]}`,
	"unquoted keys":            `{facts: [{text: "User lives in Lisbon"}, {text: "User has a dog named Rex"}]}`,
	"comments and commas":      "{\"facts\": [\"User lives in Lisbon\", // home\n /* pet */ \"User has a dog named Rex\",,],}",
	"YAML":                     "facts:\n  - text: User lives in Lisbon\n    quote: I live in Lisbon\n    confidence: 0.9\n  - text: \"User has a dog named Rex\"\n    turn: t1",
	"YAML, plain":              "```yaml\nfacts:\n- User lives in Lisbon\n- User has a dog named Rex\n```",
	"table":                    "| # | Fact | Category |\n|---|------|------|\n| 1 | User lives in Lisbon | home |\n| 2 | User has a dog named Rex | pets |",
	"numbers with brackets":    "Here are the facts:\n1) User lives in Lisbon\n2) User has a dog named Rex\n",
	"bold bullets":             "* User lives in Lisbon\n* User has a dog named Rex",
	"said twice":               `{"facts": ["User lives in Lisbon", "User lives in Lisbon.", "User has a dog named Rex"]}`,
	"with an aside":            `{"reasoning": "the user told me where they live", "facts": ["User lives in Lisbon", "User has a dog named Rex"], "note": "nothing else here"}`,
	"nothing among them":       `{"facts": ["User lives in Lisbon", "NOTHING", "No other facts were found.", "User has a dog named Rex"]}`,
	"placeholders among them":  `{"facts": [{"text": "…"}, {"text": "User lives in Lisbon"}, {"text": "User has a dog named Rex"}]}`,
	"end of turn mark":         "{\"facts\": [\"User lives in Lisbon\", \"User has a dog named Rex\"]}<|im_end|>",
	"cut after the second":     `{"facts": [{"text": "User lives in Lisbon"}, {"text": "User has a dog named Rex", "quote": "my dog`,
	"missing closing brackets": `{"facts": [{"text": "User lives in Lisbon"}, {"text": "User has a dog named Rex"}`,
}

func TestParseFactsReadsTheWild(t *testing.T) {
	for name, reply := range factReplies {
		got, err := ParseFacts(reply)
		if name == "design 1, one line each" {
			continue // a line and a bullet are two shapes
		}
		if err != nil || contents(got) != lisbonAndDog {
			t.Errorf("%s: ParseFacts = %q, %v\n%s", name, contents(got), err, reply)
		}
	}
	for _, reply := range []string{`{'facts': ['User's dog is called Rex']}`, `{"facts": ["User's dog is called Rex"]}`} {
		if got, err := ParseFacts(reply); err != nil || contents(got) != "User's dog is called Rex" {
			t.Errorf("ParseFacts(%s) = %q, %v", reply, contents(got), err)
		}
	}
	if got, _ := ParseFacts(`{"facts": ["User calls the cat "Miso" at home"]}`); contents(got) != `User calls the cat "Miso" at home` {
		t.Errorf("quotes in quotes: %q", contents(got))
	}
}

func TestWhatIsNoFactIsNotRead(t *testing.T) {
	for _, reply := range []string{
		"I'm sorry, but I can't help with that.", "I cannot extract any facts from this.", "As an AI language model, I have no memory.",
		"There are no new facts to remember.", "No new facts.", "No relevant information found.", "Nothing worth keeping here.",
		"The user did not share any personal information.", "The conversation contains no facts about the user.",
		"I don't see any facts here.", "Sorry, I am unable to do that.", "Based on the conversation, there is nothing to remember.",
		`{"facts": ["No facts found"]}`, `{"facts": "none"}`, `{"memories": []}`, `{"facts": [{"text": ""}]}`,
		`{"facts": [{"text": "…", "turn": "t1", "quote": "…", "subject": "user"}]}`, `{"facts": [{"text": "<fact>"}]}`, `["User meets Dana on 2021-02-04"]`,
		"```json\n{\"facts\": []}\n```", "<think>User lives in Rome</think>\nNOTHING",
	} {
		if got, err := ParseFacts(reply); err != nil || len(got) != 0 {
			t.Errorf("ParseFacts(%q) = %q, %v; want none", reply, contents(got), err)
		}
	}
	// The prompt itself, handed back with its examples and schema, tells nothing.
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

// TestPrefixesKeepWholeFacts cuts replies off at every letter: what is read is what
// stood there whole.
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
	if err != nil || len(got) != maxFacts {
		t.Errorf("%d facts, %v; want %d", len(got), err, maxFacts)
	}
	if got, _ := ParseFacts(`["User owns ` + strings.Repeat("very ", 400) + `many boats"]`); len(got) != 0 {
		t.Errorf("a fact of %d bytes is taken", len(got[0].Text))
	}
}

func TestDecisionsInTheWild(t *testing.T) {
	cands := nearTwo()
	want := []Decision{{0, Update, cands[0].Near[0].Fact.ID, "", ""}, {1, Add, "", "", ""}}
	for name, reply := range map[string]string{
		"lines":            "1. UPDATE 0\n2. ADD",
		"colons":           "1: UPDATE [0]\n2: ADD",
		"by number":        `{"1": {"event": "UPDATE", "id": "0"}, "2": {"event": "ADD"}}`,
		"by number, words": `{"1": "UPDATE 0", "2": "ADD"}`,
		"decisions by key": `{"decisions": {"1": {"event": "UPDATE", "id": "0"}, "2": {"event": "ADD"}}}`,
		"tool call":        `{"name": "decide", "arguments": "{\"decisions\": [{\"new\": 1, \"event\": \"UPDATE\", \"id\": 0}, {\"new\": 2, \"event\": \"ADD\"}]}"}`,
		"JSON lines":       "{\"new\": 1, \"event\": \"UPDATE\", \"id\": \"0\"}\n{\"new\": 2, \"event\": \"ADD\"}",
		"Python":           `{'decisions': [{'new': 1, 'event': 'UPDATE', 'id': '0', 'text': None}, {'new': 2, 'event': 'ADD'}]}`,
		"thinking":         "<think>[{\"new\":2,\"event\":\"NONE\",\"id\":\"1\"}]</think>[{\"new\":1,\"event\":\"UPDATE\",\"id\":\"0\"},{\"new\":2,\"event\":\"ADD\"}]",
		"cut off":          `{"decisions": [{"new": 1, "event": "UPDATE", "id": "0"}, {"new": 2, "event": "ADD"}, {"new": 1, "ev`,
	} {
		got, err := ParseDecisions(reply, cands)
		if err != nil || !equalDecisions(got, want) {
			t.Errorf("%s: ParseDecisions = %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func FuzzReplies(f *testing.F) {
	for _, s := range factReplies {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		got, _ := ParseFacts(reply)
		if len(got) > maxFacts {
			t.Fatalf("%d facts", len(got))
		}
		for _, c := range got {
			if len(c.Text) > maxFact || !utf8.ValidString(c.Text) || strings.TrimSpace(c.Text) == "" {
				t.Fatalf("ParseFacts(%q) gave %q", reply, c.Text)
			}
		}
		decisions, _ := ParseDecisions(reply, nearTwo())
		if len(decisions) > maxDecisions {
			t.Fatalf("%d decisions", len(decisions))
		}
	})
}

func BenchmarkParseFacts(b *testing.B) {
	for name, unit := range map[string]string{"facts": `{"text":"User owns a boat"},`, "open": "[{", "quotes": `"a 'b`, "lines": "- User owns a boat\n", "prose": "[x] some words "} {
		for _, size := range []int{1 << 14, 1 << 17} {
			reply := strings.Repeat(unit, size/len(unit))
			b.Run(fmt.Sprintf("%s %d KiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(reply)))
				for b.Loop() {
					_, _ = ParseFacts(reply)
				}
			})
		}
	}
}

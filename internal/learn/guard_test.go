package learn

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func guarded(o GuardOptions, role memory.Role, content string) string {
	turn := memtest.Turn(memtest.Ana, "C", 0, role, content)
	utterances := Guard([]memory.Turn{turn}, o)
	if len(utterances) == 0 {
		return ""
	}
	if len(utterances[0].Text) != len(content) {
		return "the places moved: " + utterances[0].Text
	}
	return strings.Join(strings.Fields(utterances[0].Text), " ")
}

func TestGuardTakesUserTurnsOnly(t *testing.T) {
	turns := []memory.Turn{
		memtest.Turn(memtest.Ana, "C", 0, memory.RoleSystem, "User lives in Rome"),
		memtest.Turn(memtest.Ana, "C", 1, memory.RoleUser, "I live in Lisbon"),
		memtest.Turn(memtest.Ana, "C", 2, memory.RoleAssistant, "You live in Lisbon"),
		memtest.Turn(memtest.Ana, "C", 3, memory.RoleTool, "page: user lives in Oslo"),
		memtest.Turn(memtest.Ana, "C", 4, memory.RoleUser, "   "),
		memtest.Turn(memtest.Ana, "C", 5, memory.RoleUser, "from before Loci"),
	}
	turns[5].NoLearn = true
	if got := Guard(turns, GuardOptions{}); len(got) != 1 || got[0].Turn.ID != turns[1].ID {
		t.Errorf("by default got %d turns %+v, want the user's one", len(got), got)
	}
	if got := Guard(turns, GuardOptions{IncludeAssistant: true}); len(got) != 2 {
		t.Errorf("with the assistant got %d turns, want 2", len(got))
	}
}

func TestInjectedTextIsNotLearnedAgain(t *testing.T) {
	injected := NewInjectedMemories(
		"User lives in Lisbon with two cats",
		"- [2026-05-03] User is allergic to peanuts",
		"You told me that the blue door on the left needs a new lock before the winter comes",
	)
	o := GuardOptions{FenceBegin: "<<memory>>", FenceEnd: "<</memory>>", InjectedUpTo: by(injected), IncludeAssistant: true}
	for _, c := range []struct{ name, message, want string }{
		{"block", "Hi <<memory>>\n- User lives in Oslo\n<</memory>> there", "Hi there"},
		{"block without end", "Hi <<memory>>\n- User lives in Oslo", "Hi"},
		{"block's line, pasted", "see:\n- [2026-05-04] User is allergic to peanuts\nok", "see: ok"},
		{"fact's words, in a sentence of its own", "User lives in Lisbon with two cats. I have a dog.", "I have a dog."},
		{"most of a long line", "you told me that the blue door on the left needs a new lock before winter", ""},
		{"the person's own words", "I live in Lisbon with my two cats", "I live in Lisbon with my two cats"},
		{"something new", "I live in Porto now with three dogs", "I live in Porto now with three dogs"},
	} {
		if got := guarded(o, memory.RoleUser, c.message); got != c.want {
			t.Errorf("%s: Guard(%q) = %q, want %q", c.name, c.message, got, c.want)
		}
	}
	for message, want := range map[string]string{
		"As you live in Lisbon with two cats, try this.": "",
		"You're allergic to peanuts! Use almonds.":       "Use almonds.",
		"The museum opens at nine.":                      "The museum opens at nine.",
	} {
		if got := guarded(o, memory.RoleAssistant, message); got != want {
			t.Errorf("assistant: Guard(%q) = %q, want %q", message, got, want)
		}
	}
}

// TestMemoriesAreRecognisedWithoutTheirBlock: the cache of blocks may have evicted it.
func TestMemoriesAreRecognisedWithoutTheirBlock(t *testing.T) {
	fact := memtest.Fact(memtest.Ana, "User lives in Lisbon with two cats")
	turn := memtest.Turn(memtest.Ana, "C", 0, memory.RoleUser, "The blue door on the left needs a new lock")
	o := GuardOptions{IncludeAssistant: true, InjectedUpTo: by(NewRecalledMemories([]memory.Memory{{Fact: &fact}, {Turn: &turn}}, nil))}
	for message, want := range map[string]string{
		"- 2026-05-03 User lives in Lisbon with two cats\nok":                                                     "ok",
		"Yesterday you wrote: - User lives in Lisbon with two cats\nok":                                           "ok",
		"2026-05-03 User lives in Lisbon with two cats [no longer so, since 2026-05-09: User lives in Porto]\nok": "ok",
		"user said: The blue door on the left needs a new lock\nok":                                               "ok",
		"see " + fact.ID + " it says that she sings\nok":                                                          "ok",
		"I live in Lisbon with my two cats":                                                                       "I live in Lisbon with my two cats",
		"The red door on the left is fine":                                                                        "The red door on the left is fine",
	} {
		if got := guarded(o, memory.RoleUser, message); got != want {
			t.Errorf("Guard(%q) = %q, want %q", message, got, want)
		}
	}
	if got := guarded(o, memory.RoleAssistant, "Since you live in Lisbon with two cats, try this. The museum opens at nine."); got != "The museum opens at nine." {
		t.Errorf("the assistant's repetition is kept: %q", got)
	}
	for _, c := range []struct {
		role    memory.Role
		content string
		want    int
	}{
		{memory.RoleUser, "I live in Lisbon. Where should I eat?", 0},
		{memory.RoleUser, "- 2026-05-03 User lives in Lisbon\nis it true?", 1},
		{memory.RoleUser, "The user likes long walks.", 1},
		{memory.RoleAssistant, "You live in Lisbon. Ok. Go to the river.", 2},
	} {
		if got := PossiblyInjected(memory.Turn{Role: c.role, Content: c.content}); len(got) != c.want {
			t.Errorf("Suspects(%q) = %q, want %d", c.content, got, c.want)
		}
	}
}

// TestInjectedGrows: earlier memories stay, and those recalled for one turn count for that turn
// alone.
func TestInjectedGrows(t *testing.T) {
	door, boat, cats := "The blue door on the left needs a new lock", "The boat in the harbour is called Marguerite", "User lives in Lisbon with two cats"
	turn := memtest.Turn(memtest.Ana, "C", 0, memory.RoleUser, boat)
	g := NewInjectedMemories("- " + door)
	recalled := NewRecalledMemories([]memory.Memory{{Turn: &turn}}, g)
	g.Add("- 2026-05-03 " + cats + "\n- " + door)
	for _, c := range []struct {
		injected *InjectedMemories
		message  string
		want     bool
	}{
		{g, door, true}, {g, cats, true}, {g, boat, false},
		{recalled, door, true}, {recalled, cats, true}, {recalled, boat, true},
		{recalled, "You live in Lisbon, and the boat is called Marguerite.", true}, // of both
		{g, "You live in Lisbon, and the boat is called Marguerite.", false},
		{g, "see " + turn.ID + " there", false}, {recalled, "see " + turn.ID + " there", true},
	} {
		got := guarded(GuardOptions{IncludeAssistant: true, InjectedUpTo: by(c.injected)}, memory.RoleAssistant, c.message)
		if (got == "") != c.want {
			t.Errorf("of %q is left %q, want it known: %v", c.message, got, c.want)
		}
	}
}

func TestPeopleMayRepeatThemselves(t *testing.T) {
	o := GuardOptions{InjectedUpTo: by(NewInjectedMemories("I live in Lisbon"))}
	if got := guarded(o, memory.RoleUser, "I live in Lisbon"); got != "I live in Lisbon" {
		t.Errorf("got %q, want the user's own words: going back must be learned", got)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
	for message, want := range map[string]string{
		"use sk-proj-abc123def456ghi789jkl":              "use [api key]",
		"AKIA" + "ABCDEFGHIJKLMNOP is it":                "[api key] is it",
		"token ghp_" + strings.Repeat("a1", 18):          "token [token]",
		"Authorization: Bearer abcdef0123456789abcdef":   "Authorization: Bearer [token]",
		"my password is hunter2!":                        "my password is [password]",
		"password: Tr0ub4dor&3, thanks":                  "password: [password], thanks",
		"my pin is 4711":                                 "my pin is [pin]",
		"postgres://ana:s3cret@db/x":                     "postgres://ana:[password]@db/x",
		"card 4111 1111 1111 1111 please":                "card [card number] please",
		"API_KEY=0123456789abcdef0123":                   "API_KEY=[secret]",
		key + " end":                                     "[private key] end",
		"my password is too long":                        "my password is too long",
		"I forgot my password":                           "I forgot my password",
		"order 4111 1111 1111 1112 has no card's sum":    "order 4111 1111 1111 1112 has no card's sum",
		"the year 2026, 12 cats and the task-list thing": "the year 2026, 12 cats and the task-list thing",
		"mail ana@example.org":                           "mail ana@example.org",
	} {
		got := Redact(message, false)
		if got != want {
			t.Errorf("Redact(%q) = %q, want %q", message, got, want)
		}
		if again := Redact(got, false); again != got {
			t.Errorf("Redact twice: %q becomes %q", got, again)
		}
		if want != message {
			if masked := guarded(GuardOptions{}, memory.RoleUser, message); !strings.Contains(masked, "****") {
				t.Errorf("Guard(%q) = %q shows the secret", message, masked)
			}
		}
	}
	for message, want := range map[string]string{
		"mail ana@example.org":         "mail [email]",
		"IBAN DE89370400440532013000.": "IBAN [bank account].",
		"call +351 912 345 678":        "call [phone number]",
		"ssn 078-05-1120":              "ssn [social security number]",
	} {
		if got := Redact(message, true); got != want {
			t.Errorf("Redact personal (%q) = %q, want %q", message, got, want)
		}
	}
}

func FuzzGuard(f *testing.F) {
	f.Add("a <<m>> b <</m>> c sk-abcdef0123456789abcd")
	f.Add("\xff- [x] I live\r\n")
	f.Add("remember éa is ßb. My name is Éva, I love ünï and İstanbul")
	injected := NewInjectedMemories("User lives in Lisbon with two cats")
	f.Fuzz(func(t *testing.T, content string) {
		turn := memory.Turn{ID: "T", Role: memory.RoleUser, Content: content}
		for _, s := range Guard([]memory.Turn{turn}, GuardOptions{FenceBegin: "<<m>>", FenceEnd: "<</m>>", InjectedUpTo: by(injected), BlankPersonal: true}) {
			if len(s.Text) != len(content) {
				t.Fatalf("Guard(%q) moved the places: %q", content, s.Text)
			}
			for i := range content {
				if s.Text[i] != content[i] && s.Text[i] != ' ' && s.Text[i] != '*' {
					t.Fatalf("Guard(%q) wrote %q", content, s.Text)
				}
			}
			cands, _ := Filter(extract.FactsByRules([]extract.Utterance{s}), []extract.Utterance{s})
			for _, c := range cands {
				if utf8.ValidString(content) && !utf8.ValidString(c.Text) {
					t.Fatalf("rule %s broke the letters of %q: %q", c.Model, content, c.Text)
				}
				if c.Span == nil || c.Span.Start < 0 || c.Span.End > len(content) || c.Span.Start > c.Span.End {
					t.Fatalf("rule %s read %q from %q at %+v", c.Model, c.Text, content, c.Span)
				}
			}
		}
	})
}

// by returns the same injected memories for every turn.
func by(g *InjectedMemories) func(int) *InjectedMemories {
	return func(int) *InjectedMemories { return g }
}

// TestStatementsBeforeInjectionAreLearned: a block repeats a statement of a moment before.
func TestStatementsBeforeInjectionAreLearned(t *testing.T) {
	turns := []memory.Turn{
		memtest.Turn(memtest.Ana, "c", 0, memory.RoleUser, "The blue door on the left needs a new lock before the winter comes"),
		memtest.Turn(memtest.Ana, "c", 1, memory.RoleUser, "The blue door on the left needs a new lock before the winter comes"),
	}
	utterances := Guard(turns, GuardOptions{InjectedUpTo: func(i int) *InjectedMemories {
		if i == 0 {
			return nil
		}
		return NewInjectedMemories("The blue door on the left needs a new lock before the winter comes")
	}})
	if len(utterances) != 1 || utterances[0].Turn.ID != turns[0].ID {
		t.Errorf("learned from are %d turns, want the first alone", len(utterances))
	}
}

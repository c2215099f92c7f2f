package extract_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// read returns the rules' remaining facts in turns of one conversation, a line each.
func read(turns ...extract.Utterance) string {
	var out strings.Builder
	for _, c := range reading(turns) {
		fmt.Fprintf(&out, "\t%s/%s: %s\n", c.Subject, c.Attribute, c.Text)
	}
	return out.String()
}

func TestNothingIsReadInWhatIsNoStatementOfTheSpeaker(t *testing.T) {
	const file = "testdata/unsaid.txt"
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sentences := 0
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' && line[1] == ' ' {
			continue
		}
		sentences++
		if got := read(saying(line)...); got != "" {
			t.Errorf("from %q\n got\n%swant nothing", line, got)
		}
	}
	if sentences < 150 {
		t.Errorf("%s has %d sentences, want at least 150", file, sentences)
	}
}

// TestRulesTakeAnyText: for any text the rules end soon and name valid offsets.
func TestRulesTakeAnyText(t *testing.T) {
	for name, one := range map[string]string{
		"words": "I live in ", "commas": "I love a, b, ", "and": "I love to run and ", "quotes": `"I `, "ticks": "`I ", "angles": "> ", "capitals": "I Am From New ",
		"digits": "I am 1234567890 ", "letters": "iiiiiiiii", "owners": "my my my ", "marks": ":;,.-()", "bytes": "\xff\xfe", "emoji": "🙂 I'm ", "lines": "I\n",
		"that": "I love that that who ", "dates": "last week next year ", "call": "you can call me ", "remember": "remember that ", "not": "I do not not ", "if": "if i ",
	} {
		t.Run(name, func(t *testing.T) {
			size := 64 << 10
			if name == "words" || name == "quotes" || name == "lines" {
				size = 1 << 20
			}
			text := strings.Repeat(one, size/len(one))
			utterances := []extract.Utterance{{Turn: memory.Turn{ID: "T", Role: memory.RoleUser, Content: text, CreatedAt: monday}, Text: text}}
			for _, c := range extract.FactsByRules(utterances) {
				if c.Span.Start < 0 || c.Span.End > len(text) || c.Span.Start >= c.Span.End || c.Quote != text[c.Span.Start:c.Span.End] {
					t.Fatalf("%q has the quote %.40q at %v", c.Text, c.Quote, c.Span)
				}
			}
		})
	}
}

func FuzzRules(f *testing.F) {
	f.Add("I moved to Leeds and started a bakery.", "Where do you live?")
	f.Add("Yes, two cats", "Do you have any pets?")
	f.Add("it's Ana, not Anna — \"sorry\"! I'm 34…", "")
	f.Add("remember that my wife's name is Ana", "")
	f.Fuzz(func(t *testing.T, content, before string) {
		utterances := []extract.Utterance{{Turn: memory.Turn{ID: "T", Role: memory.RoleUser, Content: content, CreatedAt: monday}, Text: content, AnsweredMessage: before}}
		for _, c := range extract.FactsByRules(utterances) {
			if c.Quote != content[c.Span.Start:c.Span.End] || c.Text == "" || c.Subject == "" {
				t.Fatalf("from %q: %+v", content, c)
			}
		}
	})
}

// TestNothingIsReadInAPlay: a role play lasts over turns until the user ends it.
func TestNothingIsReadInAPlay(t *testing.T) {
	for _, c := range []struct {
		messages []string
		want     string
	}{
		{[]string{"Let's roleplay.", "I'm a knight and I live in a castle."}, ""},
		{[]string{"Let's do a roleplay: you are a detective.", "I'm Sam Spade and I live in Frisco.", "I drink whiskey every night."}, ""},
		{[]string{"Pretend you are my boss.", "I quit my job at Acme."}, ""},
		{[]string{"You be the waiter.", "I'm allergic to nuts."}, ""},
		{[]string{"Act like I'm your teacher.", "I live in Oslo."}, ""},
		{[]string{"Let's roleplay a job interview.", "I work at Google.", "OK, end of roleplay.", "I live in Leeds."}, "\tuser/home: User lives in Leeds\n"},
		{[]string{"I hated the role play at school.", "I live in Leeds."}, "\tuser/home: User lives in Leeds\n"},
		{[]string{"What does act mean?", "I live in Leeds."}, "\tuser/home: User lives in Leeds\n"},
	} {
		var turns []extract.Utterance
		for i, s := range c.messages {
			turns = append(turns, learn.Guard([]memory.Turn{{ID: fmt.Sprint(i), Index: i, Role: memory.RoleUser, Content: s, CreatedAt: monday}}, learn.GuardOptions{})...)
		}
		if got := read(turns...); got != c.want {
			t.Errorf("from %q\n got\n%swant\n%s", c.messages, got, c.want)
		}
	}
	utterances := saying("I live in the old tower")
	utterances[0].AnsweredMessage = "*bows deeply* Welcome, traveller. Where do you live?"
	if got := read(utterances...); got != "" {
		t.Errorf("to an assistant that plays: %s", got)
	}
}

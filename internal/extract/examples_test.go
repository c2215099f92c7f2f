package extract_test

import (
	"os"
	"strings"
	"testing"
)

// TestEveryRuleReadsItsExamples reads the examples of rules.txt: each rule has one at least.
func TestEveryRuleReadsItsExamples(t *testing.T) {
	table, err := os.ReadFile("rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules, examples, name := 0, 1, ""
	for line := range strings.Lines(string(table)) {
		line = strings.TrimSuffix(line, "\n")
		body := strings.TrimSpace(line)
		switch {
		case body == "" || body[0] == '#':
		case line[0] != ' ':
			if examples == 0 {
				t.Errorf("rule %q has no example", name)
			}
			name, _, _ = strings.Cut(line, ":")
			rules, examples = rules+1, 0
		case body[0] == '+':
			sentence, want, _ := strings.Cut(body[2:], " -> ")
			if examples++; learned(sentence) != want {
				t.Errorf("%s: from %q\n got %q\nwant %q", name, sentence, learned(sentence), want)
			}
		case body[0] == '-':
			if got := learned(body[2:]); got != "" {
				t.Errorf("%s: from %q\n got %q\nwant nothing", name, body[2:], got)
			}
		}
	}
	if rules < 40 || rules > 80 {
		t.Errorf("%d rules, want 40 to 80", rules)
	}
}

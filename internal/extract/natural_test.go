package extract_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// TestRulesOnNaturalMessages measures the rules on chats as people write them
// (learn/testdata/natural.json), of which no rule was made.
func TestRulesOnNaturalMessages(t *testing.T) {
	data, err := os.ReadFile("../learn/testdata/natural.json")
	if err != nil {
		t.Fatal(err)
	}
	type facts []struct{ Text string }
	var set struct {
		Conversations []struct {
			Now   string
			Turns []struct {
				Role, Text string
				Facts      facts
			}
		}
		Singles []struct {
			Now, Text string
			Facts     facts
		}
	}
	if err := json.Unmarshal(data, &set); err != nil {
		t.Fatal(err)
	}
	var s score
	add := func(now, text string, learned facts) {
		at, err := time.Parse(time.DateOnly, now)
		if err != nil {
			t.Fatal(err)
		}
		gold := make([]string, len(learned))
		for i, f := range learned {
			gold[i] = f.Text
		}
		s.add(userTurn("T", 0, text, at), gold, gold)
	}
	for _, c := range set.Conversations {
		for _, m := range c.Turns {
			if m.Role == "user" {
				add(c.Now, m.Text, m.Facts)
			}
		}
	}
	for _, m := range set.Singles {
		add(m.Now, m.Text, m.Facts)
	}
	s.report(t, "natural messages")
}

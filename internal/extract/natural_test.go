package extract_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// TestRulesOnNaturalMessages measures the rules on chats as people write them
// (learn/testdata/natural.json), of which no rule was made, conversation by conversation.
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
	add := func(now string, turns []memory.Turn, learned facts) {
		at, err := time.Parse(time.DateOnly, now)
		if err != nil {
			t.Fatal(err)
		}
		for i := range turns {
			turns[i].ID, turns[i].Index, turns[i].Conversation, turns[i].CreatedAt = fmt.Sprint("T", i), i, "C", at
		}
		gold := make([]string, len(learned))
		for i, f := range learned {
			gold[i] = f.Text
		}
		s.add(learn.Guard(turns, learn.GuardOptions{}), gold, gold)
	}
	for _, c := range set.Conversations {
		var turns []memory.Turn
		var all facts
		for _, m := range c.Turns {
			turns, all = append(turns, memory.Turn{Role: memory.Role(m.Role), Content: m.Text}), append(all, m.Facts...)
		}
		add(c.Now, turns, all)
	}
	for _, m := range set.Singles {
		add(m.Now, []memory.Turn{{Role: memory.RoleUser, Content: m.Text}}, m.Facts)
	}
	s.report(t, "natural messages")
}

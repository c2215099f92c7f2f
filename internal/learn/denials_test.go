package learn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestDenialsInOtherWords replays operations on turns that deny a fact in other words, and on
// similar turns that deny nothing (testdata/denials.json).
func TestDenialsInOtherWords(t *testing.T) {
	var cases []struct {
		Known, Said, Op, Text, Quote string
		Ends                         bool
	}
	readJSON(t, "testdata/denials.json", &cases)
	ended := map[bool]int{}
	for _, c := range cases {
		facts := knownForOps()
		facts[0].Content, facts[0].Subject = c.Known, "user"
		reply := fmt.Sprintf(`{"ops":[{"op":%q,"ids":["k1"],"text":%q,"quote":%q,"about":"user","lasting":true}]}`, c.Op, c.Text, c.Quote)
		plan := planOn(t, facts, saidForOps(c.Said), reply)
		if strings.HasPrefix(plan, string(memory.ActionReplace)+" fact-1") {
			ended[c.Ends]++
		} else if c.Ends {
			t.Logf("waits: %q by %q: %s", c.Known, c.Said, plan)
		}
		if !c.Ends && strings.HasPrefix(plan, string(memory.ActionReplace)+" fact-1") {
			t.Logf("ends: %q by %q", c.Known, c.Said)
		}
	}
	t.Logf("%d of 24 denials end what they deny; %d of 24 look-alikes end something", ended[true], ended[false])
	if ended[true] < 21 || ended[false] > 21 {
		t.Errorf("want 21 denials at least, and 21 look-alikes at most")
	}
}

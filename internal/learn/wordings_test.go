package learn

import (
	"strings"
	"testing"
)

// TestOtherWordings has facts in other words than their turns, true and false, beside what is
// known (testdata/wordings.json).
func TestOtherWordings(t *testing.T) {
	var cases []struct {
		Known, Before, Said, Op, Text, Quote, About, At string
		True                                            bool
	}
	readJSON(t, "testdata/wordings.json", &cases)
	active := map[bool]int{}
	for _, c := range cases {
		g := groundCase{messages: []string{c.Before}, known: []string{c.Known}, turn: c.Said, at: saidOn(c.At), claim: Claim{Text: c.Text, Quote: c.Quote, About: c.About, Op: verdicts[c.Op]}}
		got := g.grounded()
		is := got != nil && got.Waits == ""
		if is {
			active[c.True]++
		}
		if is != c.True {
			why := "dropped"
			if got != nil {
				why = strings.TrimSpace(got.Waits + " " + got.Doubt)
			}
			t.Logf("true %t, active %t (%s): %q by %q", c.True, is, why, c.Text, c.Said)
		}
	}
	t.Logf("sloppy: %d of 16 true wordings are active; %d of 16 false ones", active[true], active[false])
	if active[true] < 14 || active[false] > 8 {
		t.Errorf("want 14 true ones at least, and 8 false ones at most")
	}
}

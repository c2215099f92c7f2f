package learn

import "testing"

// TestOwnChats counts true and false replies to turns that were written without knowledge of the
// checks and never tuned on (testdata/own.json).
func TestOwnChats(t *testing.T) {
	var data []struct {
		True                     bool
		Before                   []string
		Turn, Text, Quote, About string
	}
	readJSON(t, "testdata/own.json", &data)
	active, all := map[bool]int{}, map[bool]int{}
	for _, d := range data {
		if d.About == "" {
			d.About = "user"
		}
		c := groundCase{turn: d.Turn, messages: d.Before, at: saidOn("2026-03-02"), claim: Claim{Text: d.Text, Quote: d.Quote, Subject: d.About}}
		all[d.True]++
		if c.active() {
			active[d.True]++
		}
	}
	t.Logf("%d of %d true and %d of %d false replies are active", active[true], all[true], active[false], all[false])
	if active[true] < 26 || active[false] > 10 {
		t.Error("want 26 true ones at least, and 10 false ones at most")
	}
}

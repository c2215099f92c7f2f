package report

import (
	"math"
	"strings"
	"testing"
)

func TestIntervalNarrowsWithMoreRows(t *testing.T) {
	for _, n := range []int{40, 640} {
		coins := make([]float64, n)
		for i := range coins {
			coins[i] = float64(i % 2)
		}
		e := DrawsOf(make([]int, n)).Mean(coins)
		// A mean of coins: ± 1.96 · 0.5/√n.
		width, want := e.High-e.Low, 1.96/math.Sqrt(float64(n))
		if e.Value != 0.5 || e.Low >= 0.5 || e.High <= 0.5 || width < 0.8*want || width > 1.2*want {
			t.Errorf("%d coins: %+v, want 0.5 within an interval of about %.3f", n, e, want)
		}
	}
}

// Questions of a conversation are found or missed together, so drawing single questions would give too narrow
// intervals.
func TestWholeConversationsAreDrawn(t *testing.T) {
	values := func(conversations int) (values []float64, of []int) {
		for c := range conversations {
			for range 30 {
				values, of = append(values, float64(c%2)), append(of, c)
			}
		}
		return values, of
	}
	v, of := values(10)
	apart, whole := DrawsOf(make([]int, len(v))).Mean(v), DrawsOf(of).Mean(v)
	if whole.High-whole.Low < 3*(apart.High-apart.Low) {
		t.Errorf("conversations %+v, questions %+v; want a far wider interval for conversations", whole, apart)
	}
	if v, of := values(9); DrawsOf(of).Mean(v) != DrawsOf(make([]int, len(v))).Mean(v) {
		t.Error("nine conversations are drawn whole")
	}
}

func TestRowsArePrintedForPeopleAndPrograms(t *testing.T) {
	none := Share("mrr", Estimate{Value: math.NaN()})
	rows := []Row{
		{Part: "turns", Name: "all", N: 4, Cells: []Cell{Share("mrr", Estimate{0.5, 0.25, 0.75}), Count("found", 1, 2)}, Note: "as made up"},
		{Part: "turns", Name: "  hobbies", Cells: []Cell{none, Percent("found", 1, 4)}},
	}
	for asJSON, want := range map[bool]string{
		false: "asked\n\nturns                                                  n                   mrr      found\n" +
			"all                                                    4  0.500 [0.250, 0.750]     1 of 2  (as made up)\n" +
			"  hobbies                                                                    –  25 % of 4\n",
		true: `{"high":0.75,"low":0.25,"metric":"mrr","n":4,"name":"all","note":"as made up","part":"turns","set":"own","value":0.5}` + "\n" +
			`{"metric":"found","n":4,"name":"all","note":"as made up","part":"turns","set":"own","value":1}` + "\n" +
			`{"metric":"found","n":4,"name":"  hobbies","part":"turns","set":"own","value":25}` + "\n",
	} {
		var b strings.Builder
		p := NewPrinter(&b, asJSON)
		p.About("set", "own")
		p.Say("asked")
		if err := p.Rows(rows...); err != nil || b.String() != want {
			t.Errorf("JSON %v: %v\n%swant\n%s", asJSON, err, b.String(), want)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i) // any order
	}
	for _, c := range []struct {
		took               []time.Duration
		p50, p95, p99, max time.Duration
	}{
		{hundred, 50, 95, 99, 100},
		{[]time.Duration{7}, 7, 7, 7, 7},
		{[]time.Duration{9, 1}, 1, 9, 9, 9},
		{[]time.Duration{3, 1, 2}, 2, 3, 3, 3},
	} {
		r := rowOf(slices.Clone(c.took))
		if r.Count != len(c.took) || r.P50 != c.p50 || r.P95 != c.p95 || r.P99 != c.p99 || r.Max != c.max {
			t.Errorf("%d times: n %d, %d %d %d %d; want %d %d %d %d", len(c.took), r.Count, r.P50, r.P95, r.P99, r.Max, c.p50, c.p95, c.p99, c.max)
		}
	}
	if r := rowOf(nil); r.Count != 0 || r.timed() {
		t.Errorf("no times: %+v", r)
	}
}

// loadOf is a run without a server.
func loadOf(t *testing.T, o LoadOptions) *load {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return &load{o: o}
}

func TestMeasureCountsEachRequestOnceAndNoneOfTheWarmUp(t *testing.T) {
	var mu sync.Mutex
	seen := map[string][]int{}
	counting := func(name string) task {
		return task{subject: "s", name: name, clients: 3, do: func(_ context.Context, c, i int) (time.Duration, error) {
			mu.Lock()
			defer mu.Unlock()
			if c < 0 || c > 2 {
				t.Errorf("client %d of 3", c)
			}
			if i >= 0 {
				seen[name] = append(seen[name], i)
				return time.Millisecond, nil
			}
			return time.Hour, nil // would be the longest
		}}
	}
	rows, err := loadOf(t, LoadOptions{Requests: 103}).measure(context.Background(), counting("a"), counting("b"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b"} {
		r := rows[i]
		if r.Subject != "s" || r.Name != name || r.Clients != 3 || r.Count != 103 || r.Max != time.Millisecond || r.Rate <= 0 {
			t.Errorf("row %+v", r)
		}
		slices.Sort(seen[name])
		for want, got := range seen[name] {
			if got != want {
				t.Fatalf("%s: request %d has number %d", name, want, got)
			}
		}
	}
}

func TestMeasureEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	var asked int
	_, err := loadOf(t, LoadOptions{Requests: 1000}).measure(context.Background(), task{name: "thing", clients: 1, do: func(context.Context, int, int) (time.Duration, error) {
		asked++
		return 0, broken
	}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "thing") || asked != 1 {
		t.Errorf("%v after %d requests, want the first's error with the task's name", err, asked)
	}
}

func TestMeasureStopsWhenItsTimeIsUp(t *testing.T) {
	l := loadOf(t, LoadOptions{Requests: 1000, Duration: 1}) // over before the second request
	row, err := l.measureOne(context.Background(), task{clients: 2, do: func(context.Context, int, int) (time.Duration, error) { return 1, nil }})
	if err != nil || row.Count != 2*rounds {
		t.Errorf("%d requests, %v; want one of each client in each of %d rounds", row.Count, err, rounds)
	}
}

func TestRowsAreComparedByWhatTheyHave(t *testing.T) {
	time1, time4 := Row{Name: "one", P50: 1}, Row{P50: 4}
	rate10, rate5 := Row{Name: "ten", Rate: 10}, Row{Rate: 5}
	for _, c := range []struct {
		got   Row
		ratio float64
		floor string
	}{
		{time4.over(time1), 4, "one"},
		{rate5.over(rate10), 0.5, "ten"},
		{Row{Value: 6}.over(Row{Name: "v", Value: 2}), 3, "v"},
		{time4.over(rate10), 0, ""},
	} {
		if c.got.Ratio != c.ratio || c.got.Floor != c.floor {
			t.Errorf("%+v, want %v × %q", c.got, c.ratio, c.floor)
		}
	}
	less := Row{Subject: "s", Clients: 2, P50: 5, P95: 7, P99: 9, Max: 11}.less(Row{P50: 1, P95: 2, P99: 10, Max: 1}, "own")
	if less.Name != "own" || less.P50 != 4 || less.P95 != 5 || less.P99 != -1 || less.Max != 0 {
		t.Errorf("difference %+v", less)
	}
}

func TestRowsAreLinesForPeopleAndPrograms(t *testing.T) {
	rows := []Row{
		{Subject: "recall", Name: "a", Clients: 8, Count: 10, P50: time.Millisecond, P95: 2 * time.Millisecond, P99: 3 * time.Millisecond, Max: 4 * time.Millisecond, Rate: 1234, Floor: "f", Ratio: 2},
		{Subject: "disk", Name: "b", Value: 12.34, Unit: "bytes a memory", Note: "all of it"},
	}
	for i, want := range [][]string{{"a ", " 8 ", "1.000", "2.000", "3.000", "4.000", "1234", "2.00 × f"}, {"b ", "12.3 bytes a memory", "(all of it)"}} {
		for _, w := range want {
			if s := rows[i].String(); !strings.Contains(s, w) {
				t.Errorf("line %q without %q", s, w)
			}
		}
	}
	var b bytes.Buffer
	if err := WriteLoadJSON(&b, rows, LoadOptions{Memories: 77}, "v9"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines of JSON, want 2:\n%s", len(lines), &b)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"subject": "recall", "name": "a", "clients": 8., "n": 10., "p50_ms": 1., "p95_ms": 2., "p99_ms": 3., "max_ms": 4., "per_second": 1234.,
		"floor": "f", "ratio": 2., "memories": 77., "dims": 384., "version": "v9",
	} {
		if got[key] != want {
			t.Errorf("%s: %v, want %v", key, got[key], want)
		}
	}
	if _, ok := got["gomaxprocs"]; !ok {
		t.Error("no gomaxprocs")
	}
	if _, ok := got["cpu"]; !ok {
		t.Error("no cpu")
	}
}

func TestLoadRefusesWhatItCannotMeasure(t *testing.T) {
	for _, c := range []struct {
		o    LoadOptions
		says string
	}{
		{LoadOptions{Only: []string{"recall", "nonsense"}}, "nonsense"}, {LoadOptions{Only: []string{"servers"}}, "store"}, {LoadOptions{Clients: -1}, "clients"}, {LoadOptions{Memories: -5}, "memories"},
	} {
		err := Load(context.Background(), c.o, func(Row) { t.Error("a row") })
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want invalid and %q", c.o, err, c.says)
		}
	}
}

func TestProcessFieldsAreRead(t *testing.T) {
	const status = "Name:\tloci\nVmHWM:\t   31000 kB\nVmRSS:\t   30720 kB\n"
	if got := kilobytes(field(status, "VmRSS")); got != 30720<<10 {
		t.Errorf("VmRSS %d", got)
	}
	if got := kilobytes(field(status, "VmNone")); got != 0 {
		t.Errorf("a missing field is %d", got)
	}
}

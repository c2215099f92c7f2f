package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Row is one measure of a load run. Fields that a measure has not are zero.
type Row struct {
	Subject string // the part it belongs to
	Name    string // what was measured
	Clients int    // at once
	Count   int    // requests that were timed

	P50, P95, P99, Max time.Duration // of one request

	Rate  float64 // a second, of all clients together
	Value float64 // of a measure that is not a time
	Unit  string  // of Value
	Floor string  // what it is compared with in the same run
	Ratio float64 // this over the floor: of the p50s or, without, of the rates or the values
	Note  string  // what else there is to know
}

// over compares the row with another of the same run.
func (r Row) over(floor Row) Row {
	r.Floor = floor.Name
	switch {
	case r.P50 > 0 && floor.P50 > 0:
		r.Ratio = float64(r.P50) / float64(floor.P50)
	case r.P50 == 0 && r.Rate > 0 && floor.Rate > 0:
		r.Ratio = r.Rate / floor.Rate
	case r.P50 == 0 && floor.Value > 0:
		r.Ratio = r.Value / floor.Value
	default:
		r.Floor = ""
	}
	return r
}

// less returns what the row's times have more than another's, percentile by
// percentile.
func (r Row) less(other Row, name string) Row {
	return Row{
		Subject: r.Subject, Name: name, Clients: r.Clients, Count: r.Count,
		P50: r.P50 - other.P50, P95: r.P95 - other.P95, P99: r.P99 - other.P99,
	}
}

// timed reports whether the row is of times.
func (r Row) timed() bool { return r.P50 != 0 || r.P95 != 0 || r.P99 != 0 }

// LoadHead is the line above a table of rows.
var LoadHead = fmt.Sprintf("%-52s %7s %6s %9s %9s %9s %9s %10s", "", "clients", "n", "p50 ms", "p95 ms", "p99 ms", "max ms", "a second")

// String returns the row as a line of a table, under [LoadHead].
func (r Row) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-52s %7s %6s", r.Name, positive("%.0f", float64(r.Clients)), positive("%.0f", float64(r.Count)))
	switch {
	case r.Unit != "":
		fmt.Fprintf(&b, " %9.1f %s", r.Value, r.Unit)
	case r.timed() || r.Rate > 0:
		for _, d := range []time.Duration{r.P50, r.P95, r.P99, r.Max} {
			fmt.Fprintf(&b, " %9s", r.milliseconds(d))
		}
		fmt.Fprintf(&b, " %10s", positive("%.0f", r.Rate))
	}
	if r.Floor != "" {
		fmt.Fprintf(&b, "  %.2f × %s", r.Ratio, r.Floor)
	}
	if r.Note != "" {
		fmt.Fprintf(&b, "  (%s)", r.Note)
	}
	return strings.TrimRight(b.String(), " ")
}

// milliseconds formats one of the row's times, nothing where it has none.
func (r Row) milliseconds(d time.Duration) string {
	if !r.timed() || (d == r.Max && r.Max == 0) {
		return ""
	}
	return fmt.Sprintf("%.3f", ms(d))
}

// positive formats a number, nothing where there is none.
func positive(format string, x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// rowJSON is a row for programs.
type rowJSON struct {
	Subject   string  `json:"subject"`
	Name      string  `json:"name"`
	Clients   int     `json:"clients,omitempty"`
	Count     int     `json:"n,omitempty"`
	P50       float64 `json:"p50_ms,omitempty"`
	P95       float64 `json:"p95_ms,omitempty"`
	P99       float64 `json:"p99_ms,omitempty"`
	Max       float64 `json:"max_ms,omitempty"`
	PerSecond float64 `json:"per_second,omitempty"`
	Value     float64 `json:"value,omitempty"`
	Unit      string  `json:"unit,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
	Floor     string  `json:"floor,omitempty"`
	Note      string  `json:"note,omitempty"`
	Memories  int     `json:"memories"`
	Dims      int     `json:"dims"`
	Version   string  `json:"version"`
	Machine
}

// WriteLoadJSON writes rows as JSON lines. Each says on its own where and of what
// it is.
func WriteLoadJSON(w io.Writer, rows []Row, o LoadOptions, version string) error {
	enc := json.NewEncoder(w)
	machine := ThisMachine()
	for _, r := range rows {
		line := rowJSON{
			Subject: r.Subject, Name: r.Name, Clients: r.Clients, Count: r.Count,
			P50: ms(r.P50), P95: ms(r.P95), P99: ms(r.P99), Max: ms(r.Max),
			PerSecond: r.Rate, Value: r.Value, Unit: r.Unit, Ratio: r.Ratio, Floor: r.Floor, Note: r.Note,
			Memories: cmp.Or(o.Memories, 10_000), Dims: loadDims, Version: version, Machine: machine,
		}
		if err := enc.Encode(line); err != nil {
			return fmt.Errorf("write rows: %w", err)
		}
	}
	return nil
}

package prompt

import (
	"fmt"
	"strings"
	"time"
)

// samples has one of each kind of data: they are the list of prompts, and what
// prompts are tried with when they are opened.
var samples = []Data{
	Extract{
		Today: time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC),
		Known: []string{"User has a dog named Rex."},
		Turns: []Turn{{ID: "t1", Role: "user", At: time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC), Text: "I moved to Lisbon."}},
	},
	Reconcile{
		Known: []Line{{ID: "0", Text: "User lives in Berlin.", At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		New:   []Line{{ID: "1", Text: "User lives in Lisbon.", At: time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)}},
	},
	Summarize{
		Previous: "- User looks for a flat in Lisbon.",
		Turns:    []Turn{{ID: "t1", Role: "user", At: time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC), Text: "I took the one near the river."}},
	},
}

// Extract fills extract.md.
type Extract struct {
	Today time.Time
	Known []string
	Turns []Turn
}

// Turn is one turn to read, under the short id that the reply names it by.
type Turn struct {
	ID   string
	Role string
	At   time.Time
	Text string
}

// Reconcile fills reconcile.md.
type Reconcile struct {
	Known []Line
	New   []Line
}

// Line is one fact under a short id.
type Line struct {
	ID   string
	Text string
	At   time.Time // when it was said; zero: not shown
}

// Summarize fills summarize.md.
type Summarize struct {
	Previous string
	Turns    []Turn
}

func (Extract) name() string { return "extract" }

func (d Extract) values() map[string]string {
	known := make([]string, len(d.Known))
	for i, k := range d.Known {
		known[i] = "- " + oneLine(k)
	}
	return map[string]string{
		"TODAY": d.Today.Format(time.DateOnly),
		"KNOWN": list(known),
		"TURNS": transcript(d.Turns),
	}
}

func (Summarize) name() string { return "summarize" }

func (d Summarize) values() map[string]string {
	previous := d.Previous
	if previous == "" {
		previous = list(nil)
	}
	return map[string]string{"PREVIOUS": previous, "TURNS": transcript(d.Turns)}
}

func transcript(in []Turn) string {
	turns := make([]string, len(in))
	for i, t := range in {
		turns[i] = fmt.Sprintf("[%s] %s%s:\n%s", t.ID, t.Role, on(t.At), indent(t.Text))
	}
	return strings.Join(turns, "\n\n")
}

func (Reconcile) name() string { return "reconcile" }

func (d Reconcile) values() map[string]string {
	return map[string]string{"KNOWN": list(numbered(d.Known)), "NEW": list(numbered(d.New))}
}

func numbered(in []Line) []string {
	out := make([]string, len(in))
	for i, l := range in {
		out[i] = fmt.Sprintf("[%s]%s %s", l.ID, on(l.At), oneLine(l.Text))
	}
	return out
}

func list(in []string) string {
	if len(in) == 0 {
		return "(nothing)"
	}
	return strings.Join(in, "\n")
}

func on(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " (" + t.Format(time.DateOnly) + ")"
}

// indent sets a turn's text off from the line that names it, so that a text which
// looks like such a line is not one.
func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

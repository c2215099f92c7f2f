package prompt

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// samples has one of each kind of data: they define the list of prompts, and test prompts when they
// are opened.
var samples = []Data{
	sampleExtract,
	memoryExtraction{sampleExtract},
	memoryFormation{sampleExtract},
	sampleReconcile,
	conflictResolution{sampleReconcile},
	Summarize{
		Previous: "- User looks for a flat in Lisbon.",
		Turns:    []Turn{{ID: "t1", Role: "user", At: time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC), Text: "I took the one near the river."}},
	},
	Write{
		History: []string{"user: I moved to Lisbon."}, Summaries: []string{"- Looked for a flat."}, Facts: []string{"timezone: Europe/Lisbon"},
		Similar: []string{"[0.71] user: The flat is small."}, Recent: []string{"assistant: Congratulations!"},
		Images: "A plan of a flat.", Location: "Faro", Query: "Which flat did I take?",
		Contexts: "The house rules allow dogs.", Rules: "Answer in one sentence.",
	},
	Describe{Query: "How large is this flat?"},
	System{Contexts: "The house rules allow dogs.", Rules: "Answer in one sentence.", Memory: "- User has a dog named Rex.", Message: "May I bring him?"},
}

var (
	sampleExtract = Extract{
		Today:         time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC),
		Facts:         []Line{{ID: "k1", Text: "User has a dog named Rex."}},
		LearningGoals: "Remember only what concerns recipes.",
		Context:       "The house rules allow dogs.",
		Turns: []Turn{
			{ID: "t1", Role: "user", At: time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC), Text: "I moved to Lisbon."},
			{ID: "t2", Role: "assistant", At: time.Date(2026, 5, 3, 9, 31, 0, 0, time.UTC), Text: "How do you like it?"},
		},
	}
	sampleReconcile = Reconcile{
		Facts: []Line{{ID: "0", Text: "User lives in Berlin.", At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		New:   []Line{{ID: "1", Text: "User lives in Lisbon.", At: time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)}},
	}
)

// Extract fills extract.md, or the prompt that the form uses instead.
type Extract struct {
	Today         time.Time // the newest turn's time, in the user's zone
	Facts         []Line
	LearningGoals string // what the user or the project wants remembered
	Context       string // the user's attached documents; only memory_extraction.md shows them
	Preceding     []Turn // the turns before Turns, as context; only extract.md shows them
	Turns         []Turn // a turn without an id is shown as context
}

// optional are the placeholders that a prompt may omit.
var optional = map[string]bool{"NOW": true, "WISHES": true}

// Turn is one turn under the short id that the reply uses for it.
type Turn struct {
	ID   string
	Role string
	Name string // the speaker's, "" if the message has none
	At   time.Time
	Text string
}

// Reconcile fills reconcile.md.
type Reconcile struct {
	Facts []Line
	New   []Line
}

// Line is one fact under a short id.
type Line struct {
	ID      string
	Text    string
	At      time.Time // of the statement; zero: not shown
	Pending bool      // it is pending
}

// Summarize fills summarize.md.
type Summarize struct {
	Previous string
	Turns    []Turn
}

func (Extract) name() string { return "extract" }

func (d Extract) values() map[string]string {
	turns := "The turns:\n\n" + transcript(d.Turns)
	if len(d.Preceding) > 0 {
		turns = "Before, only to understand the turns:\n\n" + transcript(d.Preceding) + "\n\n" + turns
	}
	wishes := ""
	if d.LearningGoals != "" {
		wishes = "What is to be remembered, as the user set it:\n" + indent(d.LearningGoals)
	}
	return map[string]string{
		"NOW":    d.Today.Format("2006-01-02 15:04, Monday, MST") + "\n" + calendar(d.Today),
		"TODAY":  d.Today.Format(time.DateOnly),
		"WISHES": wishes,
		"KNOWN":  list(numbered(d.Facts)),
		"TURNS":  turns,
	}
}

// calendar names the days of this week and the next.
func calendar(now time.Time) string {
	var b strings.Builder
	for i := range 14 {
		day := now.AddDate(0, 0, i-(int(now.Weekday())+6)%7)
		switch i {
		case 0:
			b.WriteString("This week:")
		case 7:
			b.WriteString("\nNext week:")
		}
		b.WriteString(day.Format(" Mon 01-02"))
	}
	return b.String()
}

// factLines lists facts, one a line.
func factLines(facts []Line) []string {
	out := make([]string, len(facts))
	for i, k := range facts {
		out[i] = "- " + oneLine(k.Text)
	}
	return out
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
		id := ""
		if t.ID != "" {
			id = "[" + t.ID + "] "
		}
		name := ""
		if t.Name != "" {
			name = " " + strconv.Quote(t.Name)
		}
		turns[i] = fmt.Sprintf("%s%s%s%s:\n%s", id, t.Role, name, dateInParentheses(t.At), indent(t.Text))
	}
	return strings.Join(turns, "\n\n")
}

func (Reconcile) name() string { return "reconcile" }

func (d Reconcile) values() map[string]string {
	return map[string]string{"KNOWN": list(numbered(d.Facts)), "NEW": list(numbered(d.New))}
}

func numbered(in []Line) []string {
	out := make([]string, len(in))
	for i, l := range in {
		waits := ""
		if l.Pending {
			waits = " (unconfirmed)"
		}
		out[i] = fmt.Sprintf("[%s]%s %s%s", l.ID, dateInParentheses(l.At), oneLine(l.Text), waits)
	}
	return out
}

func list(in []string) string {
	if len(in) == 0 {
		return "(nothing)"
	}
	return strings.Join(in, "\n")
}

func dateInParentheses(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " (" + t.Format(time.DateOnly) + ")"
}

// indent indents a turn's text, so that it cannot look like the line that names a turn.
func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

package prompt

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sampleData has one example of the data of each prompt, and is thereby the list of all prompts. To check a
// prompt, Loci fills the prompt with its sample.
var sampleData = []Data{
	sampleExtract,
	memoryExtractionData{sampleExtract},
	memoryFormationData{sampleExtract},
	sampleReconcile,
	conflictResolutionData{sampleReconcile},
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
		NewestTurnAt:  time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC),
		Facts:         []FactLine{{ID: "k1", Text: "User has a dog named Rex."}},
		LearningGoals: "Remember only what concerns recipes.",
		Context:       "The house rules allow dogs.",
		Turns: []Turn{
			{ID: "t1", Role: "user", At: time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC), Text: "I moved to Lisbon."},
			{ID: "t2", Role: "assistant", At: time.Date(2026, 5, 3, 9, 31, 0, 0, time.UTC), Text: "How do you like it?"},
		},
	}
	sampleReconcile = Reconcile{
		Facts:      []FactLine{{ID: "0", Text: "User lives in Berlin.", At: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		Candidates: []FactLine{{ID: "1", Text: "User lives in Lisbon.", At: time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)}},
	}
)

// Extract is the data for extract.md, or for the first prompt of another [Form].
type Extract struct {
	NewestTurnAt  time.Time // the time of the newest turn, in the user's time zone
	Facts         []FactLine
	LearningGoals string // topics to remember, set by the user or the project
	Context       string // the user's attached documents; only memory_extraction.md shows them
	Preceding     []Turn // turns before Turns, for understanding; only extract.md shows them
	Turns         []Turn // turns to learn from; a turn without an id is only for understanding
}

// optionalPlaceholders lists the placeholders that a prompt may omit.
var optionalPlaceholders = map[string]bool{"NOW": true, "WISHES": true}

// Turn is a turn with a short id, by which the model's reply names the turn.
type Turn struct {
	ID   string
	Role string
	Name string // name of the speaker; "" if the message has none
	At   time.Time
	Text string
}

// Reconcile is the data for reconcile.md.
type Reconcile struct {
	Facts      []FactLine // stored facts
	Candidates []FactLine // new facts to compare with Facts
}

// FactLine is a fact with a short id, by which the model's reply names the fact.
type FactLine struct {
	ID      string
	Text    string
	At      time.Time // time of the statement; not shown if zero
	Pending bool      // whether the fact is pending; shown as "(unconfirmed)"
}

// Summarize is the data for summarize.md.
type Summarize struct {
	Previous string // previous summary; "" for none
	Turns    []Turn
}

func (Extract) promptName() string { return "extract" }

func (d Extract) placeholderValues() map[string]string {
	turns := "The turns:\n\n" + transcript(d.Turns)
	if len(d.Preceding) > 0 {
		turns = "Before, only to understand the turns:\n\n" + transcript(d.Preceding) + "\n\n" + turns
	}
	wishes := ""
	if d.LearningGoals != "" {
		wishes = "What is to be remembered, as the user set it:\n" + indent(d.LearningGoals)
	}
	return map[string]string{
		"NOW":    d.NewestTurnAt.Format("2006-01-02 15:04, Monday, MST") + "\n" + calendar(d.NewestTurnAt),
		"TODAY":  d.NewestTurnAt.Format(time.DateOnly),
		"WISHES": wishes,
		"KNOWN":  linesOrNothing(linesWithIDs(d.Facts)),
		"TURNS":  turns,
	}
}

// calendar returns the dates and weekdays of this week and the next, as two lines.
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

// factLines returns facts as text, one line each.
func factLines(facts []FactLine) []string {
	out := make([]string, len(facts))
	for i, k := range facts {
		out[i] = "- " + oneLine(k.Text)
	}
	return out
}

func (Summarize) promptName() string { return "summarize" }

func (d Summarize) placeholderValues() map[string]string {
	previous := d.Previous
	if previous == "" {
		previous = linesOrNothing(nil)
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

func (Reconcile) promptName() string { return "reconcile" }

func (d Reconcile) placeholderValues() map[string]string {
	return map[string]string{"KNOWN": linesOrNothing(linesWithIDs(d.Facts)), "NEW": linesOrNothing(linesWithIDs(d.Candidates))}
}

func linesWithIDs(facts []FactLine) []string {
	out := make([]string, len(facts))
	for i, l := range facts {
		suffix := ""
		if l.Pending {
			suffix = " (unconfirmed)"
		}
		out[i] = fmt.Sprintf("[%s]%s %s%s", l.ID, dateInParentheses(l.At), oneLine(l.Text), suffix)
	}
	return out
}

func linesOrNothing(items []string) string {
	if len(items) == 0 {
		return "(nothing)"
	}
	return strings.Join(items, "\n")
}

func dateInParentheses(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " (" + t.Format(time.DateOnly) + ")"
}

// indent indents a turn's text, so that no line in the text looks like the heading of a turn.
func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

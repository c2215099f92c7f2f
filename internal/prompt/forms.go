package prompt

import (
	"strings"
)

// Form is the format of a learning model's reply.
type Form string

// The forms. [Fill] accepts [Extract] and [Reconcile] in each of them, and fills the form's
// prompts.
const (
	InOps      Form = "ops"      // extract.md: changes, with the ids of the changed facts
	InLine     Form = "line"     // memory_extraction.md: one line, the fact or NOTHING; then reconcile.md
	InMemories Form = "memories" // memory_formation.md: a list of sentences; then conflict_resolution.md
)

// In returns the set with replies in a form.
func (s *Set) In(form Form) *Set {
	own := *s
	own.form = form
	return &own
}

// Form returns the form of the set's replies.
func (s *Set) Form() Form {
	if s == nil || s.form == "" {
		return InOps
	}
	return s.form
}

// inForm returns the data for the form's own prompt instead of data's.
func (s *Set) inForm(data Data) Data {
	switch d := data.(type) {
	case Extract:
		switch s.form {
		case InLine:
			return memoryExtraction{d}
		case InMemories:
			return memoryFormation{d}
		}
	case Reconcile:
		if s.form == InMemories {
			return conflictResolution{d}
		}
	}
	return data
}

// memoryExtraction fills memory_extraction.md.
type memoryExtraction struct{ Extract }

func (memoryExtraction) name() string { return "memory_extraction" }

func (d memoryExtraction) values() map[string]string {
	context := d.Context
	if context == "" {
		context = list(nil)
	}
	return map[string]string{
		"EXISTING_MEMORIES": list(factLines(d.Facts)), "EXISTING_CONTEXT": context,
		"USER_TEXT": textOf(d.Turns, "user"), "ASSISTANT_TEXT": textOf(d.Turns, "assistant"),
	}
}

// memoryFormation fills memory_formation.md.
type memoryFormation struct{ Extract }

func (memoryFormation) name() string { return "memory_formation" }

func (d memoryFormation) values() map[string]string {
	return map[string]string{"existing_memories_list": list(factLines(d.Facts)), "user_message": textOf(d.Turns, "user")}
}

// conflictResolution fills conflict_resolution.md.
type conflictResolution struct{ Reconcile }

func (conflictResolution) name() string { return "conflict_resolution" }

func (d conflictResolution) values() map[string]string {
	new := make([]string, len(d.New))
	for i, l := range d.New {
		new[i] = oneLine(l.Text)
	}
	id := "the number in brackets before the one that it replaces"
	if len(d.Facts) == 1 {
		id = d.Facts[0].ID
	}
	return map[string]string{"existing_memory": list(numbered(d.Facts)), "new_fact": list(new), "id": id}
}

// textOf returns one role's text in turns, set off from the prompt's own lines.
func textOf(turns []Turn, role string) string {
	var texts []string
	for _, t := range turns {
		if t.Role == role {
			texts = append(texts, indent(t.Text))
		}
	}
	return list(texts)
}

// Write fills write.md. Its lines are inserted unchanged.
type Write struct {
	History, Summaries, Facts, Similar, Recent []string
	Images, Location, Query                    string
	Contexts, Rules                            string // of the session: its fenced documents, and the rules that its user wants
}

func (Write) name() string { return "write" }

func (d Write) values() map[string]string {
	return map[string]string{
		"HISTORY": strings.Join(d.History, "\n"), "IMAGES": d.Images, "SUMMARIES": strings.Join(d.Summaries, "\n"),
		"FACTS": strings.Join(d.Facts, "\n"), "SIMILAR": strings.Join(d.Similar, "\n"), "RECENT": strings.Join(d.Recent, "\n"),
		"LOCATION": d.Location, "QUERY": d.Query, "CONTEXTS": d.Contexts, "RULES": d.Rules,
	}
}

// Describe fills describe.md.
type Describe struct{ Query string }

func (Describe) name() string { return "describe" }

func (d Describe) values() map[string]string { return map[string]string{"QUERY": d.Query} }

package prompt

import (
	"strings"
)

// Form is the format in which a learning model replies.
type Form string

// The forms. [Set.Fill] fills the prompts of the set's form with [Extract] and [Reconcile].
const (
	InOps      Form = "ops"      // extract.md; the reply is changes with the ids of the changed facts
	InLine     Form = "line"     // memory_extraction.md, then reconcile.md; the first reply is a fact or NOTHING
	InMemories Form = "memories" // memory_formation.md, then conflict_resolution.md; the first reply is a list of sentences
)

// WithForm returns a set whose prompts ask for replies in the given form.
func (s *Set) In(form Form) *Set {
	own := *s
	own.form = form
	return &own
}

// Form returns the form in which models reply to the set's prompts.
func (s *Set) Form() Form {
	if s == nil || s.form == "" {
		return InOps
	}
	return s.form
}

// dataForForm converts data to the data of the prompt that the set's form uses.
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

// memoryExtraction is the data for memory_extraction.md.
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

// memoryFormation is the data for memory_formation.md.
type memoryFormation struct{ Extract }

func (memoryFormation) name() string { return "memory_formation" }

func (d memoryFormation) values() map[string]string {
	return map[string]string{"existing_memories_list": list(factLines(d.Facts)), "user_message": textOf(d.Turns, "user")}
}

// conflictResolution is the data for conflict_resolution.md.
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

// roleText returns the texts of turns with a role, indented to separate them from the prompt.
func textOf(turns []Turn, role string) string {
	var texts []string
	for _, t := range turns {
		if t.Role == role {
			texts = append(texts, indent(t.Text))
		}
	}
	return list(texts)
}

// Write is the data for write.md. Its lines are inserted unchanged.
type Write struct {
	History, Summaries, Facts, Similar, Recent []string
	Images, Location, Query                    string
	Contexts, Rules                            string // the conversation's documents, fenced as data, and its user's rules
}

func (Write) name() string { return "write" }

func (d Write) values() map[string]string {
	return map[string]string{
		"HISTORY": strings.Join(d.History, "\n"), "IMAGES": d.Images, "SUMMARIES": strings.Join(d.Summaries, "\n"),
		"FACTS": strings.Join(d.Facts, "\n"), "SIMILAR": strings.Join(d.Similar, "\n"), "RECENT": strings.Join(d.Recent, "\n"),
		"LOCATION": d.Location, "QUERY": d.Query, "CONTEXTS": d.Contexts, "RULES": d.Rules,
	}
}

// Describe is the data for describe.md.
type Describe struct{ Query string }

func (Describe) name() string { return "describe" }

func (d Describe) values() map[string]string { return map[string]string{"QUERY": d.Query} }

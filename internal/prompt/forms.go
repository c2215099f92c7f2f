package prompt

import (
	"strings"
)

// Form is the format of a model's replies when it extracts and reconciles facts.
type Form string

// The forms. For [Extract] and [Reconcile], [Set.Fill] uses the prompts of the set's form.
const (
	OpsForm      Form = "ops"      // extract.md; the reply lists changes with the ids of the changed facts
	LineForm     Form = "line"     // memory_extraction.md, then reconcile.md; the first reply is a fact or NOTHING
	MemoriesForm Form = "memories" // memory_formation.md, then conflict_resolution.md; the first reply is a list of sentences
)

// WithForm returns a set whose prompts ask for replies in the given form.
func (s *Set) WithForm(form Form) *Set {
	derived := *s
	derived.form = form
	return &derived
}

// Form returns the form in which models reply to the set's prompts.
func (s *Set) Form() Form {
	if s == nil || s.form == "" {
		return OpsForm
	}
	return s.form
}

// dataForForm converts data to the data of the prompt that the set's form uses.
func (s *Set) dataForForm(data Data) Data {
	switch d := data.(type) {
	case Extract:
		switch s.form {
		case LineForm:
			return memoryExtractionData{d}
		case MemoriesForm:
			return memoryFormationData{d}
		}
	case Reconcile:
		if s.form == MemoriesForm {
			return conflictResolutionData{d}
		}
	}
	return data
}

// memoryExtractionData is the data for memory_extraction.md, the prompt of LineForm.
type memoryExtractionData struct{ Extract }

func (memoryExtractionData) promptName() string { return "memory_extraction" }

func (d memoryExtractionData) placeholderValues() map[string]string {
	context := d.Context
	if context == "" {
		context = linesOrNothing(nil)
	}
	return map[string]string{
		"EXISTING_MEMORIES": linesOrNothing(factLines(d.Facts)), "EXISTING_CONTEXT": context,
		"USER_TEXT": roleText(d.Turns, "user"), "ASSISTANT_TEXT": roleText(d.Turns, "assistant"),
	}
}

// memoryFormationData is the data for memory_formation.md, the first prompt of MemoriesForm.
type memoryFormationData struct{ Extract }

func (memoryFormationData) promptName() string { return "memory_formation" }

func (d memoryFormationData) placeholderValues() map[string]string {
	return map[string]string{"existing_memories_list": linesOrNothing(factLines(d.Facts)), "user_message": roleText(d.Turns, "user")}
}

// conflictResolutionData is the data for conflict_resolution.md, the second prompt of MemoriesForm.
type conflictResolutionData struct{ Reconcile }

func (conflictResolutionData) promptName() string { return "conflict_resolution" }

func (d conflictResolutionData) placeholderValues() map[string]string {
	new := make([]string, len(d.Candidates))
	for i, l := range d.Candidates {
		new[i] = oneLine(l.Text)
	}
	id := "the number in brackets before the one that it replaces"
	if len(d.Facts) == 1 {
		id = d.Facts[0].ID
	}
	return map[string]string{"existing_memory": linesOrNothing(linesWithIDs(d.Facts)), "new_fact": linesOrNothing(new), "id": id}
}

// roleText returns the texts of the turns with this role, indented to set them off in the prompt.
func roleText(turns []Turn, role string) string {
	var texts []string
	for _, t := range turns {
		if t.Role == role {
			texts = append(texts, indent(t.Text))
		}
	}
	return linesOrNothing(texts)
}

// Write is the data for write.md. Its lines are inserted unchanged.
type Write struct {
	History, Summaries, Facts, Similar, Recent []string // Similar: messages like the query; Recent: the last turns
	Images, Location, Query                    string   // Images: what the query's images show
	Contexts, Rules                            string   // the conversation's documents, marked as data, and its user's rules
}

func (Write) promptName() string { return "write" }

func (d Write) placeholderValues() map[string]string {
	return map[string]string{
		"HISTORY": strings.Join(d.History, "\n"), "IMAGES": d.Images, "SUMMARIES": strings.Join(d.Summaries, "\n"),
		"FACTS": strings.Join(d.Facts, "\n"), "SIMILAR": strings.Join(d.Similar, "\n"), "RECENT": strings.Join(d.Recent, "\n"),
		"LOCATION": d.Location, "QUERY": d.Query, "CONTEXTS": d.Contexts, "RULES": d.Rules,
	}
}

// Describe is the data for describe.md.
type Describe struct{ Query string }

func (Describe) promptName() string { return "describe" }

func (d Describe) placeholderValues() map[string]string { return map[string]string{"QUERY": d.Query} }

package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// promptLine is a prompt in the list of the settings.
type promptLine struct {
	Name, Purpose string
	From          string // where its words are from
	Idle          string // why it is not asked; "" for one that may be
}

// promptLines lists the prompts in order of name.
func (p *Page) promptLines() []promptLine {
	var out []promptLine
	for _, name := range prompt.Names() {
		out = append(out, promptLine{Name: name, Purpose: purpose(p.InUse.Source(name)), From: p.promptFrom(name), Idle: p.idle(name)})
	}
	return out
}

func (p *Page) promptFrom(name string) string {
	if file := p.Prompts[name]; file != "" {
		return file
	}
	if _, model, variant := strings.Cut(strings.TrimSuffix(p.InUse.File(name), ".md"), "@"); variant {
		return "built in, for models named " + model
	}
	return "built in"
}

// formOf is which of learn.reply asks each of the prompts that learn.
var formOf = map[string][]prompt.Form{
	"extract": {prompt.InOps}, "memory_extraction": {prompt.InLine}, "memory_formation": {prompt.InMemories},
	"reconcile": {prompt.InOps, prompt.InLine}, "conflict_resolution": {prompt.InMemories},
}

func (p *Page) idle(name string) string {
	forms, learns := formOf[name]
	switch {
	case !learns:
		return ""
	case p.engine.LLM == nil:
		return "no model learns here"
	case !slices.Contains(forms, p.engine.Prompts.Form()):
		return "learn.reply is " + string(p.engine.Prompts.Form())
	}
	return ""
}

// purpose returns the first sentence of the comment that a prompt begins with.
func purpose(source string) string {
	head, _, _ := strings.Cut(strings.TrimPrefix(source, "<!--"), "-->")
	first, _, _ := strings.Cut(strings.Join(strings.Fields(head), " "), ". ")
	first, _, _ = strings.Cut(first, " Sent as:")
	return strings.TrimSuffix(strings.TrimPrefix(first, "What it is for: "), ".")
}

// promptView is one prompt: its file, and what a model would be sent.
type promptView struct {
	promptLine
	Source       string
	Hash         string
	Placeholders []string
	Variants     []string
	Sent         memory.Prompt
}

func (v promptView) title() string { return v.Name }

func (p *Page) prompt(r *http.Request, v visit) (any, error) {
	if !runs(r) {
		return nil, memory.Errorf(memory.Forbidden, "the prompts are for whoever runs the server")
	}
	set, lines := p.InUse, p.promptLines()
	i := slices.IndexFunc(lines, func(l promptLine) bool { return l.Name == v.id })
	if i < 0 {
		return nil, memory.Errorf(memory.NotFound, "there is no prompt %q", clip(60, v.id))
	}
	view := promptView{promptLine: lines[i], Source: set.Source(v.id), Hash: set.Hash(v.id), Placeholders: prompt.Placeholders(v.id), Variants: set.Variants(v.id)}
	var err error
	view.Sent, err = dryRun(set, v.id)
	return view, err
}

// dryRun fills a prompt with sample values. In which form a set is asked says which
// prompt data fills, so that all are tried.
func dryRun(set *prompt.Set, name string) (memory.Prompt, error) {
	for _, form := range []prompt.Form{prompt.InOps, prompt.InLine, prompt.InMemories} {
		for _, data := range sampleData {
			sent, err := set.In(form).Fill(data)
			if err != nil || sent.Name == name {
				return sent, err
			}
		}
	}
	return memory.Prompt{Name: name}, nil
}

// sampleData has one of each kind of what prompts are filled with.
var sampleData = []prompt.Data{
	prompt.Extract{
		Today: sampleDay, Known: []prompt.Line{{ID: "k1", Text: "User has a dog named Rex."}}, Context: "The house rules allow dogs.",
		Turns: []prompt.Turn{
			{ID: "t1", Role: "user", At: sampleDay, Text: "I moved to Lisbon."}, {ID: "t2", Role: "assistant", At: sampleDay, Text: "How do you like it?"},
		},
	},
	prompt.Reconcile{
		Known: []prompt.Line{{ID: "0", Text: "User lives in Berlin.", At: sampleDay.AddDate(0, -4, 0)}}, New: []prompt.Line{{ID: "1", Text: "User lives in Lisbon.", At: sampleDay}},
	},
	prompt.Summarize{Previous: "- User looks for a flat in Lisbon.", Turns: []prompt.Turn{{ID: "t1", Role: "user", At: sampleDay, Text: "I took the one near the river."}}},
	prompt.Write{
		History: []string{"user: I moved to Lisbon."}, Summaries: []string{"- Looked for a flat."}, Facts: []string{"timezone: Europe/Lisbon"},
		Similar: []string{"[0.71] user: The flat is small."}, Recent: []string{"assistant: Congratulations!"},
		Images: "A plan of a flat.", Location: "Faro", Query: "Which flat did I take?",
	},
	prompt.Describe{Query: "How large is this flat?"},
	prompt.System{
		Contexts: "Documents that the user attached to this chat:\n\n## House rules\nDogs may.", Rules: "Answer in short sentences.",
		Memory: "- User has a dog named Rex.", Message: "May Rex come along?",
	},
}

var sampleDay = time.Date(2026, 5, 3, 9, 30, 0, 0, time.UTC)

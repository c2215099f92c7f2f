package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// promptLine is a prompt in the list of the settings.
type promptLine struct {
	Name, Purpose string
	From          string // where its words are from
}

// promptLines lists the prompts in order of name.
func (p *Page) promptLines() []promptLine {
	var out []promptLine
	for _, name := range prompt.Names() {
		out = append(out, promptLine{Name: name, Purpose: p.InUse.Purpose(name), From: p.promptFrom(name)})
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
	view.Sent, err = set.Sample(v.id)
	return view, err
}

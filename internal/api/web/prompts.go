package web

import (
	"net/http"
	"slices"

	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// promptView is a prompt's file, and an example of the prompt as a model receives it.
type promptView struct {
	promptFile
	Example memory.Prompt
}

// promptFile is the file of a prompt that Loci uses now: built in, or from the user's folder.
type promptFile struct{ prompt.File }

// From describes the source of the prompt's text.
func (f promptFile) From() string {
	switch {
	case f.Path != "":
		return f.Path
	case f.Variant != "":
		return "built in, for models named " + f.Variant
	}
	return "built in"
}

// promptFiles returns the files of all prompts, sorted by name.
func (p *Page) promptFiles() (out []promptFile) {
	for _, f := range p.ActivePrompts().Files(p.PromptDir) {
		out = append(out, promptFile{f})
	}
	return out
}

func (v promptView) title() string { return v.Name }

func (p *Page) promptView(r *http.Request, v visit) (any, error) {
	if !isAdmin(r) {
		return nil, memory.Errorf(memory.Forbidden, "prompts are for admins only")
	}
	all := p.promptFiles()
	i := slices.IndexFunc(all, func(f promptFile) bool { return f.Name == v.id })
	if i < 0 {
		return nil, memory.Errorf(memory.NotFound, "no such prompt: %q", clip(60, v.id))
	}
	sent, err := p.ActivePrompts().Sample(v.id)
	return promptView{all[i], sent}, err
}

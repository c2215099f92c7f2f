package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

func (p *Page) rememberFact(r *http.Request, v visit) (formResult, error) {
	f, created, err := p.engine.Curate.Remember(r.Context(), v.owner, curate.FactInput{
		Content: r.PostFormValue("content"), Category: strings.TrimSpace(r.PostFormValue("category")), Tags: splitTags(r.PostFormValue("tags")),
	}, v.author)
	if err != nil {
		return formResult{}, err
	}
	if !created {
		return formResult{Message: "This fact is already stored."}, nil
	}
	return p.factResult(r, v, "Remembered.", f.ID)
}

func splitTags(s string) []string { return strings.Split(s, ",") }

// changeMemory applies the action that the user chose in a memory's form.
func (p *Page) changeMemory(r *http.Request, v visit) (formResult, error) {
	switch do := r.PostFormValue("do"); do {
	case "edit":
		return p.editFact(r, v, v.id)
	case "pin", "unpin":
		return p.pinFacts(r, v, do == "pin", v.id)
	case "forget":
		return p.forgetMemories(r, v, v.id)
	case "restore":
		if _, err := p.engine.Curate.Restore(r.Context(), v.owner, v.id, "", v.author); err != nil {
			return formResult{}, err
		}
		return p.factResult(r, v, "Restored.", v.id)
	case "approve", "reject":
		return p.applyJudgements(r, v, curate.Judgement{ID: v.id, Action: memory.Action(do)})
	default:
		return formResult{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
}

// editFact changes the fields that the form contains.
func (p *Page) editFact(r *http.Request, v visit, id string) (formResult, error) {
	e := curate.FactEdit{Content: formField(r, "content"), Category: formField(r, "category")}
	if s := formField(r, "tags"); s != nil {
		e.Tags = new(splitTags(*s))
	}
	if s := formField(r, "confidence"); s != nil {
		c, err := strconv.ParseFloat(*s, 64)
		if err != nil {
			return formResult{}, memory.Errorf(memory.Invalid, "confidence: invalid number %q (valid: 0 to 100)", clip(20, *s))
		}
		e.Confidence = new(c / 100)
	}
	if s := formField(r, "core"); s != nil {
		e.Core = new(memory.Core)
		if err := e.Core.UnmarshalText([]byte(*s)); err != nil {
			return formResult{}, err
		}
	}
	previous, err := p.engine.Get(r.Context(), v.owner, id)
	if err != nil {
		return formResult{}, err
	}
	if f := previous.Fact; f != nil && e.Content != nil && f.Content == *e.Content {
		e.Content = nil // unchanged text is not sent, because the engine refuses new text for another owner's fact
	}
	if _, err := p.engine.Curate.EditFact(r.Context(), v.owner, id, e, v.author); err != nil {
		return formResult{}, err
	}
	return p.factResult(r, v, "Saved.", id)
}

// formField returns a value of the form with LF line ends, or nil if the form does not have the field.
func formField(r *http.Request, name string) *string {
	values := r.PostForm[name]
	if len(values) == 0 {
		return nil
	}
	return new(strings.TrimSpace(strings.ReplaceAll(values[0], "\r\n", "\n")))
}

func (p *Page) pinFacts(r *http.Request, v visit, pin bool, ids ...string) (formResult, error) {
	for _, id := range ids {
		if _, err := p.engine.Curate.EditFact(r.Context(), v.owner, id, curate.FactEdit{Core: new(memory.Pin(pin))}, v.author); err != nil {
			return formResult{}, err
		}
	}
	if pin {
		return p.factResult(r, v, "Pinned: it is now in every prompt.", ids...)
	}
	return p.factResult(r, v, "Unpinned.", ids...)
}

func (p *Page) forgetMemories(r *http.Request, v visit, ids ...string) (formResult, error) {
	forgotten, receipt, err := p.engine.Curate.ForgetMatching(r.Context(), v.owner, curate.ForgetRequest{IDs: ids}, v.author)
	if err != nil {
		return formResult{}, err
	}
	d := formResult{Message: plural(len(forgotten), "memory") + " forgotten.", Runs: []string{receipt.Run}}
	if len(forgotten) == 1 {
		d.Message = "Forgotten: " + clip(60, forgotten[0].Content())
	}
	return d, nil
}

// bulkAction applies one action to all selected memories. It pins and tags each memory in its own run.
func (p *Page) bulkAction(r *http.Request, v visit) (formResult, error) {
	ids := r.PostForm["id"]
	if len(ids) == 0 {
		return formResult{Message: "Nothing was selected."}, nil
	}
	if len(ids) > listPageSize+maxHits {
		return formResult{}, memory.Errorf(memory.Invalid, "select at most %d memories at a time", listPageSize+maxHits)
	}
	switch do := r.PostFormValue("do"); do {
	case "forget":
		return p.forgetMemories(r, v, ids...)
	case "pin", "unpin":
		return p.pinFacts(r, v, do == "pin", ids...)
	case "tag":
		return p.tagFacts(r, v, splitTags(r.PostFormValue("tag")), ids...)
	default:
		return formResult{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
}

func (p *Page) tagFacts(r *http.Request, v visit, newTags []string, ids ...string) (formResult, error) {
	found, err := p.engine.Store.Get(r.Context(), v.owner, ids...)
	if err != nil {
		return formResult{}, err
	}
	for _, m := range found {
		if m.Fact == nil {
			return formResult{}, memory.Errorf(memory.Invalid, "only facts have tags")
		}
		if _, err := p.engine.Curate.EditFact(r.Context(), v.owner, m.ID(), curate.FactEdit{Tags: new(slices.Concat(m.Fact.Tags, newTags))}, v.author); err != nil {
			return formResult{}, err
		}
	}
	return p.factResult(r, v, "Tagged.", ids...)
}

// factResult returns message with the latest run of each fact, and names the facts that this run replaced.
func (p *Page) factResult(r *http.Request, v visit, message string, ids ...string) (formResult, error) {
	d := formResult{Message: message}
	for _, id := range ids {
		page, err := p.engine.Changes(r.Context(), v.owner, memory.ChangeQuery{Fact: id})
		if err != nil {
			return formResult{}, err
		}
		for i, c := range page.Changes {
			switch last := page.Changes[0]; {
			case i == 0:
				d.Runs = append(d.Runs, c.Run)
			case c.Run == last.Run && c.Action == memory.ActionReplace && c.NewID == id:
				d.Message += " It replaces: " + clip(60, c.After.Fact.Content)
			}
		}
	}
	return d, nil
}

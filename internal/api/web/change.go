package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// rememberFact stores a fact that the user wrote.
func (p *Page) remember(r *http.Request, v visit) (done, error) {
	f, created, err := p.engine.Curate.Remember(r.Context(), v.owner, curate.Note{
		Content: r.PostFormValue("content"), Category: strings.TrimSpace(r.PostFormValue("category")), Tags: tagsOf(r.PostFormValue("tags")),
	}, v.author)
	if err != nil {
		return done{}, err
	}
	if !created {
		return done{Say: "This fact is already stored."}, nil
	}
	return p.did(r, v, "Remembered.", f.ID)
}

// splitTags splits comma-separated tags.
func tagsOf(s string) []string { return strings.Split(s, ",") }

// changeMemory applies the action of a memory's form.
func (p *Page) change(r *http.Request, v visit) (done, error) {
	switch do := r.PostFormValue("do"); do {
	case "edit":
		return p.edit(r, v, v.id)
	case "pin", "unpin":
		return p.pin(r, v, do == "pin", v.id)
	case "forget":
		return p.forget(r, v, v.id)
	case "restore":
		if _, err := p.engine.Curate.Restore(r.Context(), v.owner, v.id, "", v.author); err != nil {
			return done{}, err
		}
		return p.did(r, v, "Restored.", v.id)
	case "approve", "reject":
		return p.decide(r, v, curate.Judgement{ID: v.id, Action: memory.Action(do)})
	default:
		return done{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
}

// editFact changes the fields that the form contains.
func (p *Page) edit(r *http.Request, v visit, id string) (done, error) {
	e := curate.Edit{Content: field(r, "content"), Category: field(r, "category")}
	if s := field(r, "tags"); s != nil {
		e.Tags = new(tagsOf(*s))
	}
	if s := field(r, "confidence"); s != nil {
		c, err := strconv.ParseFloat(*s, 64)
		if err != nil {
			return done{}, memory.Errorf(memory.Invalid, "confidence: invalid number %q (valid: 0 to 100)", clip(20, *s))
		}
		e.Confidence = new(c / 100)
	}
	if s := field(r, "core"); s != nil {
		e.Core = new(memory.Core)
		if err := e.Core.UnmarshalText([]byte(*s)); err != nil {
			return done{}, err
		}
	}
	was, err := p.engine.Get(r.Context(), v.owner, id)
	if err != nil {
		return done{}, err
	}
	if f := was.Fact; f != nil && e.Content != nil && f.Content == *e.Content {
		e.Content = nil // only the fact's owner may change its text
	}
	if _, err := p.engine.Curate.EditFact(r.Context(), v.owner, id, e, v.author); err != nil {
		return done{}, err
	}
	return p.did(r, v, "Saved.", id)
}

// formField returns a value of the form with LF line ends, or nil if the form does not have the field.
func field(r *http.Request, name string) *string {
	values := r.PostForm[name]
	if len(values) == 0 {
		return nil
	}
	return new(strings.TrimSpace(strings.ReplaceAll(values[0], "\r\n", "\n")))
}

func (p *Page) pin(r *http.Request, v visit, pinned bool, ids ...string) (done, error) {
	for _, id := range ids {
		if _, err := p.engine.Curate.EditFact(r.Context(), v.owner, id, curate.Edit{Core: new(memory.Pin(pinned))}, v.author); err != nil {
			return done{}, err
		}
	}
	if pinned {
		return p.did(r, v, "Pinned: it is now in every prompt.", ids...)
	}
	return p.did(r, v, "Unpinned.", ids...)
}

func (p *Page) forget(r *http.Request, v visit, ids ...string) (done, error) {
	gone, receipt, err := p.engine.Curate.ForgetMatching(r.Context(), v.owner, curate.Matching{IDs: ids}, v.author)
	if err != nil {
		return done{}, err
	}
	d := done{Say: plural(len(gone), "memory") + " forgotten.", Runs: []string{receipt.Run}}
	if len(gone) == 1 {
		d.Say = "Forgotten: " + clip(60, gone[0].Content())
	}
	return d, nil
}

// bulkAction applies one action to all selected memories. It pins and tags each memory in its own run.
func (p *Page) bulk(r *http.Request, v visit) (done, error) {
	ids := r.PostForm["id"]
	if len(ids) == 0 {
		return done{Say: "Nothing was selected."}, nil
	}
	if len(ids) > listed+hits {
		return done{}, memory.Errorf(memory.Invalid, "select at most %d memories at a time", listed+hits)
	}
	switch do := r.PostFormValue("do"); do {
	case "forget":
		return p.forget(r, v, ids...)
	case "pin", "unpin":
		return p.pin(r, v, do == "pin", ids...)
	case "tag":
		return p.tag(r, v, tagsOf(r.PostFormValue("tag")), ids...)
	default:
		return done{}, memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
}

// tagFacts adds tags to facts.
func (p *Page) tag(r *http.Request, v visit, add []string, ids ...string) (done, error) {
	found, err := p.engine.Store.Get(r.Context(), v.owner, ids...)
	if err != nil {
		return done{}, err
	}
	for _, m := range found {
		if m.Fact == nil {
			return done{}, memory.Errorf(memory.Invalid, "only facts have tags")
		}
		if _, err := p.engine.Curate.EditFact(r.Context(), v.owner, m.ID(), curate.Edit{Tags: new(slices.Concat(m.Fact.Tags, add))}, v.author); err != nil {
			return done{}, err
		}
	}
	return p.did(r, v, "Tagged.", ids...)
}

// factResult returns the result of each fact's latest run, and names the facts that were replaced in that run.
func (p *Page) did(r *http.Request, v visit, say string, ids ...string) (done, error) {
	d := done{Say: say}
	for _, id := range ids {
		page, err := p.engine.Changes(r.Context(), v.owner, memory.ChangeQuery{Fact: id})
		if err != nil {
			return done{}, err
		}
		for i, c := range page.Changes {
			switch last := page.Changes[0]; {
			case i == 0:
				d.Runs = append(d.Runs, c.Run)
			case c.Run == last.Run && c.Action == memory.ActionReplace && c.NewID == id:
				d.Say += " It replaces: " + clip(60, c.After.Fact.Content)
			}
		}
	}
	return d, nil
}

package web

import (
	"errors"
	"net/http"

	"github.com/loci-memory/loci/memory"
)

type profileView struct {
	Here    string // path and query of this view
	Entries []memory.ProfileEntry
	Editing string // key of the entry that is open for editing

	CoreFacts      []coreFact // facts with which a conversation begins
	Tokens, Budget int        // tokens of the core, and their maximum
	Omitted        int        // number of core facts that exceed the budget
}

type coreFact struct {
	ID, Content, Heading, Why string // Heading is the fact's heading in the block; Why says why the core contains it
}

func (p *Page) profileView(r *http.Request, v visit) (any, error) {
	entries, err := p.engine.ProfileEntries(r.Context(), v.owner, memory.At{})
	if err != nil {
		return nil, err
	}
	core, omitted, budget, err := p.engine.Retrieve.OpeningFacts(r.Context(), memory.Scope{Owner: v.owner})
	view := profileView{Here: viewURL(r), Entries: entries, Editing: r.FormValue("edit"), Tokens: core.Tokens(), Budget: budget, Omitted: len(omitted.Facts)}
	why := map[string]string{"pinned": "pinned", "answers": "always told"}
	for _, m := range core.Facts {
		view.CoreFacts = append(view.CoreFacts, coreFact{m.ID(), m.Content(), m.Heading.String(), why[m.Reason()]})
	}
	return view, err
}

// changeEntry sets or retires an entry of the profile.
func (p *Page) changeEntry(r *http.Request, v visit) (formResult, error) {
	key := r.PostFormValue("key")
	var receipt memory.Receipt
	var err error
	say := "Saved."
	switch do := r.PostFormValue("do"); do {
	case "set":
		// ProfileEntry refuses the keys of Loci's own entries. Query.SetEntry would too, but returns no run to undo.
		if _, err = p.engine.ProfileEntry(r.Context(), v.owner, key, memory.At{}); err == nil || errors.Is(err, memory.NotFound) {
			receipt, err = p.engine.SetProfileEntry(r.Context(), v.owner, key, r.PostFormValue("value"), v.author)
		}
	case "drop":
		say = "Forgotten: " + clip(60, key)
		receipt, err = p.engine.Query.RetireEntry(r.Context(), v.owner, key, v.author)
	default:
		err = memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
	return receiptResult(say, receipt), err
}

// receiptResult returns the result of a change. A receipt without a run id means that nothing changed.
func receiptResult(message string, receipt memory.Receipt) formResult {
	if receipt.Run == "" {
		return formResult{Message: "Nothing changed."}
	}
	return formResult{Message: message, Runs: []string{receipt.Run}}
}

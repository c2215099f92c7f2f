package web

import (
	"errors"
	"net/http"

	"github.com/loci-memory/loci/memory"
)

// profileView is a user's profile: values by key.
type profileView struct {
	Here    string
	Entries []memory.ProfileEntry
	Editing string // key of the entry that is open for editing

	Told           []told // facts with which a conversation begins
	Tokens, Budget int
	Left           int // number of core facts that do not fit
}

// coreFact is a fact with which a conversation begins.
type told struct {
	ID, Content, Heading, Why string
}

func (p *Page) profile(r *http.Request, v visit) (any, error) {
	entries, err := p.engine.Entries(r.Context(), v.owner, memory.At{})
	if err != nil {
		return nil, err
	}
	core, left, budget, err := p.engine.Retrieve.OpeningFacts(r.Context(), memory.Scope{Owner: v.owner})
	view := profileView{Here: here(r), Entries: entries, Editing: r.FormValue("edit"), Tokens: core.Tokens(), Budget: budget, Left: len(left.Facts)}
	why := map[string]string{"pinned": "pinned", "answers": "always told"}
	for _, m := range core.Facts {
		view.Told = append(view.Told, told{m.ID(), m.Content(), m.Heading.String(), why[m.Reason()]})
	}
	return view, err
}

// changeEntry sets or deletes an entry of the profile.
func (p *Page) setEntry(r *http.Request, v visit) (done, error) {
	key := r.PostFormValue("key")
	var receipt memory.Receipt
	var err error
	say := "Saved."
	switch do := r.PostFormValue("do"); do {
	case "set":
		// Entry refuses the keys of Loci's own entries, like PutEntry. PutEntry returns no run to undo.
		if _, err = p.engine.Entry(r.Context(), v.owner, key, memory.At{}); err == nil || errors.Is(err, memory.NotFound) {
			receipt, err = p.engine.SetProfile(r.Context(), v.owner, key, r.PostFormValue("value"), v.author)
		}
	case "drop":
		say = "Forgotten: " + clip(60, key)
		receipt, err = p.engine.Query.DropEntry(r.Context(), v.owner, key, v.author)
	default:
		err = memory.Errorf(memory.Invalid, "unknown action %q", clip(20, do))
	}
	return did(say, receipt), err
}

// receiptResult returns the result of a change. A receipt without a run id means that nothing changed.
func did(say string, receipt memory.Receipt) done {
	if receipt.Run == "" {
		return done{Say: "Nothing changed."}
	}
	return done{Say: say, Runs: []string{receipt.Run}}
}

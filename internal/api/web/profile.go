package web

import (
	"errors"
	"net/http"

	"github.com/loci-memory/loci/memory"
)

// profileView is what is known of a user as keys and values.
type profileView struct {
	Here    string
	Entries []memory.ProfileEntry
	Editing string // the key of the entry that is open

	Told           []told // the facts that a conversation begins with
	Tokens, Budget int
	Left           int // facts for which there is no room
}

// told is a fact that a conversation begins with.
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

// setEntry writes an entry of the profile, or drops it.
func (p *Page) setEntry(r *http.Request, v visit) (done, error) {
	key := r.PostFormValue("key")
	var receipt memory.Receipt
	var err error
	say := "Saved."
	switch do := r.PostFormValue("do"); do {
	case "set":
		// It refuses the keys of Loci's own entries, as PutEntry does, which names no run
		// to undo it by.
		if _, err = p.engine.Entry(r.Context(), v.owner, key, memory.At{}); err == nil || errors.Is(err, memory.NotFound) {
			receipt, err = p.engine.SetProfile(r.Context(), v.owner, key, r.PostFormValue("value"), v.author)
		}
	case "drop":
		say = "Forgotten: " + clip(60, key)
		receipt, err = p.engine.Query.DropEntry(r.Context(), v.owner, key, v.author)
	default:
		err = memory.Errorf(memory.Invalid, "there is no %q to do here", clip(20, do))
	}
	return did(say, receipt), err
}

// did says what a run did; a receipt without one is of what was so already.
func did(say string, receipt memory.Receipt) done {
	if receipt.Run == "" {
		return done{Say: "It is so already."}
	}
	return done{Say: say, Runs: []string{receipt.Run}}
}

package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// factView is one fact with its history.
type factView struct {
	row
	Here      string // path and query of this view
	Quote     *client.Quote
	Before    []client.Memory // facts that the fact replaced
	After     []client.Memory // chain of facts that replaced the fact, the next first
	Changes   []historyStep
	Next      string // cursor of the page with older changes
	Metadata  string
	Relations *relationsView // nil for another owner's fact
	Shared    []string       // recipients of the fact: "user/ben", "pool/team" or "global"
	Admin     bool           // the user may share with pools and everybody
}

func (v factView) title() string { return clip(60, v.Content) }

// historyStep is a change as a history shows it.
type historyStep struct {
	client.Change
	About   string // description of the changed item
	At      string // path of the item's page; "" if the item has no page
	Was, Is string // text before and after, if it changed
}

func (p *Page) factHistory(r *http.Request, v visit) (any, error) {
	m, err := p.engine.Get(r.Context(), v.owner, v.id)
	if err != nil {
		return nil, err
	}
	if m.Fact == nil {
		return redirectTarget(memoryPath(client.View(m))), nil
	}
	page, err := p.engine.History(r.Context(), v.owner, v.id, r.FormValue("cursor"))
	if err != nil {
		return nil, err
	}
	view := factView{Here: viewURL(r), Next: page.Next, Metadata: string(m.Fact.Metadata)}
	view.row = row{Memory: client.View(m), Back: view.Here, EditAt: "/memories/" + r.PathValue("id") + "?edit=1", Editing: r.FormValue("edit") != ""}
	for _, c := range page.Changes {
		view.Changes = append(view.Changes, historyStepOf(c))
	}
	if view.Before, view.After, err = p.replacements(r, v, *m.Fact, page.Changes); err != nil {
		return nil, err
	}
	if m.Link == nil { // only a fact's owner sees its source, recipients and relations
		turn, err := p.engine.Curate.SourceTurn(r.Context(), *m.Fact)
		if err != nil {
			return nil, err
		}
		if turn != nil {
			view.Quote = client.ViewQuote(client.View(memory.Memory{Turn: turn}), m.Fact.Provenance.Quote)
		}
		with, err := p.engine.Share.Receivers(r.Context(), v.owner, v.id)
		if err != nil {
			return nil, err
		}
		for _, o := range with {
			view.Shared = append(view.Shared, o.DisplayName())
		}
		view.Admin = httpx.IdentityOf(r.Context()).Role == httpx.RoleAdmin
		if view.Relations, err = p.factRelations(r, v, *m.Fact); err != nil {
			return nil, err
		}
	}
	return view, nil
}

// maxReplacements is the maximum length of a chain of replacing facts.
const maxReplacements = 20

// replacements returns the facts that a fact replaced, and the chain of facts that replaced this fact.
func (p *Page) replacements(r *http.Request, v visit, f memory.Fact, changes []memory.Change) (replaced, replacedBy []client.Memory, err error) {
	var replacedIDs []string
	for _, c := range changes {
		if c.NewID == f.ID && c.OldID != "" && !slices.Contains(replacedIDs, c.OldID) {
			replacedIDs = append(replacedIDs, c.OldID)
		}
	}
	found, err := p.engine.Store.Get(r.Context(), v.owner, replacedIDs...)
	if err != nil {
		return nil, nil, err
	}
	replaced = memoryViews(found)
	for next := f.SupersededBy; next != "" && len(replacedBy) < maxReplacements; {
		found, err := p.engine.Store.Get(r.Context(), v.owner, next)
		if err != nil || len(found) == 0 || found[0].Fact == nil {
			return replaced, replacedBy, err
		}
		replacedBy = append(replacedBy, client.View(found[0]))
		next = found[0].Fact.SupersededBy
	}
	return replaced, replacedBy, nil
}

func historyStepOf(c memory.Change) historyStep {
	s := historyStep{Change: client.ViewChange(c)}
	was, is := stateText(c.Before), stateText(c.After)
	s.About = is
	if f := c.After.Fact; f != nil {
		s.At = "/memories/" + f.ID
	}
	if was != "" && was != is {
		s.Was, s.Is = was, is
	}
	return s
}

// stateText describes the state of an item before or after a change.
func stateText(i memory.State) string {
	switch {
	case i.Fact != nil:
		return i.Fact.Content
	case i.Link != nil:
		return i.Link.Fact.Content
	case i.Profile != nil && share.IsShareKey(i.Profile.Key):
		return "" // the change's reason describes the sharing
	case i.Profile != nil:
		return i.Profile.Key + " = " + i.Profile.Value
	case i.Relation != nil:
		return "relation: " + string(i.Relation.Kind)
	case i.Summary != nil:
		return i.Summary.Text
	case i.Turn != nil:
		return "a turn: " + string(i.Turn.Status)
	case i.Context != nil:
		return "context: " + cmp.Or(i.Context.Title, i.Context.Content)
	case i.Conversation != nil:
		return "chat: " + cmp.Or(i.Conversation.Title, i.Conversation.ID)
	}
	return ""
}

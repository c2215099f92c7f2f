package web

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

type relationsView struct {
	Relations []factRelation
	HasMore   bool          // there are more relations than listed
	Find      string        // search text for another fact
	Matches   []memory.Fact // facts to choose from
}

// factRelation is a relation as seen from one of its two facts, the shown fact.
type factRelation struct {
	memory.Relation
	Outgoing  bool // the shown fact is the relation's first fact
	Other     memory.Fact
	Automatic bool // Loci found the relation, so the user cannot end it
}

// relationPhrases stand between a relation's two facts on the page: "A refines B".
var relationPhrases = map[memory.RelationKind]string{
	memory.SameSubject: "same subject as", memory.Refines: "refines", memory.Contradicts: "contradicts", memory.Follows: "follows",
}

// Phrase returns the phrase of the relation's kind.
func (t factRelation) Phrase() string { return cmp.Or(relationPhrases[t.Kind], string(t.Kind)) }

// Kinds are the kinds of relations to choose from, each with its phrase.
func (relationsView) Kinds() [][2]string {
	var out [][2]string
	for _, k := range curate.RelationKinds {
		out = append(out, [2]string{string(k), relationPhrases[k]})
	}
	return out
}

const (
	maxRelatedFacts = 24 // maximum number of related facts on a page
	maxSuggestions  = 8  // maximum number of suggested facts
)

// factRelations reads a fact's relations and, if the request has a search text, other facts that match it.
func (p *Page) factRelations(r *http.Request, v visit, f memory.Fact) (*relationsView, error) {
	view := &relationsView{Find: strings.TrimSpace(r.FormValue("find"))}
	related, err := p.engine.Curate.RelatedFacts(r.Context(), v.owner, f.ID, memory.At{}, 1, maxRelatedFacts+1)
	if err != nil {
		return nil, err
	}
	view.HasMore = related.HasMore
	factsByID := map[string]memory.Fact{}
	for _, one := range related.Facts {
		factsByID[one.ID] = one
	}
	for _, t := range related.Relations {
		switch f.ID {
		case t.From:
			view.Relations = append(view.Relations, factRelation{Relation: t, Outgoing: true, Other: factsByID[t.To]})
		case t.To:
			view.Relations = append(view.Relations, factRelation{Relation: t, Other: factsByID[t.From]})
		}
	}
	ties, err := p.engine.Curate.DerivedRelations(r.Context(), v.owner, f.ID, memory.At{})
	if err != nil {
		return nil, err
	}
	for _, t := range ties {
		view.Relations = append(view.Relations, factRelation{Relation: t.Relation, Outgoing: t.From == f.ID, Other: t.OtherFact, Automatic: true})
	}
	if view.Find == "" {
		return view, nil
	}
	found, err := p.engine.Retrieve.Recall(r.Context(), retrieve.Question{
		Scope: memory.Scope{Owner: v.owner}, Text: view.Find, TopK: new(maxSuggestions + 1), Kinds: []memory.Kind{memory.KindFact}, API: "page",
	})
	if err != nil {
		return nil, err
	}
	for _, h := range found.Hits {
		if one := h.Memory.Fact; one != nil && h.Memory.Link == nil && one.ID != f.ID && len(view.Matches) < maxSuggestions {
			view.Matches = append(view.Matches, *one)
		}
	}
	return view, nil
}

// changeRelation adds or ends a relation between two facts.
func (p *Page) changeRelation(r *http.Request, v visit) (formResult, error) {
	from, to, kind := v.id, r.PostFormValue("other"), memory.RelationKind(r.PostFormValue("kind"))
	if to == "" {
		return formResult{}, memory.Errorf(memory.Invalid, "choose the other fact")
	}
	if r.PostFormValue("way") == "in" {
		from, to = to, from
	}
	if r.PostFormValue("do") == "unrelate" {
		receipt, err := p.engine.Curate.Unrelate(r.Context(), v.owner, from, to, kind, v.author)
		return receiptResult("The facts are no longer related.", receipt), err
	}
	receipt, err := p.engine.Curate.Relate(r.Context(), v.owner, from, to, kind, v.author)
	return receiptResult("Related.", receipt), err
}

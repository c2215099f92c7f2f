package vault

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// relationKinds lists the kinds of relations that files contain.
var relationKinds = []memory.RelationKind{memory.SameSubject, memory.Refines, memory.Contradicts, memory.Follows}

// relationProperty returns the property with a fact's relations of one kind. Only a rebuild reads the
// relations, and gives them the fact's time of creation.
func (t *fileContent) relationProperty(kind memory.RelationKind) property {
	key := string(kind)
	format := func(link linkFunc) string {
		var links []string
		for _, r := range t.relations() {
			if r.Kind == kind {
				links = append(links, link(r.To))
			}
		}
		return yamlList(links)
	}
	return property{key, format, func(r *frontReader) {
		links := r.list(key)
		if r.factIDs == nil {
			return
		}
		f, all := t.Fact, slices.Clone(t.relations())
		for _, link := range links {
			to := cmp.Or(r.factIDs[path.Base(nameInLink(link))], idInLink(link))
			all = append(all, memory.Relation{Owner: f.Scope.Owner, From: f.ID, To: to, Kind: kind, Status: memory.Active, CreatedAt: f.CreatedAt})
		}
		t.Relations = sortedRelations(all)
	}}
}

func (t fileContent) relations() []memory.Relation {
	if t.Relations == nil {
		return nil
	}
	return *t.Relations
}

// sortedRelations sorts relations and drops duplicates; nil for none.
func sortedRelations(relations []memory.Relation) *[]memory.Relation {
	slices.SortFunc(relations, func(a, b memory.Relation) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.To, b.To)) })
	relations = slices.CompactFunc(relations, func(a, b memory.Relation) bool { return a.Kind == b.Kind && a.To == b.To })
	if len(relations) == 0 {
		return nil
	}
	return &relations
}

// relationsOf reads a fact's relations of the kinds that files contain.
func (l *loader) relationsOf(ctx context.Context, fact string) (*[]memory.Relation, error) {
	all, err := l.f.s.Relations(ctx, l.owner, fact, memory.At{})
	if err != nil {
		return nil, err
	}
	return sortedRelations(slices.DeleteFunc(all, func(r memory.Relation) bool { return r.From != fact || !slices.Contains(relationKinds, r.Kind) })), nil
}

package markdown

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// relationKinds are the keys of front matter that say to which facts one is tied: each is
// a list of links. A relation stands in the file of the fact that it begins at.
var relationKinds = []memory.RelationKind{memory.SameSubject, memory.Refines, memory.Contradicts, memory.Follows}

func (t thing) relationFields(link names) []field {
	var fields []field
	for _, kind := range relationKinds {
		var ids []string
		for _, r := range t.ties() {
			if r.Kind == kind {
				ids = append(ids, r.To)
			}
		}
		fields = append(fields, field{string(kind), links(ids, link)})
	}
	return fields
}

// ties are a fact's relations to others.
func (t thing) ties() []memory.Relation {
	if t.relations == nil {
		return nil
	}
	return *t.relations
}

// tied returns relations as a thing has them: in order, each once, nil for none.
func tied(relations []memory.Relation) *[]memory.Relation {
	slices.SortFunc(relations, func(a, b memory.Relation) int {
		return strings.Compare(string(a.Kind)+"\x00"+a.To, string(b.Kind)+"\x00"+b.To)
	})
	relations = slices.CompactFunc(relations, func(a, b memory.Relation) bool { return a.Kind == b.Kind && a.To == b.To })
	if len(relations) == 0 {
		return nil
	}
	return &relations
}

// relate reads which others a fact is tied to, as far as files can say it.
func (l *loader) relate(ctx context.Context, fact string) (*[]memory.Relation, error) {
	all, err := l.f.s.Relations(ctx, l.owner, fact, memory.At{})
	if err != nil {
		return nil, err
	}
	return tied(slices.DeleteFunc(all, func(r memory.Relation) bool { return r.From != fact || !slices.Contains(relationKinds, r.Kind) })), nil
}

// relations reads the links of a fact's file. That one was made when the fact was is the
// most that a file says of it.
func (r *reader) relations(f memory.Fact) *[]memory.Relation {
	var out []memory.Relation
	for _, kind := range relationKinds {
		for _, link := range r.list(string(kind)) {
			out = append(out, memory.Relation{
				Owner: f.Scope.Owner, From: f.ID, To: idOfLink(link), Kind: kind, Status: memory.Active, CreatedAt: f.CreatedAt,
			})
		}
	}
	return tied(out)
}

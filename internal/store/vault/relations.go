package vault

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// relationKinds are those that files show.
var relationKinds = []memory.RelationKind{memory.SameSubject, memory.Refines, memory.Contradicts, memory.Follows}

// relation is the property that has a fact's relations of a kind. A file does not say when one was made.
func (t *thing) relation(kind memory.RelationKind) property {
	key := string(kind)
	show := func(link names) string {
		links := t.linked(key)
		for i, id := range links {
			links[i] = link(id)
		}
		return listed(links)
	}
	return property{key, show, func(r *reader) {
		f, all := t.Fact, slices.Clone(t.relations())
		for _, to := range r.leads(key, f.ID) {
			all = append(all, memory.Relation{Owner: f.Scope.Owner, From: f.ID, To: to, Kind: kind, Status: memory.Active, CreatedAt: f.CreatedAt})
		}
		t.Relations = inOrder(all)
	}}
}

// linked are the ids of facts, or the names of owners, that a fact has under a key.
func (t thing) linked(key string) (out []string) {
	for _, r := range t.relations() {
		if string(r.Kind) == key {
			out = append(out, r.To)
		}
	}
	for _, o := range t.sharers() {
		if key == sharedKey {
			out = append(out, o.Called())
		}
	}
	return out
}

func (t thing) relations() []memory.Relation {
	if t.Relations == nil {
		return nil
	}
	return *t.Relations
}

// inOrder returns relations as a thing has them: in order, each once, nil for none.
func inOrder(relations []memory.Relation) *[]memory.Relation {
	slices.SortFunc(relations, func(a, b memory.Relation) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.To, b.To)) })
	relations = slices.CompactFunc(relations, func(a, b memory.Relation) bool { return a.Kind == b.Kind && a.To == b.To })
	if len(relations) == 0 {
		return nil
	}
	return &relations
}

// relate reads a fact's relations, as far as files show them.
func (l *loader) relate(ctx context.Context, fact string) (*[]memory.Relation, error) {
	all, err := l.f.s.Relations(ctx, l.owner, fact, memory.At{})
	if err != nil {
		return nil, err
	}
	return inOrder(slices.DeleteFunc(all, func(r memory.Relation) bool { return r.From != fact || !slices.Contains(relationKinds, r.Kind) })), nil
}

// lostLink is how a record keeps a value that leads to nothing.
func lostLink(key, text string) string { return key + " " + text }

// read reads a document of the memory known, and looks up where its links lead. old is the record
// of the file as it is, nil for none. A file that brings its id from elsewhere shares with nobody.
func (l *loader) read(ctx context.Context, p place, d document, known thing, old *record) (says thing, lost map[string]string, err error) {
	var failed error
	says, lost, err = p.read(d, known, l.leader(ctx, known, old, &failed))
	if err != nil {
		err = unfit{err}
	}
	if known.Fact == nil && d.values["id"].text != "" {
		says.Shared = nil
		maps.DeleteFunc(lost, func(one, _ string) bool { return strings.HasPrefix(one, lostLink(sharedKey, "")) })
	}
	return says, lost, cmp.Or(failed, err)
}

// leader looks up what links of the memory known lead to.
func (l *loader) leader(ctx context.Context, known thing, old *record, failed *error) leader {
	return func(key, text, from string) (to, why string) {
		if key == sharedKey {
			return l.mayShare(text, known, old)
		}
		to, err := l.leadsTo(ctx, text, from, known)
		*failed = cmp.Or(*failed, err)
		return to, "it leads to no fact"
	}
}

// leadsTo returns the fact that a link leads to, "" for none.
func (l *loader) leadsTo(ctx context.Context, link, from string, known thing) (string, error) {
	for _, id := range l.candidates(link) {
		if slices.ContainsFunc(known.relations(), func(r memory.Relation) bool { return r.To == id }) {
			return id, nil
		}
		if id == "" || id == from {
			continue
		}
		target := factTarget + id
		if _, read := l.things[target]; !read {
			if _, err := l.load(ctx, []key{{l.owner, target}}); err != nil {
				return "", err
			}
		}
		if t := l.things[target]; t.Fact != nil && !t.erased() {
			return id, nil
		}
	}
	return "", nil
}

// candidates are the ids that a link may mean: first that of the file with this name, then those
// in the link itself.
func (l *loader) candidates(link string) []string {
	ids := idsOfLink(link)
	name, _, ok := cutLink(link)
	if !ok {
		return ids
	}
	if id := l.byName[path.Base(name)]; id != "" {
		return append([]string{id}, ids...)
	}
	if l.paths == nil {
		l.paths = map[string][]*record{}
		for at, r := range l.f.index.paths {
			if r.Owner == l.owner && strings.HasPrefix(r.Target, factTarget) {
				base := strings.TrimSuffix(path.Base(at), ".md")
				l.paths[base] = append(l.paths[base], r)
			}
		}
	}
	same := l.paths[path.Base(name)]
	if len(same) == 0 {
		return ids
	}
	best := slices.MinFunc(same, func(a, b *record) int { return nearer(a.Path, b.Path, name) })
	return append([]string{best.id()}, ids...)
}

// nearer compares which of two files of the same name a link means, by the folders in it.
func nearer(a, b, name string) int {
	fits := func(at string) int {
		at = "/" + strings.TrimSuffix(at, ".md")
		if strings.HasSuffix(at, "/"+name) || strings.HasSuffix("/"+name, at) {
			return 0
		}
		return 1
	}
	return cmp.Or(fits(a)-fits(b), len(a)-len(b), strings.Compare(a, b))
}

// asWritten keeps values as the text has them that say what Loci says, and those that are lost.
func (l *loader) asWritten(ctx context.Context, p place, text string, t thing, old *record) (fields []field, lost map[string]string) {
	fields = t.fields(l.link)
	d, err := readDocument(text)
	if err != nil {
		return fields, nil
	}
	p.plain = true
	says, lost, err := l.read(ctx, p, d, t, old)
	if err != nil {
		return fields, nil // what is not understood is kept beside
	}
	if old.own(hashOf(text)) {
		lost = old.Lost
	}
	theirs, ours := statementOf(says), statementOf(t)
	var failed error
	lead := l.leader(ctx, t, old, &failed)
	for i, f := range fields {
		if !isLinks(f.key) {
			learned := f.key == sourceKey && learnedElsewhere(theirs[f.key], ours[f.key]) && theirs.same(ours, theWords)
			fields[i].kept = learned || strings.Contains(d.values[f.key].meaning(), "[[") && theirs.same(ours, f.key)
			continue
		}
		var texts []string
		left := t.linked(f.key)
		for _, text := range (&reader{values: d.values}).links(f.key) {
			if _, isLost := lost[lostLink(f.key, text)]; isLost {
				texts = append(texts, text)
				continue
			}
			to, _ := lead(f.key, text, "")
			if at := slices.Index(left, to); at >= 0 {
				texts, left = append(texts, text), slices.Delete(left, at, at+1)
			}
		}
		for _, id := range left {
			if f.key != sharedKey {
				id = l.link(id)
			}
			texts = append(texts, id)
		}
		fields[i].value = listed(texts)
	}
	return fields, lost
}

// isLinks reports whether a key has relations, or whom a fact is shared with.
func isLinks(key string) bool {
	return key == sharedKey || slices.Contains(relationKinds, memory.RelationKind(key))
}

// among looks up the links of a fact's file during a rebuild, by the names of the files that are
// there: facts are their ids by name. A scan reports the others.
func among(owner memory.Owner, facts map[string]string) leader {
	there := map[string]bool{}
	for _, id := range facts {
		there[id] = true
	}
	return func(key, text, _ string) (to, why string) {
		if key == sharedKey {
			return ownerCalled(owner, text).Called(), ""
		}
		name, _, isLink := cutLink(text)
		if !isLink {
			return text, "" // a plain id
		}
		for _, id := range append([]string{facts[path.Base(name)]}, idsOfLink(text)...) {
			if id != "" && there[id] {
				return id, ""
			}
		}
		id, _ := idOfName(path.Base(name)) // Loci wrote it
		return id, ""
	}
}

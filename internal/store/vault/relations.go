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

// tiedKeys are the keys of front matter that are no part of a fact's own image: to which facts
// it is tied, and whom it is shared with.
var tiedKeys = []string{string(memory.SameSubject), string(memory.Refines), string(memory.Contradicts), string(memory.Follows), sharedKey}

// tied are the ids, or the names of owners, that a fact has under one of those keys.
func (t thing) tied(key string) (out []string) {
	for _, r := range t.ties() {
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

func (t thing) tiedFields(link names) []field {
	var fields []field
	for _, key := range tiedKeys {
		texts := t.tied(key)
		if key != sharedKey {
			for i, id := range texts {
				texts[i] = link(id)
			}
		}
		fields = append(fields, field{key, listed(texts)})
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

// relate reads a fact's relations, as far as files show them.
func (l *loader) relate(ctx context.Context, fact string) (*[]memory.Relation, error) {
	all, err := l.f.s.Relations(ctx, l.owner, fact, memory.At{})
	if err != nil {
		return nil, err
	}
	return tied(slices.DeleteFunc(all, func(r memory.Relation) bool { return r.From != fact || !slices.Contains(tiedKeys, string(r.Kind)) })), nil
}

func relationOf(f memory.Fact, kind, to string) memory.Relation {
	return memory.Relation{Owner: f.Scope.Owner, From: f.ID, To: to, Kind: memory.RelationKind(kind), Status: memory.Active, CreatedAt: f.CreatedAt}
}

// tie sets relations and sharing. A file does not say when a relation was made.
func (t *thing) tie(ties map[string][]string) {
	var relations []memory.Relation
	var owners []memory.Owner
	for key, all := range ties {
		for _, to := range all {
			if key == sharedKey {
				owners = append(owners, ownerCalled(t.fact.Scope.Owner, to))
			} else {
				relations = append(relations, relationOf(*t.fact, key, to))
			}
		}
	}
	t.relations, t.shared = tied(relations), shared(owners)
}

// ties reads the tied keys without looking up where links lead; see [loader.resolve].
func (r *reader) ties(owner memory.Owner) map[string][]string {
	out := map[string][]string{}
	for _, key := range tiedKeys {
		for _, text := range r.links(key) {
			if key != sharedKey {
				out[key] = append(out[key], idOfLink(text))
			} else if ownerCalled(owner, text) != "" {
				out[key] = append(out[key], text)
			}
		}
	}
	return out
}

// links are the values under a key. A single link may contain a comma.
func (r *reader) links(key string) []string {
	if v := r.values[key]; !v.many && strings.HasPrefix(v.text, "[[") && strings.Count(v.text, "[[") == 1 {
		return []string{v.text}
	}
	return r.list(key)
}

// lostLink is how a record keeps a value that leads to nothing.
func lostLink(key, text string) string { return key + " " + text }

// resolve looks up the values under the tied keys of a fact's file; those that lead nowhere are
// lost. With keep, a missing key changes nothing. old is the record of the file, nil for none. A
// file that brings its id from elsewhere shares with nobody.
func (l *loader) resolve(ctx context.Context, text string, says *thing, known thing, old *record, keep bool) (lost []string, kept bool, err error) {
	if says.fact == nil {
		return nil, false, nil
	}
	values, _, err := readFront(split(text).front)
	if err != nil {
		return nil, false, err
	}
	r := reader{values: values}
	ties := map[string][]string{}
	for _, key := range tiedKeys {
		if _, has := values[key]; !has && keep {
			ties[key] = known.tied(key)
			kept = kept || len(ties[key]) > 0
		}
		if key == sharedKey && known.fact == nil && values["id"].text != "" {
			delete(ties, key)
			continue
		}
		for _, text := range r.links(key) {
			to := ""
			if key == sharedKey {
				to = l.mayShare(text, known, old)
			} else if to, err = l.leadsTo(ctx, text, says.fact.ID, known); err != nil {
				return nil, false, err
			}
			if to == "" {
				lost = append(lost, lostLink(key, text))
			} else {
				ties[key] = append(ties[key], to)
			}
		}
	}
	says.tie(ties)
	return lost, kept, nil
}

// leadsTo returns the fact that a link leads to, "" for none.
func (l *loader) leadsTo(ctx context.Context, link, from string, known thing) (string, error) {
	for _, id := range l.candidates(link) {
		if slices.ContainsFunc(known.ties(), func(r memory.Relation) bool { return r.To == id }) {
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
		if t := l.things[target]; t.fact != nil && !t.erased() {
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
	var best *record
	for _, r := range l.paths[path.Base(name)] {
		if best == nil || nearer(r.Path, best.Path, name) {
			best = r
		}
	}
	if best == nil {
		return ids
	}
	return append([]string{strings.TrimPrefix(best.Target, factTarget)}, ids...)
}

// nearer reports whether a link means file a rather than b of the same name, by the folders in it.
func nearer(a, b, name string) bool {
	fits := func(at string) int {
		at = "/" + strings.TrimSuffix(at, ".md")
		if strings.HasSuffix(at, "/"+name) || strings.HasSuffix("/"+name, at) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(fits(a), fits(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
}

// asWritten keeps the tied values as a person wrote them, if Loci knows them or if they are lost.
func (l *loader) asWritten(fields []field, text string, t thing, lost []string) (out []field, still []string) {
	values, _, err := readFront(split(text).front)
	if t.fact == nil || err != nil {
		return fields, nil
	}
	r := reader{values: values}
	sameText := sameWords(split(text).words(), t.words())
	out = slices.Clone(fields)
	for i, f := range out {
		if value, ok := standsAs(&r, f, t.fact); ok && sameText {
			out[i].value = value
		}
		if !slices.Contains(tiedKeys, f.key) {
			continue
		}
		var texts []string
		left := t.tied(f.key)
		for _, text := range r.links(f.key) {
			if one := lostLink(f.key, text); slices.Contains(lost, one) {
				texts, still = append(texts, text), append(still, one)
				continue
			}
			ids := []string{ownerCalled(l.owner, text).Called()}
			if f.key != sharedKey {
				ids = l.candidates(text)
			}
			at := slices.IndexFunc(left, func(id string) bool { return slices.Contains(ids, id) })
			if at >= 0 {
				texts, left = append(texts, text), slices.Delete(left, at, at+1)
			}
		}
		for _, id := range left {
			if f.key != sharedKey {
				id = l.link(id)
			}
			texts = append(texts, id)
		}
		out[i].value = listed(texts)
	}
	return out, still
}

// standsAs keeps a value as it is in the file where another machine's Loci knew more.
func standsAs(r *reader, known field, f *memory.Fact) (value string, ok bool) {
	switch known.key {
	case sourceKey:
		says := field{sourceKey, r.text(sourceKey)}
		return says.value, learnedElsewhere(says, known)
	case "superseded_by":
		return quoted(r.text(known.key)), known.value != "" && idOfLink(r.text(known.key)) == f.SupersededBy
	case "from_turns":
		texts := r.list(known.key)
		same := func(link, id string) bool { return idOfLink(link) == id }
		return listed(texts), len(texts) > 0 && slices.EqualFunc(texts, f.Provenance.Turns, same)
	case "quote":
		q := r.quote()
		return quoted(r.text(known.key)), q != nil && f.Provenance.Quote != nil && *q == *f.Provenance.Quote
	}
	return "", false
}

// lost are the tied values in a text that lead nowhere.
func (l *loader) lost(ctx context.Context, old *record, text string, t thing) []string {
	if t.fact == nil || text == "" {
		return nil
	}
	if old != nil && old.own(hashOf(text)) {
		return old.Lost
	}
	says := thing{fact: t.fact}
	lost, _, err := l.resolve(ctx, text, &says, t, old, false)
	if err != nil {
		return nil // what is not understood is kept beside
	}
	return lost
}

// among resolves the links of a fact's file during a rebuild, by the names of the files that are
// there. A scan reports the others.
func (t *thing) among(text string, facts map[string]string) {
	values, _, err := readFront(split(text).front)
	if t.relations == nil || err != nil {
		return
	}
	ids := slices.Collect(maps.Values(facts))
	r := reader{values: values}
	ties := map[string][]string{sharedKey: t.tied(sharedKey)}
	for _, key := range tiedKeys {
		if key == sharedKey {
			continue
		}
		for _, link := range r.links(key) {
			name, _, isLink := cutLink(link)
			all := append([]string{facts[path.Base(name)]}, idsOfLink(link)...)
			i := slices.IndexFunc(all, func(id string) bool { return slices.Contains(ids, id) })
			id, own := idOfName(path.Base(name))
			switch {
			case !isLink:
				ties[key] = append(ties[key], link) // a plain id
			case i >= 0:
				ties[key] = append(ties[key], all[i])
			case own: // Loci wrote it
				ties[key] = append(ties[key], id)
			}
		}
	}
	t.tie(ties)
}

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

// relations reads the links of a fact's file by what they say alone: [loader.resolve] knows
// better. That one was made when the fact was is the most that a file says of it.
func (r *reader) relations(f memory.Fact) *[]memory.Relation {
	var out []memory.Relation
	for _, kind := range relationKinds {
		for _, link := range r.links(kind) {
			out = append(out, relationOf(f, kind, idOfLink(link)))
		}
	}
	return tied(out)
}

func relationOf(f memory.Fact, kind memory.RelationKind, to string) memory.Relation {
	return memory.Relation{Owner: f.Scope.Owner, From: f.ID, To: to, Kind: kind, Status: memory.Active, CreatedAt: f.CreatedAt}
}

// links are those of a kind, as they are written. One alone may have a comma in its name.
func (r *reader) links(kind memory.RelationKind) []string {
	if v := r.values[string(kind)]; !v.many && strings.HasPrefix(v.text, "[[") && strings.Count(v.text, "[[") == 1 {
		return []string{v.text}
	}
	return r.list(string(kind))
}

// lostLink is how a record keeps a link that leads to no fact.
func lostLink(kind memory.RelationKind, link string) string { return string(kind) + " " + link }

// resolve finds the facts that the links of a fact's file lead to: those to no fact are no
// relations of what the file says, but lost. With keep, relations that Loci knows and of
// whose kind the file has no key stay. So it is with whom the fact is shared with:
// [loader.resolveShares] says what old is.
func (l *loader) resolve(ctx context.Context, text string, says *thing, known thing, old *record, keep bool) (lost []string, kept bool, err error) {
	if says.fact == nil {
		return nil, false, nil
	}
	values, err := readFront(split(text).front)
	if err != nil {
		return nil, false, err
	}
	r := reader{values: values}
	var out []memory.Relation
	for _, kind := range relationKinds {
		if _, has := values[string(kind)]; !has && keep {
			for _, tie := range known.ties() {
				if tie.Kind == kind {
					out, kept = append(out, tie), true
				}
			}
		}
		for _, link := range r.links(kind) {
			id, err := l.leadsTo(ctx, link, says.fact.ID, known)
			switch {
			case err != nil:
				return nil, false, err
			case id == "":
				lost = append(lost, lostLink(kind, link))
			default:
				out = append(out, relationOf(*says.fact, kind, id))
			}
		}
	}
	says.relations = tied(out)
	more, keptToo := l.resolveShares(values, says, known, old, keep)
	return append(lost, more...), kept || keptToo, nil
}

// leadsTo is the fact that a link in a fact's file leads to, "" for none.
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
			if _, err := l.load(ctx, []item{{key: key{l.owner, target}}}); err != nil {
				return "", err
			}
		}
		if t := l.things[target]; t.fact != nil && !t.erased() {
			return id, nil
		}
	}
	return "", nil
}

// candidates are the ids that a link may be to: that of the fact whose file is called so,
// whoever gave it the name, then what the link says alone.
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

// nearer reports whether a link means the file a rather than b, which have one name: the
// folders of the link may begin above the vault or within it.
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

// asWritten returns the fields with the links that a person wrote into the file as they
// stand there: those that say what Loci knows, and those that are lost.
func (l *loader) asWritten(fields []field, text string, t thing, lost []string) (out []field, still []string) {
	values, err := readFront(split(text).front)
	if t.fact == nil || err != nil {
		return fields, nil
	}
	r := reader{values: values}
	out = slices.Clone(fields)
	for i, f := range out {
		if stands, ok := standsAs(&r, f, t.fact); ok && sameWords(split(text).words(), t.words()) {
			out[i].value = stands
			continue
		}
		if f.key == sharedKey {
			var more []string
			out[i].value, more = l.sharesAsWritten(&r, t, lost)
			still = append(still, more...)
			continue
		}
		kind := memory.RelationKind(f.key)
		if !slices.Contains(relationKinds, kind) {
			continue
		}
		var left, texts []string
		for _, tie := range t.ties() {
			if tie.Kind == kind {
				left = append(left, tie.To)
			}
		}
		for _, link := range r.links(kind) {
			if slices.Contains(lost, lostLink(kind, link)) {
				texts, still = append(texts, link), append(still, lostLink(kind, link))
				continue
			}
			for _, id := range l.candidates(link) {
				if at := slices.Index(left, id); at >= 0 {
					left = slices.Delete(left, at, at+1)
					texts = append(texts, link)
					break
				}
			}
		}
		for _, id := range left {
			texts = append(texts, l.link(id))
		}
		out[i].value = listed(texts)
	}
	return out, still
}

// standsAs is a value as it stands in a file, where another machine's Loci may have said more than
// this one can: where a fact was learned, and the names of files of what is not known here.
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

// lost are the links in a text, over which a file is written, that lead nowhere, and those
// whom the fact is not shared with.
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

// among returns the relations of a fact's file where there is nothing but files, whose facts
// are given by what their files are called: links to none of them are left for a scan to tell of.
func among(ties []memory.Relation, text string, facts map[string]string) *[]memory.Relation {
	if len(ties) == 0 {
		return nil
	}
	values, err := readFront(split(text).front)
	if err != nil {
		return nil
	}
	ids := slices.Collect(maps.Values(facts))
	r := reader{values: values}
	var out []memory.Relation
	for _, kind := range relationKinds {
		for _, link := range r.links(kind) {
			to := ties[0]
			to.Kind, to.To = kind, link // a plain id
			if name, _, ok := cutLink(link); ok {
				all := append([]string{facts[path.Base(name)]}, idsOfLink(link)...)
				i := slices.IndexFunc(all, func(id string) bool { return slices.Contains(ids, id) })
				id, own := idOfName(path.Base(name))
				switch {
				case i >= 0:
					to.To = all[i]
				case own: // Loci wrote it
					to.To = id
				default:
					continue
				}
			}
			out = append(out, to)
		}
	}
	return tied(out)
}

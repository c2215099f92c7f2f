package cli

import (
	"reflect"
	"strings"

	"github.com/loci-memory/loci/client"
)

// imported writes what came of an import.
func (s printer) imported(b *importer) {
	o := b.out
	if o.DryRun {
		s.some(len(o.Sample), o.Added.Sum(), func(i int) {
			kind, _, _ := strings.Cut(o.Sample[i].Target, ":")
			s.line("%s", s.in(green, "+ "+kind+"  "+brief(o.Sample[i].Content, 160)))
		})
	}
	s.some(len(b.troubles), o.Broken+o.Conflicting, func(i int) { s.line("%s", s.in(red, harmless(b.troubles[i]))) })
	verb := "added"
	if o.DryRun {
		verb = "would add"
	}
	s.line("%s %s", verb, tallied(o.Added))
	if o.There.Sum() > 0 {
		s.line("there already: %s", tallied(o.There))
	}
	for _, c := range []struct {
		n    int
		what string
	}{
		{o.Duplicates, "left out, since others say the same"},
		{o.Conflicting, "kept as they are here, other than in the file"},
		{o.Broken, "could not be read"},
		{o.Redacted, "had secrets blanked"},
		{o.Waiting, "wait for you: loci review"},
	} {
		if c.n > 0 {
			s.line("%d %s", c.n, c.what)
		}
	}
	switch {
	case o.Jobs == 0:
	case !b.alone:
		s.line("%s will be learned from: loci jobs", many(o.Jobs, "chats"))
	case b.behind > 0:
		s.line("%s could not be learned from yet: loci jobs", many(b.behind, "chats"))
	default:
		s.line("learned from %s", many(o.Jobs, "chats"))
	}
}

// tallied says how many of each kind there are.
func tallied(t client.Tally) string {
	counts := map[string]int64{}
	for kind, n := range reflect.ValueOf(t).Fields() {
		counts[strings.ToLower(kind.Name)] = n.Int()
	}
	return tallyOf(counts)
}

// some writes the first of the things at hand, and how many more there are of all.
func (s printer) some(have, all int, write func(i int)) {
	have = min(have, mostShown)
	for i := range have {
		write(i)
	}
	if have > 0 && all > have {
		s.line("  … and %d more", all-have)
	}
}

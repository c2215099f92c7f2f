package cli

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci/client"
)

// imported writes what came of an import.
func (s printer) imported(b *importer) {
	o := b.out
	if o.DryRun {
		for _, m := range o.Sample {
			s.line("%s", s.in(green, "+ "+kindOf(m.Target)+"  "+brief(m.Content, 160)))
		}
		if n := o.Added.Sum() - len(o.Sample); n > 0 && len(o.Sample) > 0 {
			s.line("  … and %d more", n)
		}
	}
	for _, t := range b.troubles {
		s.line("%s", s.in(red, harmless(t)))
	}
	if n := o.Broken + o.Conflicting - len(b.troubles); n > 0 {
		s.line("  … and %d more", n)
	}
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
		s.line("%s will be learned from: loci jobs", many(o.Jobs, "chat"))
	case b.behind > 0:
		s.line("%s could not be learned from yet: loci jobs", many(b.behind, "chat"))
	default:
		s.line("learned from %s", many(o.Jobs, "chat"))
	}
}

func kindOf(target string) string {
	kind, _, _ := strings.Cut(target, ":")
	return kind
}

func tallied(t client.Tally) string {
	var out []string
	for _, c := range []struct {
		n        int
		one, all string
	}{
		{t.Facts, "fact", "facts"},
		{t.Turns, "turn", "turns"},
		{t.Conversations, "conversation", "conversations"},
		{t.Summaries, "summary", "summaries"},
		{t.Profile, "profile entry", "profile entries"},
		{t.Relations, "relation", "relations"},
		{t.Contexts, "context", "contexts"},
	} {
		switch {
		case c.n == 1:
			out = append(out, "1 "+c.one)
		case c.n > 1:
			out = append(out, fmt.Sprintf("%d %s", c.n, c.all))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

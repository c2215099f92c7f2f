package extract

import (
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/lazy"
)

// family is one form in which people state one kind of thing. A clause whose verb
// is one of verbs, in one of tenses, is held against form, which says what follows
// the verb:
//
//	in|at          one of these words
//	in?            these words or none
//	~              adverbs and particles: "back", "over here"
//	>to            anything up to "to"
//	<place>        what values["place"] or pieces["place"] accepts
//	<old:tool>     the same under another name
//	$              the end of the clause
//
// say is the fact: a verb, to be put into the tense as, or that of the clause, and
// what follows it. If it begins with 's it is said of what the subject has. Without
// say the fact is what the clause says.
type family struct {
	rule       string
	category   string
	attribute  string // may have <captures>: what they say becomes a key
	confidence float64
	verbs      string
	tenses     tense
	form       string
	as         tense
	say        string
}

// step is one element of a form.
type step struct {
	words   map[string]bool
	maybe   bool
	capture string // the name that the captured words go by
	kind    string // of value
	seek    string // the word to go forward to
	loose   bool   // adverbs and particles
	end     bool
}

func compile(form string) []step {
	var steps []step
	for e := range strings.FieldsSeq(form) {
		switch {
		case e == "$":
			steps = append(steps, step{end: true})
		case e == "~":
			steps = append(steps, step{loose: true})
		case e[0] == '>':
			steps = append(steps, step{seek: e[1:]})
		case e[0] == '<':
			name := strings.Trim(e, "<>")
			kind := name
			if n, k, ok := strings.Cut(name, ":"); ok {
				name, kind = n, k
			}
			steps = append(steps, step{capture: name, kind: kind})
		default:
			s := step{maybe: strings.HasSuffix(e, "?"), words: map[string]bool{}}
			for w := range strings.SplitSeq(strings.TrimSuffix(e, "?"), "|") {
				s.words[w] = true
			}
			steps = append(steps, s)
		}
	}
	return steps
}

// particles may stand between a verb and what the form asks for.
var particles = lazy.Words("out over up down back here right together away home around off house")

// captured are the words that a form has taken, by name.
type captured struct {
	names [4]string
	said  [4]string
	n     int
	end   int // the place after the last word that was taken as it stands
}

func (g *captured) get(name string) string {
	for i := range g.n {
		if g.names[i] == name {
			return g.said[i]
		}
	}
	return ""
}

func (g *captured) set(name, said string) {
	if g.n < len(g.names) {
		g.names[g.n], g.said[g.n] = name, said
		g.n++
	}
}

// match holds the words from i on against the steps.
func (c *clause) match(steps []step, i int, g *captured) bool {
	g.n = 0
	for _, s := range steps {
		switch {
		case s.end:
			if i < len(c.words) && !c.closes(i) {
				return false
			}
		case s.loose:
			for i < len(c.words) && (adverb.Has(c.at(i)) || particles.Has(c.at(i))) {
				i++
			}
		case s.seek != "":
			j := i
			for j < len(c.words) && j < i+9 && c.at(j) != s.seek && !c.words[j].mark() {
				j++
			}
			if c.at(j) != s.seek {
				return false
			}
			i = j + 1
		case s.words != nil:
			if s.words[c.at(i)] {
				i++
			} else if !s.maybe {
				return false
			}
		default:
			if i >= len(c.words) {
				return false
			}
			if piece := pieces[s.kind]; piece != nil {
				j := piece(c, i)
				if j <= i {
					return false
				}
				said := ThirdPerson(c.text(i, j))
				if s.kind != "city" && s.kind != "oldtool" && s.kind != "titled" && s.kind != "stack" {
					said = strings.ToLower(said)
				}
				g.set(s.capture, said)
				i = j
				continue
			}
			said := values[s.kind](c, i)
			if said == "" {
				return false
			}
			g.set(s.capture, said)
			g.end = i
			return true // a value takes all that is left
		}
	}
	g.end = i
	return true
}

// closes reports whether what is said before word i ends there: what follows is a new
// thought, not a narrower one.
func (c *clause) closes(i int) bool {
	switch w := c.at(i); w {
	case "so", "but", "because":
		return i+1 < len(c.words)
	case ",", ";", "-":
		next := c.at(i + 1)
		return !narrowing.Has(next) && next != "only" && next != "just" && next != "or" && next != "and" && !IsDigit(next)
	}
	return false
}

// ready is a family with its form compiled.
type ready struct {
	*family
	steps []step
}

// byVerb are the families by the lemma of their verb.
var byVerb = sync.OnceValue(func() map[string][]ready {
	out := map[string][]ready{}
	for i := range families {
		f := &families[i]
		r := ready{f, compile(f.form)}
		for lemma := range strings.FieldsSeq(f.verbs) {
			out[lemma] = append(out[lemma], r)
		}
	}
	return out
})

// ofMine are the forms of what is said of the speaker's own: "my name is Ana".
var ofMine = sync.OnceValue(func() []ready {
	var out []ready
	for i := range mine {
		out = append(out, ready{&mine[i], compile(mine[i].form)})
	}
	return out
})

// filled returns a template with its <captures> replaced.
func filled(template string, g *captured, as func(string) string) string {
	for {
		i := strings.IndexByte(template, '<')
		if i < 0 {
			return template
		}
		j := i + strings.IndexByte(template[i:], '>')
		template = template[:i] + as(g.get(template[i+1:j])) + template[j+1:]
	}
}

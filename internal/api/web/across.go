package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// recurringItems lists facts, categories and tags that occur in at least two projects.
type recurring struct {
	Projects []amount // number of facts of each project
	Said     []shared // facts with the same text
	Answers  []shared // facts with different values of the same attribute, such as where the user lives
	Themes   []shared // categories and tags
}

// recurringItem is a recurring fact, category or tag, with its occurrences in each project.
type shared struct {
	Name, Link string
	In         []place
}

// occurrence is the occurrence of a recurring item in one project.
type place struct {
	Project string
	Says    string // text of the fact, for Answers
	Link    string
	Count   int
}

// maxRecurring is the maximum number of items listed per kind. Items of the most projects come first.
const maxShared = 12

// projectCounts counts facts by project.
type across struct {
	projects map[string]int
	said     map[string]*shared // facts by hash
	answers  map[string]*shared // facts by subject and attribute
	themes   map[string]*shared // categories and tags by the address of the page with their facts
}

func newAcross() *across {
	return &across{projects: map[string]int{}, said: map[string]*shared{}, answers: map[string]*shared{}, themes: map[string]*shared{}}
}

// add counts a fact. Facts without a project are ignored.
func (a *across) add(f memory.Fact) {
	project := f.Scope.Project
	if project == "" {
		return
	}
	a.projects[project]++
	at := "/memories/" + f.ID
	note(a.said, f.Hash, f.Content, at, place{Project: project, Link: at})
	if f.Subject != "" && f.Attribute != "" {
		note(a.answers, f.Subject+"\x00"+f.Attribute, f.Subject+", "+f.Attribute, "", place{Project: project, Says: f.Content, Link: at})
	}
	if f.Category != "" {
		link := asking{}.With("category", f.Category)
		note(a.themes, link, f.Category, link, place{Project: project, Link: asking{Project: project}.With("category", f.Category)})
	}
	for _, tag := range f.Tags {
		link := asking{}.With("tag", tag)
		note(a.themes, link, "#"+tag, link, place{Project: project, Link: asking{Project: project}.With("tag", tag)})
	}
}

func note(in map[string]*shared, key, name, link string, of place) {
	one := in[key]
	if one == nil {
		one = &shared{Name: name, Link: link}
		in[key] = one
	}
	if i := slices.IndexFunc(one.In, func(p place) bool { return p.Project == of.Project }); i >= 0 {
		one.In[i].Count++ // the first fact is listed, because facts are read newest first
		return
	}
	of.Count = 1
	one.In = append(one.In, of)
}

// recurring returns the items that occur in several projects. A fact with the same text in several projects is
// not listed again as an answer.
func (a *across) recurring() recurring {
	out := recurring{Said: several(a.said, nil), Themes: several(a.themes, nil)}
	out.Answers = several(a.answers, func(s *shared) bool {
		return slices.ContainsFunc(s.In, func(p place) bool { return p.Says != s.In[0].Says })
	})
	for _, name := range most(a.projects, maxShared) {
		out.Projects = append(out.Projects, amount{Name: name, Count: a.projects[name], Link: asking{}.With("project", name)})
	}
	out.Projects = amounts(out.Projects)
	return out
}

// inSeveralProjects returns the items of at least two projects that accept allows; nil allows all items.
func several(in map[string]*shared, wanted func(*shared) bool) (out []shared) {
	for _, key := range slices.Sorted(maps.Keys(in)) {
		s := in[key]
		if len(s.In) < 2 || wanted != nil && !wanted(s) {
			continue
		}
		slices.SortFunc(s.In, func(a, b place) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Project, b.Project))
		})
		out = append(out, *s)
	}
	slices.SortStableFunc(out, func(a, b shared) int { return cmp.Compare(len(b.In), len(a.In)) })
	return out[:min(len(out), maxShared)]
}

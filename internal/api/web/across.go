package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// recurringItems lists facts, categories and tags that occur in at least two projects.
type recurringItems struct {
	Projects  []labeledCount  // number of facts of each project
	SameFacts []recurringItem // facts with the same text
	Answers   []recurringItem // facts with different values of the same attribute, such as where the user lives
	Themes    []recurringItem // categories and tags
}

// recurringItem is a recurring fact, category or tag, with its occurrences in each project.
type recurringItem struct {
	Name, Link  string // name, and path of the list of the facts
	Occurrences []occurrence
}

// occurrence is the occurrence of a recurring item in one project.
type occurrence struct {
	Project string
	Text    string // text of the fact; only set in recurringItems.Answers
	Link    string // path of the project's fact or list of facts
	Count   int    // number of facts
}

// maxRecurring is the maximum number of items listed per kind. Items that occur in the most projects come first.
const maxRecurring = 12

// projectCounts counts facts by project.
type projectCounts struct {
	projects        map[string]int            // number of facts by project
	sameText        map[string]*recurringItem // facts by hash of their text
	attributeValues map[string]*recurringItem // values of attributes, by subject and attribute
	themes          map[string]*recurringItem // categories and tags, by the path of the list of their facts
}

func newProjectCounts() *projectCounts {
	return &projectCounts{projects: map[string]int{}, sameText: map[string]*recurringItem{}, attributeValues: map[string]*recurringItem{}, themes: map[string]*recurringItem{}}
}

// addFact counts a fact. Facts without a project are ignored.
func (a *projectCounts) addFact(f memory.Fact) {
	project := f.Scope.Project
	if project == "" {
		return
	}
	a.projects[project]++
	at := "/memories/" + f.ID
	addOccurrence(a.sameText, f.Hash, f.Content, at, occurrence{Project: project, Link: at})
	if f.Subject != "" && f.Attribute != "" {
		addOccurrence(a.attributeValues, f.Subject+"\x00"+f.Attribute, f.Subject+", "+f.Attribute, "", occurrence{Project: project, Text: f.Content, Link: at})
	}
	if f.Category != "" {
		link := listFilter{}.With("category", f.Category)
		addOccurrence(a.themes, link, f.Category, link, occurrence{Project: project, Link: listFilter{Project: project}.With("category", f.Category)})
	}
	for _, tag := range f.Tags {
		link := listFilter{}.With("tag", tag)
		addOccurrence(a.themes, link, "#"+tag, link, occurrence{Project: project, Link: listFilter{Project: project}.With("tag", tag)})
	}
}

func addOccurrence(items map[string]*recurringItem, key, name, link string, added occurrence) {
	item := items[key]
	if item == nil {
		item = &recurringItem{Name: name, Link: link}
		items[key] = item
	}
	if i := slices.IndexFunc(item.Occurrences, func(p occurrence) bool { return p.Project == added.Project }); i >= 0 {
		item.Occurrences[i].Count++ // the text and link stay those of the newest fact, which is added first
		return
	}
	added.Count = 1
	item.Occurrences = append(item.Occurrences, added)
}

// findRecurring returns the items that occur in several projects. A fact with the same text in all its projects is
// only listed in SameFacts, not in Answers.
func (a *projectCounts) findRecurring() recurringItems {
	out := recurringItems{SameFacts: itemsInSeveralProjects(a.sameText, nil), Themes: itemsInSeveralProjects(a.themes, nil)}
	out.Answers = itemsInSeveralProjects(a.attributeValues, func(s *recurringItem) bool {
		return slices.ContainsFunc(s.Occurrences, func(p occurrence) bool { return p.Text != s.Occurrences[0].Text })
	})
	for _, name := range topNames(a.projects, maxRecurring) {
		out.Projects = append(out.Projects, labeledCount{Name: name, Count: a.projects[name], Link: listFilter{}.With("project", name)})
	}
	out.Projects = withShares(out.Projects)
	return out
}

// itemsInSeveralProjects returns the items of at least two projects that accept allows; nil allows all items.
func itemsInSeveralProjects(items map[string]*recurringItem, accept func(*recurringItem) bool) (out []recurringItem) {
	for _, key := range slices.Sorted(maps.Keys(items)) {
		s := items[key]
		if len(s.Occurrences) < 2 || accept != nil && !accept(s) {
			continue
		}
		slices.SortFunc(s.Occurrences, func(a, b occurrence) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Project, b.Project))
		})
		out = append(out, *s)
	}
	slices.SortStableFunc(out, func(a, b recurringItem) int { return cmp.Compare(len(b.Occurrences), len(a.Occurrences)) })
	return out[:min(len(out), maxRecurring)]
}

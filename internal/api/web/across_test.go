package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestWhatRecursAcrossProjectsIsTold(t *testing.T) {
	fact := func(project, content, attribute string, tags ...string) memory.Fact {
		f := memtest.Fact(memtest.Ana, content)
		f.Scope.Project, f.Category, f.Attribute, f.Tags = project, "tools", attribute, tags
		if f.Subject = ""; attribute != "" {
			f.Subject = "user"
		}
		return f
	}
	a := newProjectCounts()
	for _, f := range []memory.Fact{
		fact("atlas", "User writes tests first", "", "habit"), fact("orion", "User writes tests first", "", "habit"), fact("vega", "User writes tests first", ""),
		fact("atlas", "User edits with vi", "editor"), fact("orion", "User edits with emacs", "editor"), fact("atlas", "User edits with ed", "editor"),
		fact("atlas", "User ships on Friday", "day", "friday"), fact("", "User writes tests last", "editor", "habit"),
	} {
		a.addFact(f)
	}
	told := func(all []recurringItem) string {
		var out []string
		for _, s := range all {
			one := s.Name + ":"
			for _, p := range s.Occurrences {
				one += fmt.Sprintf(" %s %d %s", p.Project, p.Count, p.Text)
			}
			out = append(out, strings.TrimSpace(one))
		}
		return strings.Join(out, "; ")
	}
	r := a.findRecurring()
	for what, c := range map[string][2]string{
		"said":    {told(r.SameFacts), "User writes tests first: atlas 1  orion 1  vega 1"},
		"answers": {told(r.Answers), "user, editor: atlas 2 User edits with vi orion 1 User edits with emacs"},
		"themes":  {told(r.Themes), "tools: atlas 4  orion 2  vega 1; #habit: atlas 1  orion 1"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %q, want %q", what, c[0], c[1])
		}
	}
	if len(r.Projects) != 3 || r.Projects[0].Name != "atlas" || r.Projects[0].Count != 4 {
		t.Errorf("projects are %+v", r.Projects)
	}
}

func TestInsightsTellOfProjectsAndTheListShowsOne(t *testing.T) {
	r := newRig(t, "")
	r.shows("/insights", "No fact belongs to a project")
	for _, project := range []string{"atlas", "orion"} {
		for _, content := range []string{"User writes tests first", "User ships " + project} {
			if _, _, err := r.engine.Curate.Remember(t.Context(), memtest.Ana, curate.FactInput{Content: content, Project: project, Category: "tools"}, memory.Author{Kind: memory.ByPerson, Name: "ana"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	body := r.shows("/insights", "the same fact in several projects", "User writes tests first", "/?project=orion", "tools")
	sound(t, "/insights", body)
	body = r.shows("/?project=orion", "User ships orion", `value="orion"`)
	if strings.Contains(body, "User ships atlas") {
		t.Error("the list of a project has facts of another")
	}
	sound(t, "/?project=orion", body)
}

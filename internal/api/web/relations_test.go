package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestFactsAreRelatedOnTheirPages(t *testing.T) {
	r := newRig(t, "")
	dog, fear := r.fact("User has a dog named Rex"), r.fact("Rex is afraid of thunder")
	at := "/memories/" + dog.ID
	r.shows(at, "tied to no other fact", "Add a relation")
	sound(t, at, r.shows(at+"?find=thunder", "Rex is afraid of thunder", `value="refines"`))
	r.shows(at+"?find=zzz", "Memory has nothing like that.")
	r.sent(at+"/relations", url.Values{"do": {"relate"}, "other": {fear.ID}, "kind": {"contradicts"}})
	body := r.shows(at, `role="group"`, `class="node here"`, "contradicts", `value="unrelate"`)
	sound(t, at, body)
	r.shows("/memories/"+fear.ID, "contradicts this", `name="way" value="in"`)
	r.sent("/memories/"+fear.ID+"/relations", url.Values{"do": {"unrelate"}, "other": {dog.ID}, "kind": {"contradicts"}, "way": {"in"}})
	runs := r.runs()
	r.shows(at, "tied to no other fact")
	r.sent("/undo", url.Values{"run": runs})
	r.shows(at, `class="node here"`)
	for _, bad := range []url.Values{{"other": {""}}, {"other": {dog.ID}, "kind": {"follows"}}, {"other": {fear.ID}, "kind": {"likes"}}} {
		if w := r.post(at+"/relations", bad); w.Code != http.StatusBadRequest {
			t.Errorf("%v: status %d", bad, w.Code)
		}
	}
}

func TestAGraphHoldsItsFactsApart(t *testing.T) {
	var related curate.Related
	add := func(id string, steps int) {
		f := memtest.Fact(memtest.Ana, "User "+strings.Repeat(id+" ", 20))
		f.ID = id
		related.Facts, related.Steps = append(related.Facts, f), append(related.Steps, steps)
	}
	tie := func(from, to string) {
		related.Relations = append(related.Relations, memory.Relation{From: from, To: to, Kind: memory.Follows})
	}
	add("here", 0)
	for i := range 4 {
		add(fmt.Sprint("to", i), 1)
		tie("here", fmt.Sprint("to", i))
	}
	add("from", 1)
	tie("from", "here")
	add("further", 2)
	tie("further", "from")
	tie("to1", "to2")
	tie("here", "from")
	g := graphOf(related)
	for i, a := range g.Nodes {
		if a.X < 0 || a.Y < 0 || a.X+nodeWidth > g.Width || a.Y+nodeHeight > g.Height {
			t.Errorf("%s stands outside, at %d, %d of %d by %d", a.ID, a.X, a.Y, g.Width, g.Height)
		}
		for _, b := range g.Nodes[i+1:] {
			if a.X == b.X && max(a.Y, b.Y)-min(a.Y, b.Y) < nodeHeight {
				t.Errorf("%s and %s stand on each other", a.ID, b.ID)
			}
		}
		for _, line := range a.Lines {
			if len([]rune(line)) > nodeLetters+1 {
				t.Errorf("the line %q is too long", line)
			}
		}
	}
	x := map[string]int{}
	for _, n := range g.Nodes {
		x[n.ID] = n.X
	}
	if x["further"] >= x["from"] || x["from"] >= x["here"] || x["here"] >= x["to0"] {
		t.Errorf("from left to right they stand at %v", x)
	}
	if len(g.Edges) != len(related.Relations) {
		t.Errorf("%d relations are drawn of %d", len(g.Edges), len(related.Relations))
	}
	if graphOf(curate.Related{Facts: related.Facts[:1], Steps: []int{0}}) != nil {
		t.Error("a fact alone is drawn")
	}
}

func TestLinesOfAGraphAreBroken(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "User likes figs": "User likes figs", "User lives in a house by the sea": "User lives in a house|by the sea",
		"User lives in a house by the sea with two dogs": "User lives in a house|by the sea with two d…",
		strings.Repeat("x", 60):                          strings.Repeat("x", nodeLetters-1) + "…",
	} {
		if got := strings.Join(wrapped(in), "|"); got != want && !(strings.HasSuffix(got, "…") && strings.HasSuffix(want, "…") && strings.HasPrefix(got, want[:20])) {
			t.Errorf("%q is broken as %q, want %q", in, got, want)
		}
	}
}

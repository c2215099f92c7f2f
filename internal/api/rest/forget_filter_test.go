package rest

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

// furnishForFilters adds facts of ana's that filters distinguish.
func furnishForFilters(t *testing.T) *rig {
	r := newRig(t).furnish()
	for _, body := range []string{
		`{"content":"Ana is allergic to peanuts","tags":["health"],"category":"body"}`,
		`{"content":"Ana takes iron in spring","tags":["health","spring"],"category":"body","project":"garden"}`,
		`{"content":"Ana runs in the park","category":"sport","tags":["spring"]}`,
	} {
		r.id("POST", "/api/memory", body)
	}
	r.idAs("ben", "POST", "/api/memory", `{"content":"Ben is allergic to cats","tags":["health"]}`)
	return r
}

// forgotten returns the answer of a request to forget, and the text of what remains.
func (r *rig) forgotten(body string, headers ...string) (out client.Forgotten, words string) {
	r.t.Helper()
	r.decode(r.do("POST", "/api/memory/forget", body, headers...), &out)
	for _, m := range out.Memories {
		words += m.Content + "; "
	}
	return out, words
}

func (r *rig) facts() string {
	r.t.Helper()
	w := r.do("GET", "/api/memory?status=active,pending&kind=all", "")
	if w.Code != 200 {
		r.t.Fatal(w.Body)
	}
	return w.Body.String()
}

func TestForgetByFilter(t *testing.T) {
	for _, c := range []struct {
		filter     string
		has, lacks []string
	}{
		{`{"tag":"health"}`, []string{"peanuts", "iron"}, []string{"park", "oolong", "cats"}},
		{`{"category":"body"}`, []string{"peanuts", "iron"}, []string{"park"}},
		{`{"tag":"spring","category":"body"}`, []string{"iron"}, []string{"peanuts", "park"}},
		{`{"project":"garden"}`, []string{"iron"}, []string{"peanuts"}},
		{`{"q":"PARK"}`, []string{"park"}, []string{"peanuts"}},
		{`{"conversation":"trip","kinds":["turn"]}`, []string{"We sail", "Enjoy"}, []string{"peanuts"}},
		{`{"q":"climbing"}`, []string{"climbing"}, []string{"peanuts"}}, // pending facts are not forgotten
		{`{"q":"cello"}`, nil, []string{"cello"}},                       // already forgotten
	} {
		r := furnishForFilters(t)
		before := r.facts()
		would, words := r.forgotten(`{"filter":` + c.filter + `,"dry_run":true}`)
		if would.Run != "" || !would.DryRun || r.facts() != before {
			t.Errorf("%s: a dry run is %+v", c.filter, would)
		}
		done, again := r.forgotten(`{"filter":` + c.filter + `}`)
		if again != words || (done.Run == "") != (len(c.has) == 0) {
			t.Errorf("%s: forgot %s by run %q; would forget %s", c.filter, again, done.Run, words)
		}
		left := r.facts()
		for _, want := range c.has {
			if !strings.Contains(words, want) || strings.Contains(left, want) {
				t.Errorf("%s lets %s through, left is %s; want %s forgotten", c.filter, words, left, want)
			}
		}
		for _, unwanted := range c.lacks {
			if strings.Contains(words, unwanted) {
				t.Errorf("%s lets %s through; want no %s", c.filter, words, unwanted)
			}
		}
		if done.Run == "" {
			continue
		}
		r.decode(r.do("POST", "/api/changes/undo", `{"run":"`+done.Run+`"}`), new(any))
		if after := r.facts(); after != before && len(after) != len(before) {
			t.Errorf("%s: after its undo there is\n%s, want\n%s", c.filter, after, before)
		}
	}
}

func TestAnEmptyFilterForgetsNothing(t *testing.T) {
	r := furnishForFilters(t)
	before := r.version()
	for body, status := range map[string]int{
		`{"filter":{}}`: 400,
		`{"filter":{"kinds":["fact","turn","summary"]}}`:  400,
		`{"filter":{"q":"  "}}`:                           400,
		`{"filter":{},"erase":true}`:                      400,
		`{"filter":{"tag":"health"},"query":"peanuts"}`:   400,
		`{"filter":{"tag":"health"},"ids":["{tea}"]}`:     400,
		`{"filter":{"tags":["health"]}}`:                  422,
		`{"filter":{"tag":"health","kinds":["thought"]}}`: 422,
		`{"filter":null}`:                                 400,
	} {
		if w := r.do("POST", "/api/memory/forget", body); w.Code != status && (w.Code < 400 || w.Code >= 500 || status != 400) {
			t.Errorf("%s: %d %s, want %d", body, w.Code, w.Body, status)
		}
	}
	if r.version() != before {
		t.Error("something was forgotten")
	}
}

func TestFilterErasesForgottenFacts(t *testing.T) {
	r := furnishForFilters(t)
	if out, _ := r.forgotten(`{"filter":{"q":"cello"},"erase":true}`); len(out.Memories) != 1 || !out.Erased {
		t.Fatalf("erased %+v, want what was forgotten", out)
	}
	if w := r.do("GET", "/api/memory/{cello}", ""); strings.Contains(w.Body.String(), "plays") {
		t.Errorf("it is still there: %s", w.Body)
	}
	if out, _ := r.forgotten(`{"filter":{"tag":"health"},"erase":true,"dry_run":true}`); len(out.Memories) < 2 || !out.DryRun {
		t.Errorf("would erase %+v", out)
	}
}

func TestRepeatedKeyForgetsByFilterOnce(t *testing.T) {
	r := furnishForFilters(t)
	first, words := r.forgotten(`{"filter":{"tag":"health"}}`, "Idempotency-Key", "k1")
	r.id("POST", "/api/memory", `{"content":"Ana sleeps eight hours","tags":["health"]}`)
	again, same := r.forgotten(`{"filter":{"tag":"health"}}`, "Idempotency-Key", "k1")
	if again.Run != first.Run || first.Run == "" || len(again.Memories) != len(first.Memories) || same == "" || words == "" || !strings.Contains(r.facts(), "sleeps") {
		t.Errorf("forgot %+v, then %+v; want the same", first, again)
	}
}

package rest

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestRelationsAreMadeReadAndEnded(t *testing.T) {
	r := newRig(t).furnish()
	mug := r.id("POST", "/api/memory", `{"content":"Ana has a blue mug for tea"}`)
	shelf := r.id("POST", "/api/memory", `{"content":"The mug stands on the kitchen shelf"}`)
	r.clock.Advance(time.Hour)
	before := r.clock.Now().UTC().Format(time.RFC3339Nano)
	r.clock.Advance(time.Hour)
	tie := func(from, to string) string { return `"from":"` + from + `","to":"` + to + `","kind":"follows"` }
	tea := r.names.Replace("{tea}")
	for _, c := range []row{
		{"none yet", "GET", "/api/memory/{tea}/related", "", 200, []string{`{"memories":[],"relations":[]}`}, nil},
		{"make", "POST", "/api/memory/{tea}/related", `{"to":"` + mug + `","kind":"follows"}`, 201, []string{tie(tea, mug), `"run":"`}, nil},
		{"make again", "POST", "/api/memory/{tea}/related", `{"to":"` + mug + `","kind":"follows"}`, 200, []string{tie(tea, mug)}, []string{"run"}},
		{"make the next", "POST", "/api/memory/" + mug + "/related", `{"to":"` + shelf + `","kind":"follows"}`, 201, nil, nil},
		{"from its end", "GET", "/api/memory/" + mug + "/related", "", 200, []string{tie(tea, mug), tie(mug, shelf), "oolong", "kitchen shelf", `"steps":1`}, []string{"blue mug", "owner"}},
		{"one step", "GET", "/api/memory/{tea}/related", "", 200, []string{"blue mug"}, []string{"shelf"}},
		{"two steps", "GET", "/api/memory/{tea}/related?steps=2", "", 200, []string{"blue mug", "kitchen shelf", `"steps":2`}, []string{`"more"`}},
		{"too many", "GET", "/api/memory/{tea}/related?steps=2&limit=1", "", 200, []string{"blue mug", `"more":true`}, []string{"kitchen shelf"}},
		{"the past", "GET", "/api/memory/{tea}/related?as_of=" + before, "", 200, []string{`{"memories":[],"relations":[]}`}, nil},
		{"of no steps", "GET", "/api/memory/{tea}/related?steps=0", "", 422, []string{"steps"}, nil},
		{"of a turn", "GET", "/api/memory/{turn}/related", "", 400, []string{"turn"}, nil},
		{"make with itself", "POST", "/api/memory/{tea}/related", `{"to":"{tea}","kind":"follows"}`, 400, []string{"itself"}, nil},
		{"make with nothing", "POST", "/api/memory/{tea}/related", `{"to":"nothing","kind":"follows"}`, 404, []string{"not_found"}, nil},
		{"make of no kind", "POST", "/api/memory/{tea}/related", `{"to":"` + mug + `","kind":"likes"}`, 422, []string{"kind"}, nil},
		{"make to nowhere", "POST", "/api/memory/{tea}/related", `{"kind":"follows"}`, 422, []string{"to"}, nil},
		{"end the other way round", "DELETE", "/api/memory/" + mug + "/related?to={tea}&kind=follows", "", 404, []string{"not_found"}, nil},
		{"end of no kind", "DELETE", "/api/memory/{tea}/related?to=" + mug, "", 422, []string{"kind"}, nil},
		{"end", "DELETE", "/api/memory/{tea}/related?to=" + mug + "&kind=follows", "", 200, []string{`"run":"`, `"changes":1`}, nil},
		{"end again", "DELETE", "/api/memory/{tea}/related?to=" + mug + "&kind=follows", "", 404, nil, nil},
		{"none any more", "GET", "/api/memory/{tea}/related", "", 200, []string{`{"memories":[],"relations":[]}`}, nil},
	} {
		r.answers(c)
	}
}

// TestRelationsStayWithinAnOwner has ben read, add and end relations of ana's, and ana relate a fact to
// ben's. Both get not_found.
func TestRelationsStayWithinAnOwner(t *testing.T) {
	r := newRig(t).furnish()
	mug := r.id("POST", "/api/memory", `{"content":"Ana has a blue mug for tea"}`)
	r.decode(r.do("POST", "/api/memory/{tea}/related", `{"to":"`+mug+`","kind":"follows"}`), new(any))
	version := func(user string) int64 {
		t.Helper()
		v, err := r.engine.Store.Versions(t.Context(), []memory.Owner{memory.User(memory.DefaultNamespace, user)})
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	anas, bens := version("ana"), version("ben")
	for _, c := range []struct{ user, method, path, body string }{
		{"ben", "GET", "/api/memory/{tea}/related", ""},
		{"ben", "POST", "/api/memory/{tea}/related", `{"to":"` + mug + `","kind":"refines"}`},
		{"ben", "POST", "/api/memory/{secret}/related", `{"to":"{tea}","kind":"refines"}`},
		{"ben", "DELETE", "/api/memory/{tea}/related?to=" + mug + "&kind=follows", ""},
		{"ana", "POST", "/api/memory/{tea}/related", `{"to":"{secret}","kind":"refines"}`},
		{"ana", "POST", "/api/memory/{secret}/related", `{"to":"{tea}","kind":"refines"}`},
	} {
		w := r.as(c.user, c.method, c.path, c.body)
		if w.Code != 404 || strings.Contains(w.Body.String(), "flowerpot") || strings.Contains(w.Body.String(), "oolong") {
			t.Errorf("%s: %s %s: %d %s; want 404", c.user, c.method, c.path, w.Code, w.Body)
		}
	}
	if version("ana") != anas || version("ben") != bens {
		t.Error("something was written")
	}
}

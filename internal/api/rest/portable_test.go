package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func TestExportAndImport(t *testing.T) {
	const profile = `{"type":"profile","key":"timezone","value":"Europe/Lisbon","status":"active","updated_at":"2026-01-01T00:00:00Z"}` + "\n"
	for _, c := range []row{
		{"export", "GET", "/api/export", "", 200, []string{`{"type":"header","format":"loci"`, "oolong", "cello", "climbing", "Madeira"}, []string{"ana\"", "default/"}},
		{"export a page", "GET", "/api/export?format=markdown", "", 200, []string{"# Memory <!-- loci {", "### food\n\n- Ana drinks oolong"}, nil},
		{"export a zip", "GET", "/api/export?format=zip", "", 200, []string{"PK", "facts.md"}, nil},
		{"export parts", "GET", "/api/export?parts=turns", "", 200, []string{"Madeira"}, []string{"oolong"}},
		{"export by status", "GET", "/api/export?status=active&parts=facts", "", 200, []string{"oolong"}, []string{"cello", "climbing"}},
		{"export the past", "GET", "/api/export?as_of={before}&parts=facts", "", 200, []string{"oolong"}, []string{"cello", "climbing"}},
		{"export as something", "GET", "/api/export?format=xml", "", 422, []string{"format"}, nil},
		{"export wishes", "GET", "/api/export?parts=wishes", "", 400, []string{"wishes", "relations"}, nil},
		{"import", "POST", "/api/import", profile, 200, []string{`"profile":1`, `"broken":0`, `"runs":["`}, nil},
		{"import for show", "POST", "/api/import?dry_run=true", profile, 200, []string{`"dry_run":true`, `"profile":1`, `"content":"Europe/Lisbon"`}, []string{"runs"}},
		{"import a list", "POST", "/api/import?format=list", "- Ana sails\n- Ana rows\n", 200, []string{`"facts":2`}, nil},
		{"import bytes", "POST", "/api/import", "\xff\n" + profile, 200, []string{`"broken":1`, `"line":1`, "UTF-8", `"profile":1`}, nil},
		{"import strictly", "POST", "/api/import?strict=true", profile + "{\n", 400, []string{"line 2", "invalid"}, nil},
		{"import what is newer", "POST", "/api/import", `{"type":"header","format":"loci","version":9}`, 400, []string{"version 9"}, nil},
		{"import too much", "POST", "/api/import", strings.Repeat(profile, 1000), 413, []string{"too_large", "too large"}, nil},
		{"import as something", "POST", "/api/import?format=xml", "x", 422, []string{"format"}, nil},
		{"import nothing", "POST", "/api/import", "", 200, []string{`"read":0`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			newRig(t).furnish().answers(c)
		})
	}
}

func TestRepeatedKeyImportsOnce(t *testing.T) {
	r := newRig(t)
	for i, want := range []int{1, 0} {
		var out client.Imported
		r.decode(r.do("POST", "/api/import?format=list", "- Ana sails\n", "Idempotency-Key", "k"), &out)
		if out.Added.Facts != want {
			t.Errorf("call %d: %+v, want %d facts added", i+1, out, want)
		}
	}
}

// failing is a store whose lists fail after some pages.
type failing struct {
	memory.Store
	lists int
}

func (f *failing) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	if f.lists--; f.lists < 0 {
		return memory.Page{}, memory.Errorf(memory.Unavailable, "the disk is gone")
	}
	return f.Store.List(ctx, owner, q)
}

func TestFailedExportIsNotComplete(t *testing.T) {
	r := newRig(t).furnish()
	r.engine.Store = &failing{Store: r.engine.Store}
	if w := r.do("GET", "/api/export?parts=facts", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("before anything was sent: %d %s, want 503", w.Code, w.Body)
	}
	message := `{"role":"user","content":"` + strings.Repeat("x", 1000) + `"}`
	for range 3 { // more than is buffered
		r.do("POST", "/api/memory/add", `{"infer":false,"conversation":"long","messages":[`+strings.Repeat(message+",", 39)+message+`]}`)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("after some was sent: %v, want the connection to be cut", err)
		}
	}()
	w := r.do("GET", "/api/export", "")
	t.Errorf("the export ended in %d", w.Code)
}

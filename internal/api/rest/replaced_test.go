package rest

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/client"
)

// TestWriteListsReplacedFacts adds, edits and restores facts that contradict others.
func TestWriteListsReplacedFacts(t *testing.T) {
	r := newRig(t)
	write := func(method, path, body string, headers []string, replaced ...string) client.Written {
		t.Helper()
		var got client.Written
		r.decode(r.do(method, path, body, headers...), &got)
		var words []string
		for _, old := range got.Replaced {
			words = append(words, old.Content)
			if old.ID == "" || old.SupersededBy != got.ID {
				t.Errorf("%s %s: it replaced %+v, want the fact as it is now", method, body, old)
			}
		}
		if !slices.Equal(words, replaced) {
			t.Errorf("%s %s: it replaced %q, want %q", method, body, words, replaced)
		}
		return got
	}
	key := []string{"Idempotency-Key", "one"}
	berlin := write("POST", "/api/memory", `{"content":"User lives in Berlin"}`, nil)
	write("POST", "/api/memory", `{"content":"User lives in Lisbon in winter"}`, nil)
	rome := write("POST", "/api/memory", `{"content":"User lives in Rome"}`, key, "User lives in Berlin")
	write("POST", "/api/memory", `{"content":"User lives in Rome"}`, nil)
	write("PATCH", "/api/memory/"+rome.ID, `{"pinned":true}`, nil)
	cat := write("POST", "/api/memory", `{"content":"User has a cat"}`, nil)
	write("PATCH", "/api/memory/"+cat.ID, `{"content":"User lives in Oslo"}`, nil, "User lives in Rome")
	write("POST", "/api/memory/"+berlin.ID+"/restore", ``, nil, "User lives in Oslo")
}

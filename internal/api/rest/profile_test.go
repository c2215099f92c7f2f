package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

func TestProfileEntriesAreSetAndDeleted(t *testing.T) {
	r := newRig(t).furnish()
	for _, c := range []row{
		{"", "GET", "/api/profile", "", 200, []string{`{"entries":[]}`}, nil},
		{"", "PUT", "/api/profile/timezone", `{"value":"Europe/Lisbon"}`, 200, []string{`"key":"timezone"`, `"value":"Europe/Lisbon"`, `"tokenCount":`, `"updated_at"`}, nil},
		{"", "PUT", "/api/profile/favourite%20tea", `{"value":"oolong"}`, 200, []string{`"key":"favourite tea"`}, nil},
		{"", "PUT", "/api/profile/timezone", `{"value":"Atlantic/Madeira"}`, 200, []string{"Madeira"}, []string{"Lisbon"}},
		{"", "GET", "/api/profile", "", 200, []string{"Madeira", "oolong"}, []string{"Lisbon", "owner", "loci."}},
		{"", "GET", "/api/profile/timezone", "", 200, []string{"Madeira"}, []string{"oolong"}},
		{"", "GET", "/api/profile/shoe", "", 404, []string{"not_found"}, nil},
		{"", "PUT", "/api/profile/loci.pause", `{"value":"memory"}`, 400, []string{"loci."}, nil},
		{"", "GET", "/api/profile/loci.pause", "", 400, []string{"loci."}, nil},
		{"", "DELETE", "/api/profile/loci.pause", "", 400, []string{"loci."}, nil},
		{"", "PUT", "/api/profile/empty", `{"value":" "}`, 400, []string{"value"}, nil},
		{"", "PUT", "/api/profile/" + strings.Repeat("k", 200), `{"value":"v"}`, 422, []string{"key"}, nil},
		{"", "PUT", "/api/profile/none", `{}`, 422, []string{"value"}, nil},
		{"", "DELETE", "/api/profile/timezone", "", 200, []string{`"run"`, `"changes":1`}, nil},
		{"", "DELETE", "/api/profile/timezone", "", 404, []string{"not_found"}, nil},
		{"", "GET", "/api/profile", "", 200, []string{"oolong"}, []string{"Madeira"}},
	} {
		r.answers(c)
	}
}

// TestCoreIsShown reads the core with its tokens and reasons, and in a block on request.
func TestCoreIsShown(t *testing.T) {
	r := newRig(t)
	r.engine.Opts.Recall.CoreTokens = 60
	for i := range 20 {
		r.do("POST", "/api/memory", fmt.Sprintf(`{"content":"User has read the book number %d","category":"habit"}`, i))
	}
	r.do("POST", "/api/memory", `{"content":"User has a dog named Rex","category":"family","pinned":true}`)
	r.do("PUT", "/api/profile/timezone", `{"value":"Europe/Lisbon"}`)
	var core client.Core
	w := r.do("GET", "/api/core", "")
	r.decode(w, &core)
	if len(core.Facts) < 3 || len(core.Facts)+len(core.OverBudget) != 21 || core.Budget != 60 || core.Tokens == 0 || core.Tokens > 60 || len(core.Profile) != 1 {
		t.Fatalf("the core is %s", w.Body)
	}
	if dog := core.Facts[0]; dog.Content != "User has a dog named Rex" || dog.Heading != "People and pets" || dog.Why != "pinned" {
		t.Errorf("the first is %+v, want the dog", dog)
	}
	if found := r.search(`{"query":"How high is Mount Everest?","block":true,"core":true}`); !strings.Contains(found.Block, "People and pets:\n- has a dog named Rex\n") {
		t.Errorf("the block %q does not begin with the core", found.Block)
	}
}

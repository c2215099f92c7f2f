package rest

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// copies is a searcher that has copies of all vectors.
type copies struct {
	memory.Searcher
	dropped int
}

func (c *copies) DropEarlier(context.Context) error { c.dropped++; return nil }

// embeddedBefore returns a rig in which two facts of ana's and one of ben's have vectors of an
// earlier embedder.
func embeddedBefore(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	for content, user := range map[string]string{"Ana sails": "ana", "Ana rows": "ana", bensSecret: "ben"} {
		id := r.idAs(user, "POST", "/api/memory", `{"content":"`+content+`"}`)
		run := memory.Run{ID: "embed-" + id, Kind: "embed", Vectors: []memory.Vector{{Memory: id, Model: "old", Values: []float32{1, 0}}}}
		if _, err := r.engine.Store.Apply(t.Context(), memory.User(memory.DefaultNamespace, user), run); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestReembeddingForAll(t *testing.T) {
	r := embeddedBefore(t)
	var all client.AllVectors
	for _, c := range []struct{ method, body string }{{"GET", ""}, {"POST", `{"dry_run":true}`}, {"POST", `{}`}, {"POST", ""}} {
		r.decode(r.do(c.method, "/api/reembed/all", c.body), &all)
		if all.Users != 2 || all.Memories != 3 || all.Lacking != 0 || all.CompleteUsers != 2 || all.Model != r.engine.Embedder.Fingerprint() {
			t.Errorf("%s %s: %+v; want three memories of two users, all complete", c.method, c.body, all)
		}
	}
}

func TestPruneForOneUserOrAll(t *testing.T) {
	r := embeddedBefore(t)
	for _, c := range []struct {
		user, body   string
		users, count int // of the earlier embedder; 0: it is not listed
	}{
		{"ana", `{"dry_run":true}`, 1, 2},
		{"ana", `{"dry_run":true,"all":true}`, 2, 3},
		{"ben", "", 1, 1},
		{"ben", "", 0, 0},
		{"ana", `{"all":true}`, 1, 2},
		{"ana", `{"all":true}`, 0, 0},
	} {
		var gone client.Pruned
		r.decode(r.as(c.user, "POST", "/api/reembed/prune", c.body), &gone)
		want := []client.PrunedModel{{Model: "old", Users: c.users, Vectors: c.count}}
		if c.users == 0 {
			want = []client.PrunedModel{}
		}
		if gone.Vectors != c.count || gone.Model != r.engine.Embedder.Fingerprint() || gone.Models == nil || !slices.Equal(gone.Models, want) {
			t.Errorf("%s prunes %s: %+v, want %+v", c.user, c.body, gone, want)
		}
	}
	for body, status := range map[string]int{`{"everything":true}`: 422, `{"all":"yes"}`: 422, `[`: 400} {
		if w := r.do("POST", "/api/reembed/prune", body); w.Code != status {
			t.Errorf("prune %s: %d %s, want %d", body, w.Code, w.Body, status)
		}
	}
}

// TestOnlyAdminsEmbedAllUsers uses a token of Open WebUI. Requests for all users are refused, those for
// the user's own vectors are not.
func TestOnlyAdminsEmbedAllUsers(t *testing.T) {
	r := embeddedBefore(t)
	elsewhere := &copies{Searcher: r.engine.Vectors.Searcher}
	r.engine.Vectors.Searcher = elsewhere
	open := r.handler
	r.guarded(httpx.Options{Key: "k", JWTSecret: []byte("s")})
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/api/reembed", "", 200},
		{"GET", "/api/reembed/all", "", 403},
		{"POST", "/api/reembed/all", `{"dry_run":true}`, 403},
		{"POST", "/api/reembed/all", "", 403},
		{"POST", "/api/reembed/prune", `{"all":true,"dry_run":true}`, 403},
		{"POST", "/api/reembed/prune", `{"all":true}`, 403},
		{"POST", "/api/reembed/prune", `{}`, 200},
	} {
		w := r.as("", c.method, c.path, c.body, r.signed("ana")...)
		if w.Code != c.status {
			t.Errorf("%s %s %s: status %d, want %d: %s", c.method, c.path, c.body, w.Code, c.status, w.Body)
		}
		if w.Code == 403 {
			wantProblem(t, c.method+" "+c.path, w)
		}
	}
	r.handler = open
	if elsewhere.dropped > 0 {
		t.Errorf("all the same, copies were dropped %d times", elsewhere.dropped)
	}
	var left client.Pruned
	r.decode(r.as("ben", "POST", "/api/reembed/prune", `{"dry_run":true}`), &left)
	if left.Vectors != 1 || elsewhere.dropped > 0 {
		t.Errorf("ben has %d old vectors, want his one; copies dropped %d times", left.Vectors, elsewhere.dropped)
	}
	if r.as("ben", "POST", "/api/reembed/prune", `{"all":true}`); elsewhere.dropped != 1 {
		t.Errorf("with the vectors of all users, copies are dropped %d times, want once", elsewhere.dropped)
	}
	for _, path := range []string{"/api/reembed", "/api/reembed/prune"} {
		if w := r.as("", "POST", path, ""); w.Code != 401 {
			t.Errorf("nobody in particular: POST %s: %d, want 401", path, w.Code)
		}
	}
}

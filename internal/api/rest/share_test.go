package rest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func TestSharingAFact(t *testing.T) {
	r := newRig(t).furnish()
	var with client.Shared
	r.decode(r.do("POST", "/api/memory/{tea}/share", `{"to":"user/cy"}`), &with)
	r.decode(r.do("POST", "/api/memory/{tea}/share", `{"to":"global"}`), &with)
	if !slices.Equal(with.With, []string{"global", "user/cy"}) {
		t.Errorf("shared with %q", with.With)
	}
	if seen := r.as("cy", "GET", "/api/memory", "").Body.String(); strings.Contains(seen, "oolong") {
		t.Errorf("before cy accepts, cy sees %s", seen)
	}
	var waits client.Review
	r.decode(r.as("cy", "GET", "/api/review", ""), &waits)
	if len(waits.Waiting) != 1 || waits.Waiting[0].Memory.Home != "default/user/ana" || waits.Waiting[0].Memory.Status != memory.Pending || waits.Waiting[0].Reason != "shared by user/ana" {
		t.Fatalf("cy's review has %+v, want Ana's fact, pending, and who shared it", waits.Waiting)
	}
	for _, body := range []string{`{"id":"{tea}","action":"approve","content":"Ana drinks coffee"}`, `{"id":"{tea}","action":"approve","seen":"Ana drinks coffee"}`} {
		if w := r.as("cy", "POST", "/api/review", `{"judgements":[`+body+`]}`); w.Code != http.StatusBadRequest && w.Code != http.StatusConflict {
			t.Errorf("judgement %s: status %d: %s", body, w.Code, w.Body)
		}
	}
	var reviewed client.Reviewed
	r.decode(r.as("cy", "POST", "/api/review", `{"judgements":[{"id":"{tea}","action":"reject"}]}`), &reviewed)
	if w := r.as("cy", "POST", "/api/changes/undo", `{"run":"`+reviewed.Run+`"}`); w.Code != http.StatusOK {
		t.Fatalf("undo: status %d: %s", w.Code, w.Body)
	}
	var accepted client.Memory
	r.decode(r.as("cy", "POST", "/api/memory/{tea}/approve", ""), &accepted)
	if accepted.Status != memory.Active || accepted.Home != "default/user/ana" {
		t.Errorf("accepted it is %+v", accepted)
	}
	seen := r.as("cy", "GET", "/api/memory", "").Body.String()
	if !strings.Contains(seen, "oolong") || !strings.Contains(seen, `"home":"default/user/ana"`) || strings.Contains(seen, `"drinks"`) {
		t.Errorf("cy sees %s; want the words, whose they are, and no tags", seen)
	}
	if found := r.as("cy", "POST", "/api/memory/search", `{"query":"What does Ana drink in the morning?","explain":true}`).Body.String(); !strings.Contains(found, "oolong") || !strings.Contains(found, `"home":"default/user/ana"`) {
		t.Errorf("cy finds %s", found)
	}
	for _, c := range []struct {
		user, method, path, body string
		status                   int
	}{
		{"cy", "PATCH", "/api/memory/{tea}", `{"content":"Ana drinks coffee"}`, 403},
		{"cy", "POST", "/api/memory/{tea}/share", `{"to":"user/dee"}`, 403},
		{"cy", "GET", "/api/memory/{tea}/share", "", 403},
		{"ben", "GET", "/api/memory/{tea}/share", "", 404},
		{"ben", "GET", "/api/memory/{tea}", "", 404},
		{"ana", "POST", "/api/memory/{secret}/share", `{"to":"user/cy"}`, 404},
		{"ana", "POST", "/api/memory/{turn}/share", `{"to":"user/cy"}`, 400},
		{"ana", "POST", "/api/memory/{tea}/share", `{"to":"cy"}`, 400},
		{"ana", "POST", "/api/memory/{tea}/share", `{}`, 422},
		{"ana", "DELETE", "/api/memory/{tea}/share", "", 422},
		{"cy", "DELETE", "/api/memory/{tea}", "", 200},
		{"cy", "DELETE", "/api/memory/{tea}/share?to=user/cy", "", 400},
		{"ana", "GET", "/api/memory/{tea}", "", 200},
		{"ana", "DELETE", "/api/memory/{tea}/share?to=user/cy", "", 200},
	} {
		if w := r.as(c.user, c.method, c.path, c.body); w.Code != c.status {
			t.Errorf("%s: %s %s %s: status %d, want %d: %s", c.user, c.method, c.path, c.body, w.Code, c.status, w.Body)
		}
	}
	r.decode(r.do("GET", "/api/memory/{tea}/share", ""), &with)
	if !slices.Equal(with.With, []string{"global"}) {
		t.Errorf("in the end it is shared with %q", with.With)
	}
}

// TestUsersShareOnlyTheirOwn uses a token of Open WebUI.
func TestUsersShareOnlyTheirOwn(t *testing.T) {
	r := newRig(t).furnish()
	r.guarded(httpx.Options{Key: "k", JWTSecret: []byte("s")})
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/api/memory/{tea}/share", `{"to":"global"}`, 403},
		{"POST", "/api/memory/{tea}/share", `{"to":"pool/team"}`, 403},
		{"POST", "/api/memory/{tea}/share", `{"to":"user/cy"}`, 200},
		{"DELETE", "/api/users/ben", "", 403},
		{"POST", "/api/users/ben/open", "", 403},
		{"DELETE", "/api/users/ana", "", 200},
		{"POST", "/api/memory", `{"content":"Ana likes rain"}`, 410},
		{"POST", "/api/users/ana/open", "", 204},
	} {
		if w := r.as("", c.method, c.path, c.body, r.signed("ana")...); w.Code != c.status {
			t.Errorf("%s %s %s: status %d, want %d: %s", c.method, c.path, c.body, w.Code, c.status, w.Body)
		}
	}
}

func TestErasingAUser(t *testing.T) {
	r := newRig(t).furnish()
	r.do("POST", "/api/memory/{tea}/share", `{"to":"user/cy"}`)
	var gone client.Erased
	r.decode(r.as("ben", "DELETE", "/api/users/ana", ""), &gone) // everybody on loopback runs the server
	if gone.User != "ana" || gone.Links != 1 || gone.Removed["fact"] != 3 || gone.Removed["turn"] != 2 || len(gone.Runs) != 1 || gone.ClosedAt.IsZero() {
		t.Errorf("the receipt is %+v", gone)
	}
	for _, user := range []string{"ana", "cy"} {
		if left := r.as(user, "GET", "/api/memory?kind=all&status=all", "").Body.String(); strings.Contains(left, "oolong") || strings.Contains(left, "Madeira") {
			t.Errorf("%s still has %s", user, left)
		}
	}
	if kept := r.as("ben", "GET", "/api/memory", "").Body.String(); !strings.Contains(kept, bensSecret) {
		t.Errorf("ben has %s", kept)
	}
	if w := r.do("POST", "/api/memory", `{"content":"Ana likes rain"}`); w.Code != http.StatusGone {
		t.Errorf("a note: status %d, want 410", w.Code)
	}
	if w := r.do("POST", "/api/users/ana/open", ""); w.Code != http.StatusNoContent {
		t.Errorf("open: status %d: %s", w.Code, w.Body)
	}
	if w := r.do("POST", "/api/memory", `{"content":"Ana likes rain"}`); w.Code != http.StatusCreated {
		t.Errorf("a note after it was opened: status %d: %s", w.Code, w.Body)
	}
}

// TestErasingAnUnusedName closes the name, unless the request is restricted to users with stored
// data, of which a trace is enough.
func TestErasingAnUnusedName(t *testing.T) {
	r := newRig(t).furnish()
	if w := r.as("ben", "DELETE", "/api/users/nobody?known=true", ""); w.Code != http.StatusNotFound {
		t.Errorf("who never was: status %d, want 404: %s", w.Code, w.Body)
	}
	if w := r.as("nobody", "POST", "/api/memory/search", `{"query":"marzipan"}`); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	for _, path := range []string{"/api/users/nobody?known=true", "/api/users/ahead"} {
		if w := r.as("ben", "DELETE", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s: status %d, want 200: %s", path, w.Code, w.Body)
		}
	}
	if w := r.as("ahead", "POST", "/api/memory", `{"content":"Ahead likes rain"}`); w.Code != http.StatusGone {
		t.Errorf("who was closed ahead writes: status %d, want 410", w.Code)
	}
}

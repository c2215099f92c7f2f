package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

func TestPreviewChangesNothing(t *testing.T) {
	r := newRig(t).furnish()
	before := r.version()
	w := r.do("POST", "/api/memory/preview", `{"text":"I live in Lisbon. Is it going to rain?"}`)
	var got client.Preview
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if len(got.Changes) != 1 || got.Changes[0].After.Fact == nil || got.Changes[0].After.Fact.Content != "User lives in Lisbon" ||
		len(got.Decisions) != 1 || got.Decisions[0].Action != "add" {
		t.Errorf("got %s, want the addition of one fact", w.Body)
	}
	if after := r.version(); after != before {
		t.Errorf("version %d, want %d as before", after, before)
	}
	if w := r.do("POST", "/api/memory/preview", `{}`); w.Code != http.StatusBadRequest {
		t.Errorf("a preview of nothing: %d %s, want 400", w.Code, w.Body)
	}
}

func TestPauseIsKept(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, body string
		status       int
		want         string
	}{
		{"GET", "", http.StatusOK, `"none"`},
		{"PUT", `{"pause":"memory"}`, http.StatusOK, `"memory"`},
		{"GET", "", http.StatusOK, `"memory"`},
		{"PUT", `{"pause":"for ever"}`, http.StatusUnprocessableEntity, "none"},
		{"GET", "", http.StatusOK, `"memory"`},
	} {
		if w := r.do(c.method, "/api/pause", c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s, want %d and %s", c.method, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	if w := r.do("POST", "/api/memory/add", `{"text":"I live in Lisbon."}`); w.Code != http.StatusConflict {
		t.Errorf("talk while memory is paused: %d %s, want 409", w.Code, w.Body)
	}
	if w := r.as("ben", "GET", "/api/pause", ""); !strings.Contains(w.Body.String(), `"none"`) {
		t.Errorf("somebody else's: %s, want none", w.Body)
	}
}

func TestUpkeepListsRemovals(t *testing.T) {
	r := newRig(t).furnish()
	r.do("POST", "/api/memory", `{"content":"Ana parks in bay 12","expires_at":"2020-01-01T00:00:00Z"}`)
	for _, c := range []struct {
		body, want string
		leave      int
	}{
		{`{"dry_run":true}`, "expired", 1},
		{`{}`, "expired", 1},
		{`{}`, "", 0},
	} {
		w := r.do("POST", "/api/upkeep", c.body)
		var got client.Upkeep
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Changes) != c.leave || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %d to leave", c.body, w.Code, w.Body, c.leave)
		}
	}
}

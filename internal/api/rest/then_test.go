package rest

import (
	"strings"
	"testing"
	"time"
)

// TestEveryReadTakesATime reads data as it was before, between and after writes, by every
// operation that returns one item or a list.
func TestEveryReadTakesATime(t *testing.T) {
	r := newRig(t)
	now := func() string {
		r.clock.Advance(time.Hour)
		defer r.clock.Advance(time.Hour)
		return r.clock.Now().UTC().Format(time.RFC3339)
	}
	never := now()
	fact := r.id("POST", "/api/memory", `{"content":"Ana lives in Porto","observed_at":"2026-01-02T00:00:00Z"}`)
	context := r.id("POST", "/api/contexts", `{"title":"Guide","content":"The first guide"}`)
	r.decode(r.do("PUT", "/api/profile/city", `{"value":"Porto"}`), new(any))
	first := now()
	r.decode(r.do("PATCH", "/api/memory/"+fact, `{"content":"Ana lives in Lisbon"}`), new(any))
	r.decode(r.do("PATCH", "/api/contexts/"+context, `{"content":"The second guide"}`), new(any))
	r.decode(r.do("PUT", "/api/profile/city", `{"value":"Lisbon"}`), new(any))
	second := now()
	r.decode(r.do("DELETE", "/api/memory/"+fact, ""), new(any))
	r.decode(r.do("DELETE", "/api/contexts/"+context, ""), new(any))
	r.decode(r.do("DELETE", "/api/profile/city", ""), new(any))

	for _, path := range []string{"/api/memory/" + fact, "/api/contexts", "/api/contexts/" + context, "/api/profile", "/api/profile/city"} {
		words := []string{"Porto", "Lisbon"}
		if strings.HasPrefix(path, "/api/contexts") {
			words = []string{"first", "second"}
		}
		for _, c := range []struct {
			query string
			has   string // "": neither
		}{
			{"?as_of=" + never, ""},
			{"?as_of=" + first, words[0]},
			{"?as_of=" + second, words[1]},
			{"?as_of=" + second + "&valid_at=" + second, words[1]},
		} {
			w := r.do("GET", path+c.query, "")
			if w.Code != 200 && (w.Code != 404 || c.has != "") {
				t.Errorf("GET %s%s: status %d: %s", path, c.query, w.Code, w.Body)
			}
			for _, word := range words {
				if strings.Contains(w.Body.String(), word) != (word == c.has) {
					t.Errorf("GET %s%s: %s; want %q of %q", path, c.query, w.Body, c.has, words)
				}
			}
			if w := r.as("ben", "GET", path+c.query, ""); w.Code != 404 && strings.Contains(w.Body.String(), c.has) && c.has != "" {
				t.Errorf("GET %s%s of ben's: %d %s", path, c.query, w.Code, w.Body)
			}
		}
		if w := r.do("GET", path+"?as_of=yesterday", ""); w.Code != 422 || !strings.Contains(w.Body.String(), "as_of") {
			t.Errorf("GET %s?as_of=yesterday: %d %s", path, w.Code, w.Body)
		}
	}
	if w := r.do("GET", "/api/memory/"+fact, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "retired") {
		t.Errorf("what is gone, today: %d %s", w.Code, w.Body)
	}
	if w := r.do("GET", "/api/memory/"+fact+"?as_of="+second+"&valid_at=2020-01-01T00:00:00Z", ""); w.Code != 404 {
		t.Errorf("what was not true then: %d %s, want 404", w.Code, w.Body)
	}
}

func TestMessagesAreReadAsOfATime(t *testing.T) {
	r := newRig(t).furnish()
	was := r.clock.Now().UTC().Format(time.RFC3339Nano)
	r.clock.Advance(time.Hour)
	r.decode(r.do("DELETE", "/api/memory/{turn}", ""), new(any))
	if w := r.do("GET", "/api/memory/{turn}?as_of="+was, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"status":"active"`) {
		t.Errorf("a turn before it was forgotten: %d %s", w.Code, w.Body)
	}
	if w := r.do("GET", "/api/memory/{turn}?as_of={before}", ""); w.Code != 404 {
		t.Errorf("a turn before it existed: %d %s", w.Code, w.Body)
	}
}

package rest

import (
	"strings"
	"testing"
)

func TestProfileEntriesArePutAndTakenOut(t *testing.T) {
	r := newRig(t).furnish()
	for _, c := range []struct {
		method, path, body string
		status             int
		has, lacks         []string
	}{
		{"GET", "/api/profile", "", 200, []string{`{"entries":[]}`}, nil},
		{"PUT", "/api/profile/timezone", `{"value":"Europe/Lisbon"}`, 200, []string{`"key":"timezone"`, `"value":"Europe/Lisbon"`, `"tokenCount":`, `"updated_at"`}, nil},
		{"PUT", "/api/profile/favourite%20tea", `{"value":"oolong"}`, 200, []string{`"key":"favourite tea"`}, nil},
		{"PUT", "/api/profile/timezone", `{"value":"Atlantic/Madeira"}`, 200, []string{"Madeira"}, []string{"Lisbon"}},
		{"GET", "/api/profile", "", 200, []string{"Madeira", "oolong"}, []string{"Lisbon", "owner", "loci."}},
		{"GET", "/api/profile/timezone", "", 200, []string{"Madeira"}, []string{"oolong"}},
		{"GET", "/api/profile/shoe", "", 404, []string{"not_found"}, nil},
		{"PUT", "/api/profile/loci.pause", `{"value":"memory"}`, 400, []string{"loci."}, nil},
		{"GET", "/api/profile/loci.pause", "", 400, []string{"loci."}, nil},
		{"DELETE", "/api/profile/loci.pause", "", 400, []string{"loci."}, nil},
		{"PUT", "/api/profile/empty", `{"value":" "}`, 400, []string{"value"}, nil},
		{"PUT", "/api/profile/" + strings.Repeat("k", 200), `{"value":"v"}`, 422, []string{"key"}, nil},
		{"PUT", "/api/profile/none", `{}`, 422, []string{"value"}, nil},
		{"DELETE", "/api/profile/timezone", "", 200, []string{`"run"`, `"changes":1`}, nil},
		{"DELETE", "/api/profile/timezone", "", 404, []string{"not_found"}, nil},
		{"GET", "/api/profile", "", 200, []string{"oolong"}, []string{"Madeira"}},
	} {
		w := r.do(c.method, c.path, c.body)
		if w.Code != c.status {
			t.Errorf("%s %s: status %d, want %d: %s", c.method, c.path, w.Code, c.status, w.Body)
		}
		for _, want := range c.has {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s lacks %s: %s", c.method, c.path, want, w.Body)
			}
		}
		for _, unwanted := range c.lacks {
			if strings.Contains(w.Body.String(), unwanted) {
				t.Errorf("%s %s has %s: %s", c.method, c.path, unwanted, w.Body)
			}
		}
	}
}

package rest

import (
	"strings"
	"testing"
)

// TestRefusalsQuoteNoContent sends large and invalid requests. The errors are short, name the
// field, and quote nothing of a body or a header.
func TestRefusalsQuoteNoContent(t *testing.T) {
	const secret = "sk-proj-0123456789abcdefghijkl"
	long := strings.Repeat(secret+" ", 1000)
	r := newRig(t).furnish()
	for _, c := range []struct {
		name, method, path, body string
		has                      string
		headers                  []string
	}{
		{"no JSON", "POST", "/api/memory", strings.Repeat("[", 60<<10), "body", nil},
		{"JSON that breaks off", "POST", "/api/memory", `{"content":"` + long, "body", nil},
		{"a field of the wrong type", "POST", "/api/memory", `{"content":["` + long + `"]}`, "body.content", nil},
		{"a secret of the wrong type", "POST", "/api/memory", `{"content":"x","tags":"` + secret + `"}`, "body.tags", nil},
		{"a long field that nobody knows", "POST", "/api/memory", `{"content":"x","` + long + `":1}`, "body", nil},
		{"fields that nobody knows", "POST", "/api/memory", `{"content":"x"` + many(500) + `}`, "more", nil},
		{"a long key", "POST", "/api/memory", `{"content":"Ana likes rain"}`, "Idempotency-Key", []string{"Idempotency-Key", long}},
		{"a long parameter", "GET", "/api/memory?limit=" + strings.Repeat("9", 30_000), "", "limit", nil},
		{"a long kind", "GET", "/api/memory?kind=" + strings.Repeat("k", 30_000), "", "kind", nil},
		{"a long id", "GET", "/api/memory/" + strings.Repeat("i", 30_000), "", "id", nil},
		{"nowhere", "GET", "/api/" + strings.Repeat("n", 30_000), "", "no such operation", nil},
		{"a long cursor", "GET", "/api/memory?cursor=" + strings.Repeat("c", 30_000), "", "ccc", nil},
	} {
		w := r.do(c.method, c.path, c.body, c.headers...)
		wantProblem(t, c.name, w)
		if w.Code < 400 || w.Code >= 500 || w.Body.Len() > 3000 {
			t.Errorf("%s: status %d and %d bytes: %.300s", c.name, w.Code, w.Body.Len(), w.Body)
		}
		answer := strings.ToLower(w.Body.String())
		if !strings.Contains(answer, strings.ToLower(c.has)) || len(c.headers) > 0 && strings.Contains(answer, "sk-proj") || strings.Contains(c.name, "secret") && strings.Contains(answer, "sk-proj") {
			t.Errorf("%s: it says %.300s; want %s, and nothing of what was sent", c.name, w.Body, c.has)
		}
	}
}

// many returns n JSON fields.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"field` + strings.Repeat("x", i%7+1) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + `":1`)
	}
	return b.String()
}

package rest

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
)

// TestHistoryNamesTheAuthor has a user write a fact and an admin edit it.
func TestHistoryNamesTheAuthor(t *testing.T) {
	r := newRig(t)
	r.guarded(httpx.Options{Key: "k", JWTSecret: []byte("s")})
	hers, admins := r.signed("ana"), []string{httpx.HeaderKey, "k", httpx.HeaderUser, "ana"}
	var made client.Memory
	r.decode(r.as("", "POST", "/api/memory", `{"content":"Ana plays the cello"}`, hers...), &made)
	r.as("", "PATCH", "/api/memory/"+made.ID, `{"content":"Ana plays the viola"}`, admins...)
	history := r.as("", "GET", "/api/memory/"+made.ID+"/history", "", hers...).Body.String()
	for author, times := range map[string]int{`"author":{"kind":"person","name":"ana","admin":true}`: 1, `"author":{"kind":"person","name":"ana"}`: 1} {
		if strings.Count(history, author) != times {
			t.Errorf("the history has %s %d times, want %d: %s", author, strings.Count(history, author), times, history)
		}
	}
	if changes := r.as("", "GET", "/api/changes", "", hers...).Body.String(); strings.Count(changes, `"admin":true`) != 1 {
		t.Errorf("the journal: %s", changes)
	}
}

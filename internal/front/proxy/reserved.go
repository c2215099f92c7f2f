package proxy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// reserved are the paths of mem0's API. Its clients send memories and Loci's key there, so
// that nothing at or below them is forwarded to a model provider.
var reserved = []string{
	"/v1/ping", "/v1/memories", "/v2/memories", "/v3/memories", "/v1/event", "/v1/events", "/v1/entities", "/v2/entities",
	"/v1/batch", "/v1/feedback", "/v1/exports", "/v1/summary", "/v1/stats", "/api/v1/orgs", "/api/v1/webhooks",
}

// short are the paths under /v1 that are served without it, too: some clients add nothing to a
// base URL.
var short = []string{"/chat/completions", "/completions", "/embeddings", "/models", "/responses"}

// IsOwn reports whether a [Door] answers at a path, but for those that are reserved.
func IsOwn(path string) bool { return strings.HasPrefix(path, "/v1/") || slices.Contains(short, path) }

// Short returns the paths outside /v1 at which a [Door] answers as below it.
func Short() []string { return slices.Clone(short) }

// Reserved returns the paths besides /v1/ that a [Door] answers, each with all below it.
func Reserved() []string {
	return slices.DeleteFunc(slices.Clone(reserved), func(p string) bool { return strings.HasPrefix(p, "/v1/") })
}

// isReserved reports whether a path, as it is after decoding, is one of mem0's.
func isReserved(path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc(reserved, func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || rest[0] == '/')
	})
}

func refuseReserved(w http.ResponseWriter, r *http.Request) {
	httpx.WriteError(w, r, memory.Errorf(memory.NotFound, "mem0's API is not served here; Loci's own is under /api, described at /docs"))
}

package proxy

import (
	"slices"
	"strings"
)

// reserved are the paths of mem0's API, which package mem0 serves. Its clients send memories
// and Loci's key there, so that nothing at or below them is forwarded to a model provider,
// however the path is spelt.
var reserved = []string{
	"/v1/ping", "/v1/memories", "/v2/memories", "/v3/memories", "/v1/event", "/v1/events", "/v1/entities", "/v2/entities", "/v3/entities",
	"/v2/profiles", "/v1/batch", "/v1/feedback", "/v1/exports", "/v1/summary", "/v1/stats", "/api/v1/orgs", "/api/v1/webhooks",
}

// short are the paths under /v1 that are served without it, too: some clients add nothing to a
// base URL.
var short = []string{"/chat/completions", "/completions", "/embeddings", "/models", "/responses"}

// IsOwn reports whether a [Handler] answers at a path, but for those that are reserved.
func IsOwn(path string) bool { return strings.HasPrefix(path, "/v1/") || slices.Contains(short, path) }

// Short returns the paths outside /v1 at which a [Handler] answers as below it.
func Short() []string { return slices.Clone(short) }

// Reserved returns the paths of mem0's API, each with all below it.
func Reserved() []string { return slices.Clone(reserved) }

// IsReserved reports whether a path, as it is after decoding, is one of mem0's.
func IsReserved(path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc(reserved, func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || rest[0] == '/')
	})
}

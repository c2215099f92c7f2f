package proxy

import (
	"slices"
	"strings"
)

// reservedPaths are the paths of mem0's API, which package mem0 serves. They are never forwarded to the upstream, in
// any spelling, because mem0's clients send memories and Loci's key to these paths.
var reservedPaths = []string{
	"/v1/ping", "/v1/memories", "/v2/memories", "/v3/memories", "/v1/event", "/v1/events", "/v1/entities", "/v2/entities", "/v3/entities",
	"/v2/profiles", "/v1/batch", "/v1/feedback", "/v1/exports", "/v1/summary", "/v1/stats", "/api/v1/orgs", "/api/v1/webhooks",
}

// shortPaths are the paths that are also served without /v1, because some clients' base URLs lack /v1.
var shortPaths = []string{"/chat/completions", "/completions", "/embeddings", "/models", "/responses"}

// IsServed reports whether a [Handler] serves a path, if the path is not reserved.
func IsServed(path string) bool {
	return strings.HasPrefix(path, "/v1/") || slices.Contains(shortPaths, path)
}

// ShortPaths returns the paths that a [Handler] also serves without the prefix /v1.
func ShortPaths() []string { return slices.Clone(shortPaths) }

// ReservedPaths returns the paths of mem0's API; their subpaths are reserved too.
func ReservedPaths() []string { return slices.Clone(reservedPaths) }

// IsReserved reports whether a decoded path belongs to mem0's API.
func IsReserved(path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc(reservedPaths, func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || rest[0] == '/')
	})
}

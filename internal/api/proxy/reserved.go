package proxy

import (
	"slices"
	"strings"
)

// reserved are the paths of mem0's API, which package mem0 serves. They are never forwarded to a model provider, in
// any spelling: mem0's clients send memories and Loci's key to these paths.
var reserved = []string{
	"/v1/ping", "/v1/memories", "/v2/memories", "/v3/memories", "/v1/event", "/v1/events", "/v1/entities", "/v2/entities", "/v3/entities",
	"/v2/profiles", "/v1/batch", "/v1/feedback", "/v1/exports", "/v1/summary", "/v1/stats", "/api/v1/orgs", "/api/v1/webhooks",
}

// short are the paths that are also served without /v1, since some clients have no /v1 in their base URL.
var short = []string{"/chat/completions", "/completions", "/embeddings", "/models", "/responses"}

// IsOwn reports whether a [Handler] serves a path that is not reserved.
func IsOwn(path string) bool { return strings.HasPrefix(path, "/v1/") || slices.Contains(short, path) }

// Short returns the paths that a [Handler] also serves without the prefix /v1.
func Short() []string { return slices.Clone(short) }

// Reserved returns the paths of mem0's API; paths below them are reserved too.
func Reserved() []string { return slices.Clone(reserved) }

// IsReserved reports whether a decoded path is one of mem0's.
func IsReserved(path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc(reserved, func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// Package mem0 serves the REST API of mem0's platform and, under [Prefix], also the API of its open-source
// server. Clients of mem0 work with Loci unchanged. The package translates calls and stores nothing itself.
//
// A memory of mem0 is a fact. If the key may name any user, user_id is the owner. Without a user_id, the user
// "agent_id=butler" owns the agent's memories. If the key belongs to one user, all four ids are labels. The
// name of the fact's conversation contains the labels: "mem0?run_id=r1". A fact stored with infer=false also
// has agent_id and app_id as the agent and project of its scope.
//
// Clients get a fact's id. If user_id is the owner, the id ends with "@" and the owner's name, because requests
// for a single memory have no user_id.
package mem0

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// Prefix is the base path under which both of mem0's APIs are served.
const Prefix = "/mem0"

// Options configure the API.
type Options struct {
	MaxTextBytes int           // maximum bytes of a memory
	LearnWait    time.Duration // maximum time that an asynchronous add waits for learning; 0 uses asyncWait
}

type handler struct {
	Options
	engine *engine.Engine
}

type call struct {
	*http.Request
	identity httpx.Identity
	query    url.Values
	body     []byte
	version  string // "v1", "v2" or "v3" of the platform's API; "" for the open-source server's API
	isWrite  bool
}

// operation executes a call and returns the response, before it is encoded as JSON.
type operation func(*call) (any, error)

// New returns the handler of the platform's paths, and of both APIs under [Prefix].
func New(e *engine.Engine, o Options) http.Handler {
	h := &handler{o, e}
	platform, both := http.NewServeMux(), http.NewServeMux()
	for pattern, do := range h.platformHandlers() {
		platform.Handle(pattern, do)
		both.Handle(pattern, do)
	}
	for pattern, do := range h.openSourceHandlers() {
		both.Handle(pattern, do)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		mux := platform
		if isUnderPrefix(r.URL.Path) {
			mux = both
		}
		r = withoutPrefix(r)
		if _, pattern := mux.Handler(r); pattern == "" {
			Refuse(w, r, errNotServed(r))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// platformHandlers returns the handlers for mem0's platform by path.
func (h *handler) platformHandlers() map[string]http.Handler {
	out := map[string]http.Handler{
		"GET /v1/ping":                       readHandler("v1", h.ping),
		"POST /v1/memories":                  writeHandler("v1", h.addMemories),
		"GET /v1/memories":                   readHandler("v1", h.listMemories),
		"DELETE /v1/memories":                writeHandler("v1", h.deleteAll),
		"POST /v2/memories":                  readHandler("v2", h.listMemories),
		"POST /v3/memories":                  readHandler("v3", h.listMemories),
		"POST /v3/memories/add":              writeHandler("v3", h.addMemories),
		"PUT /v1/batch":                      writeHandler("v1", h.updateBatch),
		"DELETE /v1/batch":                   writeHandler("v1", h.deleteBatch),
		"GET /v1/entities":                   readHandler("v1", h.listEntities),
		"POST /v1/feedback":                  writeHandler("v1", h.addFeedback),
		"GET /v1/event/{id}":                 readHandler("v1", h.getAddStatus),
		"GET /v2/entities/user/{id}/profile": readHandler("v2", h.getUserProfile),
		"GET /api/v1/orgs/organizations/{org}/projects/{project}":   readHandler("v1", h.getProject),
		"PATCH /api/v1/orgs/organizations/{org}/projects/{project}": writeHandler("v1", h.changeProject),
	}
	for _, v := range []string{"v1", "v2", "v3"} {
		out["POST /"+v+"/memories/search"] = readHandler(v, h.searchMemories)
		out["GET /"+v+"/memories/{id}"] = readHandler(v, h.getMemory)
		out["PUT /"+v+"/memories/{id}"] = writeHandler(v, h.updateMemory)
		out["DELETE /"+v+"/memories/{id}"] = writeHandler(v, h.deleteMemory)
		out["GET /"+v+"/memories/{id}/history"] = readHandler(v, h.getHistory)
		out["DELETE /"+v+"/entities/{type}/{id}"] = writeHandler(v, h.deleteEntity)
	}
	return out
}

// openSourceHandlers returns the handlers for mem0's open-source server by path.
func (h *handler) openSourceHandlers() map[string]http.Handler {
	return map[string]http.Handler{
		"POST /memories":               writeHandler("", h.addMemories),
		"GET /memories":                readHandler("", h.listMemories),
		"DELETE /memories":             writeHandler("", h.deleteAll),
		"GET /memories/{id}":           readHandler("", h.getMemory),
		"PUT /memories/{id}":           writeHandler("", h.updateMemory),
		"DELETE /memories/{id}":        writeHandler("", h.deleteMemory),
		"GET /memories/{id}/history":   readHandler("", h.getHistory),
		"POST /search":                 readHandler("", h.searchMemories),
		"GET /entities":                readHandler("", h.listEntities),
		"DELETE /entities/{type}/{id}": writeHandler("", h.deleteEntity),
	}
}

// unsupportedPaths lists the paths of mem0's API that Loci does not implement, each with an alternative.
var unsupportedPaths = []struct{ path, sentence string }{
	{"/v1/exports", "Loci has no exports by schema; GET /api/export returns all memory"},
	{"/v1/stats", "GET /api/stats counts memories"},
	{"/v1/summary", "Loci summarizes conversations, not a set of memories"},
	{"/v1/events", "Loci has no list of requests; GET /v1/event/{id} returns one request, GET /api/changes all changes"},
	{"/v2/profiles", "Loci builds profiles automatically, as its settings define"},
	{"/v1/entities", "Loci does not support this operation on entities"},
	{"/v2/entities", "Loci does not support this operation on entities"},
	{"/api/v1/orgs", "Loci has one project without members; only its custom_instructions can be set"},
	{"/api/v1/webhooks", "Loci calls no webhooks"},
	{"/configure", "Loci is configured by its settings file"},
	{"/reset", "Loci has no reset; delete the memories of each user"},
}

// errNotServed is the error for a path without a handler.
func errNotServed(r *http.Request) error {
	for _, a := range unsupportedPaths {
		if isUnder(r.URL.Path, a.path) {
			return errNotImplemented(a.sentence)
		}
	}
	return memory.Errorf(memory.NotFound, "Loci does not implement %s %s of mem0's API", r.Method, httpx.Truncate(r.URL.Path, maxNameBytes))
}

// errNotImplemented is the error for an unsupported feature.
func errNotImplemented(detail string) error {
	return &httpx.Problem{Status: http.StatusNotImplemented, Detail: detail}
}

func isUnder(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '/')
}

// isUnderPrefix reports whether a path is [Prefix] or one of its subpaths.
func isUnderPrefix(path string) bool { return isUnder(path, Prefix) }

// withoutPrefix returns the request without [Prefix] and a trailing slash in its path.
func withoutPrefix(r *http.Request) *http.Request {
	u := *r.URL
	for _, path := range []*string{&u.Path, &u.RawPath} {
		if isUnderPrefix(*path) {
			*path = strings.TrimPrefix(*path, Prefix)
		}
		if *path != "" || path == &u.Path {
			*path = "/" + strings.Trim(*path, "/")
		}
	}
	next := *r
	next.URL = &u
	return &next
}

// readHandler serves operations that only read memory; writeHandler serves operations that change memory.
func readHandler(version string, do operation) http.Handler {
	return operationHandler(version, false, do)
}
func writeHandler(version string, do operation) http.Handler {
	return operationHandler(version, true, do)
}

func operationHandler(version string, isWrite bool, do operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{Request: r, identity: httpx.IdentityOf(r.Context()), query: r.URL.Query(), version: version, isWrite: isWrite}
		if isWrite && c.identity.ReadOnly {
			Refuse(w, r, httpx.ErrReadOnly)
			return
		}
		out, err := c.execute(do)
		if err != nil {
			Refuse(w, r, err)
			return
		}
		httpx.WriteJSON(w, http.StatusOK, out)
	})
}

// execute reads the body and calls do.
func (c *call) execute(do operation) (any, error) {
	body, err := httpx.ReadBody(c.Request)
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(body) || !utf8.ValidString(c.URL.Path) || !utf8.ValidString(c.query.Encode()):
		return nil, memory.Errorf(memory.Invalid, "the request is not valid UTF-8")
	}
	c.body = body
	return do(c)
}

// decode parses the body, a JSON object. An empty body leaves the target unchanged.
func (c *call) decode(target any) error {
	if len(c.body) == 0 {
		return nil
	}
	err := json.Unmarshal(c.body, target)
	var typeErr *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typeErr) && typeErr.Field != "":
		return memory.Errorf(memory.Invalid, "%s: a %s is not valid here", typeErr.Field, typeErr.Value)
	case err != nil:
		return memory.Errorf(memory.Invalid, "the body is not a valid JSON object")
	}
	return nil
}

// Refuse writes an error in mem0's format: {"detail": …}.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := httpx.LogProblem(r.Context(), err)
	maps.Copy(w.Header(), p.GetHeaders())
	httpx.WriteJSON(w, p.Status, map[string]string{"detail": p.Detail})
}

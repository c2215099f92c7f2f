// Package rest is the REST API under /api. Each handler decodes, calls one method of the engine and encodes.
// Package client defines the request and response types, from which /openapi.json is generated.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// Options configure the API.
type Options struct {
	Version string
	MaxBody int64                               // bytes of a request
	Health  func(context.Context) client.Health // state of the server

	Ready func(context.Context) client.Ready // whether the server accepts requests

	Elsewhere []Elsewhere // operations of other APIs, for the OpenAPI document

	Upstream Upstream                     // answers chats; nil: the built-in model
	Model    func(context.Context) string // default model of chats; nil or "": each message must name one

	Doctor func(ctx context.Context, confirm bool) (client.Checkup, error) // checks the server

	// Held lists, for people, where text stored between two times may remain after an erasure; nil: nowhere.
	Held func(since, until time.Time) []string

	Keys *httpx.Keyring // the API keys

	Reload func(context.Context) (client.Reloaded, error) // reloads the settings

	Settings func() []client.Setting // in effect

	Note func(context.Context, memory.AuditEntry) error // writes to the audit record; nil: there is none

	// Backup writes a backup to the path to, and returns its content and size in bytes.
	Backup func(ctx context.Context, to string) (io.ReadCloser, int64, error)
}

// Reads are the paths where POST writes nothing.
var Reads = []string{"/api/memory/search", "/api/memory/preview"}

type handler struct {
	Options
	engine *engine.Engine
}

// New returns the handler of /api, /health, /openapi.json, /docs and unknown paths. The first request other
// than a health check builds the API, which takes milliseconds and megabytes that a chat-only server saves.
func New(e *engine.Engine, opts Options) http.Handler {
	d := &handler{opts, e}
	api := sync.OnceValue(d.api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			w.Header().Set("Cache-Control", "no-store")
		}
		if !d.probe(w, r) {
			api().ServeHTTP(w, r)
		}
	})
}

func (d *handler) api() http.Handler {
	mux := http.NewServeMux()
	api := d.document(mux)
	mux.Handle("GET /docs", docs(api.OpenAPI()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpx.WriteError(w, r, memory.Errorf(memory.NotFound, "no such operation: %s %s; /docs lists all", r.Method, r.URL.Path))
	})
	return checked(mux)
}

// document registers every operation on mux.
func (d *handler) document(mux *http.ServeMux) huma.API {
	config := huma.DefaultConfig("Loci", d.Version)
	config.Info.Description = "Long-term memory for LLM applications. Errors are problem+json; lists have cursors; writes take an Idempotency-Key."
	config.CreateHooks = nil // no $schema fields in answers
	config.DocsPath = ""     // huma's page loads external scripts
	config.SchemasPath = ""
	config.OpenAPIPath = "/openapi"
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[memory.Why](), reflect.TypeFor[map[string]float64]())
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[map[string]any]())
	shapeErrors()
	api := humago.New(mux, config)
	add := adder{api, d.MaxBody}
	for _, operations := range []func(adder){
		d.memoryOperations, d.reviewOperations, d.searchOperations, d.changeOperations, d.learningOperations,
		d.vectorOperations, d.portableOperations, d.serverOperations, d.adminOperations, d.profileOperations, d.contextOperations,
		d.chatOperations, d.shareOperations, d.relatedOperations, d.userOperations, d.talkOperations,
	} {
		operations(add)
	}
	describe(api.OpenAPI(), d.Elsewhere)
	return api
}

// Describe returns the OpenAPI document.
func Describe(opts Options) ([]byte, error) {
	d := &handler{opts, nil} // without an engine: it answers no request
	return json.MarshalIndent(d.document(http.NewServeMux()).OpenAPI(), "", "  ")
}

// shapeErrors makes huma's errors look like all others. huma has this setting once per process.
var shapeErrors = sync.OnceFunc(func() { huma.NewError = newError })

// Limits of what a validation error quotes.
const (
	mostNamed = 10  // problems
	longPlace = 120 // bytes of a field's path, which the client chooses
	longValue = 40  // bytes of a value in the path or the query
)

func newError(status int, message string, errs ...error) huma.StatusError {
	var wrong strings.Builder
	wrong.WriteString(message)
	named := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		if named++; named <= mostNamed {
			wrong.WriteString("; " + detail(err))
		}
	}
	if named > mostNamed {
		fmt.Fprintf(&wrong, "; and %d more", named-mostNamed)
	}
	p := httpx.ProblemOf(memory.Errorf(memory.Invalid, "%s", &wrong))
	p.Title, p.Status = http.StatusText(status), status
	return p
}

// detail describes a validation error. It quotes values of the path and query alone: bodies and headers
// may be large or private.
func detail(err error) string {
	var d *huma.ErrorDetail
	if !errors.As(err, &d) {
		return err.Error()
	}
	message := httpx.Brief(d.Message, 10*longPlace)
	place := httpx.Brief(d.Location, longPlace)
	value, isText := d.Value.(string)
	switch {
	case place == "":
		return message
	case isText && value != "" && (strings.HasPrefix(place, "query.") || strings.HasPrefix(place, "path.")):
		return message + " (" + place + ": " + httpx.Brief(value, longValue) + ")"
	}
	return message + " (" + place + ")"
}

// adder registers operations.
type adder struct {
	api     huma.API
	maxBody int64
}

func operation[I, O any](a adder, method, path, id, summary string, handle func(context.Context, *I) (*O, error), also ...func(*huma.Operation)) {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		MaxBodyBytes:    a.maxBody,
		BodyReadTimeout: -1, // the body is already read; a deadline would abort slow requests
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
			http.StatusConflict, http.StatusRequestEntityTooLarge},
	}
	for _, f := range also {
		f(&op)
	}
	huma.Register(a.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, httpx.Tell(ctx, err)
		}
		return out, nil
	})
}

// created makes 201 the default status of an operation.
func created(op *huma.Operation) { op.DefaultStatus = http.StatusCreated }

// body is a request or response without parameters or headers.
type body[T any] struct{ Body T }

// write is a request to write.
type write[T any] struct {
	Idempotent
	Body T
}

// change is a request to change the item with an id.
type change[T any] struct {
	ByID
	Idempotent
	Body T
}

// answered wraps a handler's result as huma expects it.
func answered[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{v}, nil
}

// caller is the owner whose memory a request uses, and the author of its changes.
type caller struct {
	owner  memory.Owner
	author memory.Author
}

// owned registers an operation on the caller's memory.
func owned[I, T any](a adder, method, path, id, summary string, handle func(context.Context, caller, *I) (T, error), also ...func(*huma.Operation)) {
	operation(a, method, path, id, summary, func(ctx context.Context, in *I) (*body[T], error) {
		by, err := who(ctx)
		if err != nil {
			return nil, err
		}
		return answered(handle(ctx, by, in))
	}, also...)
}

// forAdmin registers an operation for admins. A refusal begins with what.
func forAdmin[I, T any](a adder, method, path, id, summary, what string, handle func(context.Context, *I) (T, error), also ...func(*huma.Operation)) {
	operation(a, method, path, id, summary, func(ctx context.Context, in *I) (*body[T], error) {
		if err := requireAdmin(ctx, what); err != nil {
			return nil, err
		}
		return answered(handle(ctx, in))
	}, also...)
}

// requireAdmin refuses callers that are no admin, with a message that begins with what.
func requireAdmin(ctx context.Context, what string) error {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return memory.Errorf(memory.Forbidden, "%s for admins only", what)
	}
	return nil
}

// viewed converts a result of the engine into the API's type.
func viewed[A, B any](view func(A) B) func(A, error) (B, error) {
	return func(a A, err error) (b B, _ error) {
		if err != nil {
			return b, err
		}
		return view(a), nil
	}
}

// each converts a list. The result of an empty one is not nil, so that JSON has [] and not null.
func each[A, B any](all []A, view func(A) B) []B {
	out := make([]B, 0, len(all))
	for _, a := range all {
		out = append(out, view(a))
	}
	return out
}

// who returns the caller of a request.
func who(ctx context.Context) (caller, error) {
	id := httpx.IdentityOf(ctx)
	if id.Owner == "" {
		return caller{}, memory.Errorf(memory.Unauthorized, "missing user: this server has several users; name one in %s", httpx.HeaderUser)
	}
	return caller{id.Owner, id.Author()}, nil
}

// checked refuses text that is not UTF-8, which decoders would silently repair. It treats every body as
// JSON, whatever its Content-Type: curl's default is a form.
func checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == ImportPath { // checked line by line while it is read
			streamed(w, r, next)
			return
		}
		data, err := httpx.ReadBody(r)
		if err == nil {
			err = checkText(r, data)
		}
		if err != nil {
			httpx.WriteError(w, r, err)
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Body = io.NopCloser(bytes.NewReader(data))
		next.ServeHTTP(w, r)
	})
}

func checkText(r *http.Request, body []byte) error {
	query, err := url.QueryUnescape(r.URL.RawQuery)
	switch {
	case err != nil:
		return memory.Errorf(memory.Invalid, "invalid query string: %v", err)
	case !utf8.ValidString(r.URL.Path), !utf8.ValidString(query):
		return memory.Errorf(memory.Invalid, "the path or the query is not valid UTF-8")
	case !utf8.Valid(body):
		return memory.Errorf(memory.Invalid, "the body is not valid UTF-8")
	}
	return nil
}

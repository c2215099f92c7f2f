// Package rest serves the REST API under /api. Each handler decodes the request, calls one method of the engine
// and encodes the result. Package client defines the types of requests and responses, which also define
// /openapi.json.
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
	MaxBody int64                               // maximum size of a request body in bytes
	Health  func(context.Context) client.Health // returns the server's state

	Ready func(context.Context) client.Ready // reports whether the server accepts requests

	ExternalOperations []ExternalOperation // operations of other APIs, for the OpenAPI document

	Upstream Upstream                     // answers chats; nil uses the built-in model
	Model    func(context.Context) string // default model of chats; if nil or "", each message must name a model

	Doctor func(ctx context.Context, confirm bool) (client.Checkup, error) // checks the server; if confirm is true, also forgets memories whose files were deleted from the vault

	// RemainingCopies lists places, such as backups, that may contain erased text from since to until; may be nil.
	RemainingCopies func(since, until time.Time) []string

	Keys *httpx.Keyring // the API keys

	Reload func(context.Context) (client.Reloaded, error) // reloads the settings

	Settings func() []client.Setting // the settings in effect

	RecordAudit func(context.Context, memory.AuditEntry) error // writes to the audit record; nil records nothing

	// Backup writes a backup to a path and returns the file's content and size in bytes.
	Backup func(ctx context.Context, to string) (io.ReadCloser, int64, error)
}

// ReadOnlyPosts are the paths at which POST requests only read.
var ReadOnlyPosts = []string{"/api/memory/search", "/api/memory/preview"}

type handler struct {
	Options
	engine *engine.Engine
}

// New returns the handler of /api, /health, /openapi.json, /docs and unknown paths. It builds the API at the
// first request that is not a health check, because building takes milliseconds and megabytes.
func New(e *engine.Engine, opts Options) http.Handler {
	d := &handler{opts, e}
	api := sync.OnceValue(d.newMux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			w.Header().Set("Cache-Control", "no-store")
		}
		if !d.serveHealth(w, r) {
			api().ServeHTTP(w, r)
		}
	})
}

func (d *handler) newMux() http.Handler {
	mux := http.NewServeMux()
	api := d.newAPI(mux)
	mux.Handle("GET /docs", docsHandler(api.OpenAPI()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpx.WriteError(w, r, memory.Errorf(memory.NotFound, "no such operation: %s %s; /docs lists all", r.Method, r.URL.Path))
	})
	return requireUTF8(mux)
}

// newAPI registers every operation on mux.
func (d *handler) newAPI(mux *http.ServeMux) huma.API {
	config := huma.DefaultConfig("Loci", d.Version)
	config.Info.Description = "Long-term memory for LLM applications. Errors are problem+json; lists have cursors; writes take an Idempotency-Key."
	config.CreateHooks = nil // no $schema fields in responses
	config.DocsPath = ""     // huma's page loads external scripts
	config.SchemasPath = ""
	config.OpenAPIPath = "/openapi"
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[memory.Why](), reflect.TypeFor[map[string]float64]())
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[map[string]any]())
	setErrorFormat()
	api := humago.New(mux, config)
	add := registrar{api, d.MaxBody}
	for _, operations := range []func(registrar){
		d.addMemoryOperations, d.addReviewOperations, d.addSearchOperations, d.addChangeOperations, d.addLearningOperations,
		d.addVectorOperations, d.addTransferOperations, d.addServerOperations, d.addAdminOperations, d.addProfileOperations, d.addContextOperations,
		d.addChatOperations, d.addShareOperations, d.addRelatedOperations, d.addUserOperations, d.addMessageOperations,
	} {
		operations(add)
	}
	addExternalOperations(api.OpenAPI(), d.ExternalOperations)
	return api
}

// OpenAPIDocument returns the OpenAPI document.
func OpenAPIDocument(opts Options) ([]byte, error) {
	d := &handler{opts, nil} // the engine may be nil, because this handler answers no request
	return json.MarshalIndent(d.newAPI(http.NewServeMux()).OpenAPI(), "", "  ")
}

// setErrorFormat gives huma's errors the format of Loci's errors. huma's setting is global to the process.
var setErrorFormat = sync.OnceFunc(func() { huma.NewError = newHumaError })

// Limits of the text of a validation error.
const (
	maxListedErrors = 10  // maximum number of problems listed
	maxFieldPath    = 120 // maximum bytes of a field's path, because clients choose the path
	maxQuotedValue  = 40  // maximum bytes of a value from the path or the query
)

func newHumaError(status int, message string, errs ...error) huma.StatusError {
	var text strings.Builder
	text.WriteString(message)
	count := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		if count++; count <= maxListedErrors {
			text.WriteString("; " + errorDetail(err))
		}
	}
	if count > maxListedErrors {
		fmt.Fprintf(&text, "; and %d more", count-maxListedErrors)
	}
	p := httpx.ProblemOf(memory.Errorf(memory.Invalid, "%s", &text))
	p.Title, p.Status = http.StatusText(status), status
	return p
}

// errorDetail describes a validation error. It quotes only values from the path and the query: bodies and
// headers may be large or private.
func errorDetail(err error) string {
	var d *huma.ErrorDetail
	if !errors.As(err, &d) {
		return err.Error()
	}
	message := httpx.Truncate(d.Message, 10*maxFieldPath)
	place := httpx.Truncate(d.Location, maxFieldPath)
	value, isText := d.Value.(string)
	switch {
	case place == "":
		return message
	case isText && value != "" && (strings.HasPrefix(place, "query.") || strings.HasPrefix(place, "path.")):
		return message + " (" + place + ": " + httpx.Truncate(value, maxQuotedValue) + ")"
	}
	return message + " (" + place + ")"
}

// registrar registers operations.
type registrar struct {
	api     huma.API
	maxBody int64
}

func register[I, O any](a registrar, method, path, id, summary string, handle func(context.Context, *I) (*O, error), options ...func(*huma.Operation)) {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		MaxBodyBytes:    a.maxBody,
		BodyReadTimeout: -1, // the body is already read, and a deadline would abort slow requests
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
			http.StatusConflict, http.StatusRequestEntityTooLarge},
	}
	for _, f := range options {
		f(&op)
	}
	huma.Register(a.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, httpx.LogProblem(ctx, err)
		}
		return out, nil
	})
}

// withStatusCreated makes 201 the default status of an operation.
func withStatusCreated(op *huma.Operation) { op.DefaultStatus = http.StatusCreated }

// body is a request without parameters or a response without headers.
type body[T any] struct{ Body T }

// writeRequest is a request that writes.
type writeRequest[T any] struct {
	Idempotent
	Body T
}

// changeRequest is a request that changes the memory, chat or context with the path's id.
type changeRequest[T any] struct {
	ByID
	Idempotent
	Body T
}

// wrapBody wraps a handler's result in the struct that huma expects.
func wrapBody[T any](v T, err error) (*body[T], error) {
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

// registerForCaller registers an operation on the caller's memory.
func registerForCaller[I, T any](a registrar, method, path, id, summary string, handle func(context.Context, caller, *I) (T, error), options ...func(*huma.Operation)) {
	register(a, method, path, id, summary, func(ctx context.Context, in *I) (*body[T], error) {
		by, err := callerOf(ctx)
		if err != nil {
			return nil, err
		}
		return wrapBody(handle(ctx, by, in))
	}, options...)
}

// registerForAdmin registers an operation for admins. Other callers get the error message denial.
func registerForAdmin[I, T any](a registrar, method, path, id, summary, denial string, handle func(context.Context, *I) (T, error), options ...func(*huma.Operation)) {
	register(a, method, path, id, summary, func(ctx context.Context, in *I) (*body[T], error) {
		if err := requireAdmin(ctx, denial); err != nil {
			return nil, err
		}
		return wrapBody(handle(ctx, in))
	}, options...)
}

// requireAdmin refuses callers who are not admins, with the error message denial.
func requireAdmin(ctx context.Context, denial string) error {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return memory.Errorf(memory.Forbidden, "%s", denial)
	}
	return nil
}

// mapResult returns a function that converts a result of the engine with view, and passes errors through.
func mapResult[A, B any](view func(A) B) func(A, error) (B, error) {
	return func(a A, err error) (b B, _ error) {
		if err != nil {
			return b, err
		}
		return view(a), nil
	}
}

// mapSlice converts a list. The result is never nil, so that an empty list is [] in JSON, not null.
func mapSlice[A, B any](items []A, view func(A) B) []B {
	out := make([]B, 0, len(items))
	for _, a := range items {
		out = append(out, view(a))
	}
	return out
}

// callerOf returns the caller of the request.
func callerOf(ctx context.Context) (caller, error) {
	id := httpx.IdentityOf(ctx)
	if id.Owner == "" {
		return caller{}, memory.Errorf(memory.Unauthorized, "missing user: this server has several users; name one in %s", httpx.HeaderUser)
	}
	return caller{id.Owner, id.Author()}, nil
}

// requireUTF8 refuses text that is not UTF-8, because decoders would silently replace invalid bytes. It treats
// every body as JSON regardless of the Content-Type, because curl labels JSON as a form by default.
func requireUTF8(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == ImportPath { // the import checks its body line by line
			serveStreamed(w, r, next)
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

// Package rest is the REST API under /api: it decodes, calls one verb of the
// engine, and encodes. What it speaks is defined in package client; the OpenAPI
// document at /openapi.json is made from those types and from the operations
// here. It decides nothing.
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

// Options are what the API needs beside the engine.
type Options struct {
	Version string
	MaxBody int64                               // bytes of a request
	Health  func(context.Context) client.Health // how the server is

	Ready func(context.Context) client.Ready // whether it takes requests

	Elsewhere []Elsewhere // what other APIs answer, for the description alone

	Upstream Upstream                     // answers chats; nil: the built-in model does
	Model    func(context.Context) string // of the upstream, where a message names none; nil or "": it has to

	Doctor func(ctx context.Context, confirm bool) (client.Checkup, error) // what is wrong with it

	// Held is what may still hold words that were there between two times, in words; nil: nothing.
	Held func(since, until time.Time) []string

	Keys *httpx.Keyring // the API keys

	Reload func(context.Context) (client.Reloaded, error) // reads the settings again

	Settings func() []client.Setting // in effect

	Note func(context.Context, memory.AuditEntry) error // puts an act on record; nil: there is no record

	// Backup makes a backup that is kept at to, and returns it with its size in bytes.
	Backup func(ctx context.Context, to string) (io.ReadCloser, int64, error)
}

// Reads are the paths whose POST writes nothing.
var Reads = []string{"/api/memory/search", "/api/memory/preview"}

// handler carries the engine to the handlers.
type handler struct {
	Options
	engine *engine.Engine
}

// New returns the handler of /api, /health, /openapi.json and /docs, and of
// everything that is nowhere else. All but the plain questions for health wait for the
// API to be put together, by the first request that needs it: a few milliseconds and
// megabytes, which a server need not spend that serves chats alone or waits for the first.
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

// api is the whole API.
func (d *handler) api() http.Handler {
	mux := http.NewServeMux()
	api := d.document(mux)
	mux.Handle("GET /docs", docs(api.OpenAPI()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpx.WriteError(w, r, memory.Errorf(memory.NotFound, "there is nothing at %s %s; /docs lists what there is", r.Method, r.URL.Path))
	})
	return checked(mux)
}

// document registers every operation on mux.
func (d *handler) document(mux *http.ServeMux) huma.API {
	config := huma.DefaultConfig("Loci", d.Version)
	config.Info.Description = "Long-term memory for LLM applications. Errors are problem+json; lists have cursors; writes take an Idempotency-Key."
	config.CreateHooks = nil // no $schema fields in answers
	config.DocsPath = ""     // its page loads scripts from elsewhere
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

// Describe returns the OpenAPI description of the API.
func Describe(opts Options) ([]byte, error) {
	d := &handler{opts, nil} // no request is answered
	return json.MarshalIndent(d.document(http.NewServeMux()).OpenAPI(), "", "  ")
}

// shapeErrors gives the framework's own refusals the shape of all others. It takes
// that for the whole process alone.
var shapeErrors = sync.OnceFunc(func() { huma.NewError = newError })

// Bounds of what a refusal names.
const (
	mostNamed = 10  // things that are wrong
	longPlace = 120 // bytes of where that is: names of fields are the client's
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
			wrong.WriteString("; " + nameless(err))
		}
	}
	if named > mostNamed {
		fmt.Fprintf(&wrong, "; and %d more", named-mostNamed)
	}
	p := httpx.ProblemOf(memory.Errorf(memory.Invalid, "%s", &wrong))
	p.Title, p.Status = http.StatusText(status), status
	return p
}

// nameless says what is wrong and where, with a value only of the path or the query:
// bodies and headers are large or nobody's business.
func nameless(err error) string {
	var d *huma.ErrorDetail
	if !errors.As(err, &d) {
		return err.Error()
	}
	said := httpx.Brief(d.Message, 10*longPlace)
	place := httpx.Brief(d.Location, longPlace)
	value, isText := d.Value.(string)
	switch {
	case place == "":
		return said
	case isText && value != "" && (strings.HasPrefix(place, "query.") || strings.HasPrefix(place, "path.")):
		return said + " (" + place + ": " + httpx.Brief(value, longValue) + ")"
	}
	return said + " (" + place + ")"
}

// adder registers operations with what they share.
type adder struct {
	api     huma.API
	maxBody int64
}

func operation[I, O any](a adder, method, path, id, summary string, handle func(context.Context, *I) (*O, error), also ...func(*huma.Operation)) {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		MaxBodyBytes:    a.maxBody,
		BodyReadTimeout: -1, // the body is here; a deadline would end requests that wait longer
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

// created makes 201 the usual answer of an operation.
func created(op *huma.Operation) { op.DefaultStatus = http.StatusCreated }

// body is a request or an answer with a body and nothing else.
type body[T any] struct{ Body T }

// write is a request that writes what its body says.
type write[T any] struct {
	Idempotent
	Body T
}

// change is a request that changes one thing as its body says.
type change[T any] struct {
	ByID
	Idempotent
	Body T
}

// answered is what a handler returns as the framework wants it.
func answered[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{v}, nil
}

// caller is whose memory a request is about, and who asks for it.
type caller struct {
	owner  memory.Owner
	author memory.Author
}

// owned registers an operation on the memory of whoever asks, which answers with a body.
func owned[I, T any](a adder, method, path, id, summary string, handle func(context.Context, caller, *I) (T, error), also ...func(*huma.Operation)) {
	operation(a, method, path, id, summary, func(ctx context.Context, in *I) (*body[T], error) {
		by, err := who(ctx)
		if err != nil {
			return nil, err
		}
		return answered(handle(ctx, by, in))
	}, also...)
}

// forAdmin registers an operation of whoever runs the server. what names it in a refusal.
func forAdmin[I, T any](a adder, method, path, id, summary, what string, handle func(context.Context, *I) (T, error), also ...func(*huma.Operation)) {
	operation(a, method, path, id, summary, func(ctx context.Context, in *I) (*body[T], error) {
		if err := runs(ctx, what); err != nil {
			return nil, err
		}
		return answered(handle(ctx, in))
	}, also...)
}

// runs refuses who does not run the server.
func runs(ctx context.Context, what string) error {
	if httpx.IdentityOf(ctx).Role != httpx.RoleAdmin {
		return memory.Errorf(memory.Forbidden, "%s for whoever runs the server", what)
	}
	return nil
}

// viewed shows what the engine returned as the API does.
func viewed[A, B any](view func(A) B) func(A, error) (B, error) {
	return func(a A, err error) (b B, _ error) {
		if err != nil {
			return b, err
		}
		return view(a), nil
	}
}

// each shows all of a list, as [] and not null where it is empty.
func each[A, B any](all []A, view func(A) B) []B {
	out := make([]B, 0, len(all))
	for _, a := range all {
		out = append(out, view(a))
	}
	return out
}

// who returns whose memory a request is about and who asks for it.
func who(ctx context.Context) (caller, error) {
	id := httpx.IdentityOf(ctx)
	if id.Owner == "" {
		return caller{}, memory.Errorf(memory.Unauthorized, "whose memory? Several users share this server: name one in %s", httpx.HeaderUser)
	}
	return caller{id.Owner, id.Author()}, nil
}

// checked refuses text that is not UTF-8, which decoders would silently mend, and
// takes every body for JSON, whatever a client calls it: curl calls it a form.
func checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == ImportPath { // read line by line, and checked so
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
		return memory.Errorf(memory.Invalid, "the query is not a URL's: %v", err)
	case !utf8.ValidString(r.URL.Path), !utf8.ValidString(query):
		return memory.Errorf(memory.Invalid, "the path or the query is not valid UTF-8")
	case !utf8.Valid(body):
		return memory.Errorf(memory.Invalid, "the body is not valid UTF-8")
	}
	return nil
}

// Package query implements POST /query, the API of the profile "platform" (docs/profiles.md). A request asks a
// question in a session. The response is not streamed and lists the memories used. The upstream model
// describes images and writes the answer.
package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/query"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// traceHeader is the response header with the id of the request's trace, the same in every API.
const traceHeader = "X-Loci-Trace"

// Upstream sends requests to the upstream server, like the Upstream of package proxy.
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// Options configure the API.
type Options struct {
	Upstream Upstream                     // server of the model; nil uses the built-in model
	Model    func(context.Context) string // name of the model that describes images and writes answers; empty means the built-in model
	MaxText  int                          // maximum length of a query in bytes
}

// Handler handles POST /query.
type Handler struct {
	Options
	engine *engine.Engine
}

// BodyTypes returns the types of the request body and the response body, for the OpenAPI document.
func BodyTypes() (in, out reflect.Type) {
	return reflect.TypeFor[request](), reflect.TypeFor[response]()
}

// New returns the handler of POST /query.
func New(e *engine.Engine, opts Options) http.Handler { return &Handler{opts, e} }

// ServeHTTP implements http.Handler.
func (d *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := d.readRequest(r)
	if err != nil {
		httpx.WriteError(w, r, err)
		return
	}
	var write query.Writer
	if d.Upstream != nil && q.Model != "" {
		write = d.upstreamWriter(q.Model, r.Header)
	}
	answer, err := d.engine.Query.Query(r.Context(), q, write)
	if answer.TraceID != "" {
		w.Header().Set(traceHeader, answer.TraceID)
	}
	if err != nil {
		httpx.WriteError(w, r, err)
		return
	}
	body, err := json.Marshal(responseOf(answer))
	if err != nil {
		httpx.WriteError(w, r, fmt.Errorf("encode the response: %w", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have disconnected, so the error has no effect
}

const (
	maxImages    = 8       // maximum number of images in a query
	maxSessionID = 512     // maximum length in bytes of a session id, which becomes a conversation id
	maxLocation  = 1 << 10 // maximum length of the location in bytes
)

// readRequest decodes and validates a request. Errors name the invalid field.
func (d *Handler) readRequest(r *http.Request) (query.Request, error) {
	body, err := httpx.ReadBody(r)
	if err != nil {
		return query.Request{}, err
	}
	if !utf8.Valid(body) {
		return query.Request{}, memory.Errorf(memory.Invalid, "the body is not valid UTF-8")
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return query.Request{}, jsonError(err)
	}
	topK := 0
	if in.TopK != nil {
		topK = *in.TopK
	}
	switch {
	case strings.TrimSpace(in.Query) == "":
		return query.Request{}, memory.Errorf(memory.Invalid, "query: must not be empty")
	case len(in.Query) > d.MaxText:
		return query.Request{}, memory.Errorf(memory.TooLarge, "query: must not be longer than %d bytes", d.MaxText)
	case len(in.SessionID) > maxSessionID:
		return query.Request{}, memory.Errorf(memory.Invalid, "session_id: must not be longer than %d bytes", maxSessionID)
	case in.TopK != nil && (topK < 1 || topK > chatapi.MaxTopK):
		return query.Request{}, memory.Errorf(memory.Invalid, "top_k: must be a number from 1 to %[2]d, not %[1]d", topK, chatapi.MaxTopK)
	case len(in.Images) > maxImages:
		return query.Request{}, memory.Errorf(memory.Invalid, "images: %d images, but at most %d are allowed", len(in.Images), maxImages)
	case len(in.Location) > maxLocation:
		return query.Request{}, memory.Errorf(memory.Invalid, "location: must not be longer than %d bytes", maxLocation)
	}
	owner, err := ownerOf(r.Context(), in.UserID)
	if err != nil {
		return query.Request{}, err
	}
	q := query.Request{
		Owner: owner, SessionID: in.SessionID, Text: in.Query, UseMemory: in.UseMemory == nil || *in.UseMemory, TopK: topK, Location: string(in.Location), Model: d.Model(r.Context()),
		IdempotencyKey: r.Header.Get("Idempotency-Key"),
	}
	for _, image := range in.Images {
		q.Images = append(q.Images, string(image))
	}
	return q, nil
}

// jsonError converts an error of encoding/json to an error for the client.
func jsonError(err error) error {
	var typeError *json.UnmarshalTypeError
	switch {
	case errors.Is(err, memory.Invalid):
		return err
	case errors.As(err, &typeError) && typeError.Field != "":
		return memory.Errorf(memory.Invalid, "%s: must not be a %s", typeError.Field, typeError.Value)
	}
	return memory.Errorf(memory.Invalid, "the body is not a JSON object: %v", err)
}

// ownerOf returns the owner whose memory a query reads: the user in the headers, otherwise user_id if the API
// key may name a user, otherwise the default user.
func ownerOf(ctx context.Context, userID string) (memory.Owner, error) {
	id := httpx.IdentityOf(ctx)
	if id.Owner != "" && id.Owner != memory.User(id.Namespace, httpx.DefaultUser) {
		return id.Owner, nil
	}
	anonymous := id
	anonymous.Owner = ""
	identity, err := anonymous.WithUser(userID)
	if err != nil {
		return "", err
	}
	if identity.Owner != "" {
		return identity.Owner, nil
	}
	return id.Owner, nil
}

// request is the body of POST /query. Unknown fields are ignored.
type request struct {
	Query     string  `json:"query"`
	SessionID string  `json:"session_id" required:"false" doc:"Id of the conversation. Default: a new conversation."`
	UserID    string  `json:"user_id" required:"false" doc:"Name of the user, if the key may name a user."`
	UseMemory *bool   `json:"use_memory" required:"false" doc:"Whether memory is searched. Default: true."`
	TopK      *int    `json:"top_k" required:"false" doc:"Maximum number of similar messages."`
	Images    []image `json:"images" required:"false" doc:"Images as http, https or data URLs. Each is a string, {\"url\": …} or {\"image_url\": {\"url\": …}}."`
	Location  place   `json:"location" required:"false" doc:"The user's location: a text, or an object of texts and numbers."`
}

// image is the URL of an image with the scheme http, https or data. In JSON it is a string or, as in chat
// APIs, {"url": …} or {"image_url": {"url": …}}.
type image string

// UnmarshalJSON implements [json.Unmarshaler].
func (i *image) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		var o struct {
			URL      string
			ImageURL struct{ URL string } `json:"image_url"`
		}
		if err := json.Unmarshal(data, &o); err != nil {
			return memory.Errorf(memory.Invalid, "images: each image must be a URL")
		}
		text = o.URL + o.ImageURL.URL
	}
	if !slices.ContainsFunc([]string{"https://", "http://", "data:image/"}, func(p string) bool { return strings.HasPrefix(text, p) }) {
		return memory.Errorf(memory.Invalid, "images: each URL must begin with https://, http:// or data:image/")
	}
	*i = image(text)
	return nil
}

// place is the user's location. In JSON it is a string, or an object such as {"city": …, "country": …}. The
// keys and values of an object are joined to a text.
type place string

// UnmarshalJSON implements [json.Unmarshaler].
func (p *place) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = place(text)
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var parts []string
	key := ""
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			break
		}
		switch v := token.(type) {
		case json.Delim:
			depth++
			if v == '[' || depth > 2 {
				return memory.Errorf(memory.Invalid, "location: must be a string, or an object of strings and numbers")
			}
		case string:
			if key == "" {
				key = v
				continue
			}
			parts, key = append(parts, key+": "+v), ""
		case nil:
			key = ""
		default:
			if key == "" {
				return memory.Errorf(memory.Invalid, "location: must be a string, or an object of strings and numbers")
			}
			parts, key = append(parts, fmt.Sprintf("%s: %v", key, v)), ""
		}
	}
	*p = place(strings.Join(parts, ", "))
	return nil
}

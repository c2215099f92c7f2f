package chroma

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

const (
	// requestTimeout is the time limit of one request, even for an upsert of a whole batch.
	requestTimeout = 30 * time.Second
	// maxAnswerBytes is the maximum length of an answer in bytes. A page of vectors is the longest answer.
	maxAnswerBytes = 256 << 20
	// firstRetryWait is the wait before the first retry of a write; it doubles with each retry.
	firstRetryWait = 100 * time.Millisecond
	// readTries and writeTries are the maximum numbers of attempts to send a request if there is no
	// answer or a temporary error. All requests are idempotent, so they can be repeated.
	readTries, writeTries = 2, 5
)

// collectionsPath is the URL path of collections on a server without tenants.
const collectionsPath = "/api/v2/tenants/default_tenant/databases/default_database/collections"

// client uses version 2 of Chroma's REST API.
type client struct {
	base string
	key  string
	http *http.Client
}

// errNoCollection means a missing collection, and errNoRecord that the collection has no record with a queried id.
var (
	errNoCollection = errors.New("the collection does not exist")
	errNoRecord     = errors.New("an id is not in the collection")
)

type collection struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Metadata map[string]any `json:"metadata"`
}

// records are records of a collection in columns: entry i of every slice belongs to record i.
type records struct {
	IDs        []string    `json:"ids"`
	Embeddings [][]float32 `json:"embeddings,omitempty"`
	Metadatas  []metadata  `json:"metadatas,omitempty"`
}

// metadata is stored with each record. A vector has only the owner, a mark only the other fields.
type metadata struct {
	Owner       memory.Owner `json:"owner,omitempty"`
	Collection  string       `json:"collection,omitempty"`
	Version     int64        `json:"version,omitempty"`
	Last        string       `json:"last,omitempty"`
	LastVersion int64        `json:"last_version,omitempty"`
}

type selection struct {
	IDs     []string  `json:"ids,omitempty"`
	Where   *metadata `json:"where,omitempty"`
	Limit   int       `json:"limit,omitempty"`
	Offset  int       `json:"offset,omitempty"`
	Include []string  `json:"include"`
}

// openOrCreate returns a collection by name, created with this metadata if missing.
func (c *client) openOrCreate(ctx context.Context, name string, metadata map[string]any) (collection, error) {
	var is collection
	err := c.do(ctx, http.MethodGet, collectionsPath+"/"+url.PathEscape(name), nil, &is, readTries)
	if errors.Is(err, errNoCollection) {
		err = c.do(ctx, http.MethodPost, collectionsPath, map[string]any{
			"name": name, "metadata": metadata, "get_or_create": true,
			"configuration": map[string]any{"hnsw": map[string]any{"space": "cosine", "ef_construction": 200, "ef_search": 400}},
		}, &is, readTries)
	}
	return is, err
}

func (c *client) list(ctx context.Context) (all []collection, err error) {
	for {
		var page []collection
		if err := c.do(ctx, http.MethodGet, fmt.Sprintf("%s?limit=%d&offset=%d", collectionsPath, pageSize, len(all)), nil, &page, readTries); err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < pageSize {
			return all, nil
		}
	}
}

func (c *client) upsert(ctx context.Context, collectionID string, r records) error {
	return c.do(ctx, http.MethodPost, collectionPath(collectionID, "upsert"), r, nil, writeTries)
}

func (c *client) delete(ctx context.Context, collectionID string, s selection) error {
	return c.do(ctx, http.MethodPost, collectionPath(collectionID, "delete"), s, nil, writeTries)
}

func (c *client) get(ctx context.Context, collectionID string, s selection) (r records, err error) {
	return r, c.do(ctx, http.MethodPost, collectionPath(collectionID, "get"), s, &r, readTries)
}

// query returns the ids and cosine distances of the n vectors nearest to question, among those of
// the owner or, if ids is not nil, among ids.
func (c *client) query(ctx context.Context, collectionID string, question []float32, owner memory.Owner, ids []string, n int) ([]string, []float32, error) {
	request := struct {
		Questions [][]float32 `json:"query_embeddings"`
		Most      int         `json:"n_results"`
		selection
	}{[][]float32{question}, n, selection{IDs: ids, Include: []string{"distances"}}}
	if ids == nil { // ids contain the owner; a filter by both takes the server two hundred times as long
		request.Where = &metadata{Owner: owner}
	}
	var found struct {
		IDs       [][]string  `json:"ids"`
		Distances [][]float32 `json:"distances"`
	}
	err := c.do(ctx, http.MethodPost, collectionPath(collectionID, "query"), request, &found, readTries)
	if errors.Is(err, errNoRecord) {
		present, err := c.get(ctx, collectionID, selection{IDs: ids, Include: []string{}})
		if err != nil || len(present.IDs) == 0 {
			return nil, nil, err
		}
		if len(present.IDs) == len(ids) {
			return nil, nil, memory.Errorf(memory.Unavailable, "Chroma lists ids that a query does not find")
		}
		return c.query(ctx, collectionID, question, owner, present.IDs, n)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(found.IDs) != 1 || len(found.Distances) != 1 || len(found.IDs[0]) != len(found.Distances[0]) {
		return nil, nil, memory.Errorf(memory.Unavailable, "Chroma answered a query with %d lists of ids and %d lists of distances, want one of each", len(found.IDs), len(found.Distances))
	}
	return found.IDs[0], found.Distances[0], nil
}

func collectionPath(collectionID, verb string) string {
	return collectionsPath + "/" + collectionID + "/" + verb
}

// do sends a request, at most tries times, until there is an answer other than a temporary error.
func (c *client) do(ctx context.Context, method, path string, in, out any, tries int) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode a request to Chroma: %w", err)
	}
	for wait := firstRetryWait; ; wait *= 2 {
		retry, err := c.doOnce(ctx, method, path, body, out)
		if tries--; err == nil || !retry || tries <= 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// doOnce sends a request once. retry reports whether another attempt may succeed.
func (c *client) doOnce(ctx context.Context, method, path string, body []byte, out any) (retry bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return false, memory.Errorf(memory.Invalid, "chroma.url: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		r.Header.Set("X-Chroma-Token", c.key)
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the URL, which may contain a key
		}
		return ctx.Err() == nil, memory.Errorf(memory.Unavailable, "Chroma does not answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // the body was read or is not needed
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	if err != nil {
		return true, memory.Errorf(memory.Unavailable, "Chroma's answer is incomplete: %w", err)
	}
	if answer.StatusCode >= 300 {
		return statusError(answer.StatusCode, data)
	}
	if out == nil {
		return false, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return false, memory.Errorf(memory.Unavailable, "the server at chroma.url does not answer like version 2 of Chroma's API: %w", err)
	}
	return false, nil
}

// statusError returns the error for an unsuccessful status, and whether to retry.
func statusError(status int, data []byte) (retry bool, err error) {
	var reply struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &reply) != nil || reply.Message == "" {
		reply.Message = strings.TrimSpace(string(data[:min(len(data), 200)]))
	}
	switch {
	case status == http.StatusNotFound && reply.Error == "NotFoundError":
		return false, errNoCollection
	case status == http.StatusInternalServerError && strings.Contains(reply.Message, "Error finding id"):
		return false, errNoRecord
	case status == http.StatusNotFound || status == http.StatusGone:
		return false, memory.Errorf(memory.Unavailable, "the server at chroma.url has no version 2 of Chroma's API (status %d)", status)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return false, memory.Errorf(memory.Unavailable, "Chroma rejects the API key (status %d): see chroma.key", status)
	}
	return status == http.StatusTooManyRequests || status >= 500, memory.Errorf(memory.Unavailable, "Chroma answered %d: %s", status, reply.Message)
}

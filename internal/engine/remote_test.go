package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

// faulty is a server of embeddings without a network, which has a fault now and then.
type faulty struct {
	fault func(r *http.Request, texts []string) (status int, body string, err error)
} // nil: it has none

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, ""
	var in struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	if f.fault != nil {
		var err error
		if status, body, err = f.fault(r, in.Input); err != nil {
			return nil, err
		}
	}
	if body == "" {
		data := make([]string, len(in.Input))
		for i := range data {
			data[i] = fmt.Sprintf(`{"index":%d,"embedding":[1,0]}`, i)
		}
		body = `{"data":[` + strings.Join(data, ",") + `]}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"120"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// remoteRig is an engine with an embedder at a server.
func remoteRig(t *testing.T) (*restarted, *faulty) {
	t.Helper()
	server := &faulty{}
	e := try(llm.NewEmbedder(llm.Options{BaseURL: "http://models.test/v1", Model: "m", Transport: server}, "", "")).orFail(t)
	plain := newRig(t, stores["inmem"])
	return again(t, plain.Store, plain.clock, e), server
}

func hangs(r *http.Request, _ []string) (int, string, error) {
	<-r.Context().Done()
	return 0, "", r.Context().Err()
}

func says(status int, body string) func(*http.Request, []string) (int, string, error) {
	return func(*http.Request, []string) (int, string, error) { return status, body, nil }
}

// Whatever is wrong with the server of an embedder: what is known is found by its words, the trace
// says what was skipped, what is written meanwhile gets its vector afterwards.
func TestNothingIsLostWhileAnEmbedderIsAmiss(t *testing.T) {
	for name, fault := range map[string]func(*http.Request, []string) (int, string, error){
		"nobody is there":    func(*http.Request, []string) (int, string, error) { return 0, "", errors.New("connection refused") },
		"it hangs":           hangs,
		"it refuses the key": says(http.StatusUnauthorized, `{"error":"no"}`),
		"no such model":      says(http.StatusNotFound, `{"error":"no"}`),
		"it refuses all":     says(http.StatusBadRequest, `{"error":"no"}`),
		"asked too often":    says(http.StatusTooManyRequests, `{"error":"no"}`),
		"out of order":       says(http.StatusInternalServerError, `{"error":"no"}`),
		"no number":          says(http.StatusOK, `{"data":[{"index":0,"embedding":[NaN,0]}]}`),
		"too few vectors":    says(http.StatusOK, `{"data":[]}`),
		"no direction":       says(http.StatusOK, `{"data":[{"index":0,"embedding":[0,0]}]}`),
		"a page":             says(http.StatusOK, `<html>`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				r, server := remoteRig(t)
				r.teas(t, 3)
				noError(t)(r.give(ctx))
				server.fault = fault
				r.note(t, ana, "Ana's tea for guests is sencha")
				found, err := r.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "tea"})
				if err != nil || len(found.Hits) != 4 || len(found.Degraded) != 1 || !strings.HasPrefix(found.Degraded[0], "embedder: ") {
					t.Errorf("%d hits, degraded %q, %v; want 4 by words, and that said", len(found.Hits), found.Degraded, err)
				}
				noError(t)(r.give(ctx))
				if is, err := r.Vectors.Progress(ctx, ana); err != nil || is.Lacking != 1 || !is.UnderWay || is.Error == "" {
					t.Errorf("%+v, %v; want a job that waits and says why", is, err)
				}
				server.fault = nil
				time.Sleep(time.Hour)
				r.clock.Advance(time.Hour)
				noError(t)(r.give(ctx))
				if hits, by := r.compared(t, "tea"); hits != 4 || by != 4 {
					t.Errorf("afterwards: %d of %d hits compared by vector, want 4 of 4", by, hits)
				}
			})
		})
	}
}

// A text on which a server breaks costs the others nothing, even in a memory as small as this, which
// is compared by vector only where all have one.
func TestATextThatBreaksAnEmbedderCostsNoOtherItsVector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := remoteRig(t)
		server.fault = func(_ *http.Request, texts []string) (int, string, error) {
			if strings.Contains(strings.Join(texts, ""), "sencha") {
				return http.StatusInternalServerError, `{"error":"json: unsupported value: NaN"}`, nil
			}
			return http.StatusOK, "", nil
		}
		r.teas(t, 3)
		r.note(t, ana, "Ana's tea for guests is sencha")
		noError(t)(r.give(t.Context()))
		if hits, by := r.compared(t, "tea"); hits != 4 || by != 4 {
			t.Errorf("%d of %d hits compared by vector, want 4 of 4", by, hits)
		}
	})
}

// A server that hangs holds up a few chats for the embedder's share of their time, and the next
// ones not at all.
func TestASlowEmbedderHoldsUpFewChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := remoteRig(t)
		r.Opts.Deadline = 400 * time.Millisecond
		r.teas(t, 12)
		server.fault = hangs
		var waited []time.Duration
		for i := range 8 {
			began := time.Now()
			p := r.prepare(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: fmt.Sprintf("Which tea is oolong number %d?", i), Budget: 1000})
			waited = append(waited, time.Since(began))
			synctest.Wait() // the failure is counted
			trace, err := r.Traces.Trace(t.Context(), ana, p.TraceID)
			if err != nil || len(p.Hits) == 0 || len(trace.Degraded) != 1 || !strings.HasPrefix(trace.Degraded[0], "embedder: ") {
				t.Errorf("chat %d: %d hits, degraded %q, %v; want some by words, and that said", i, len(p.Hits), trace.Degraded, err)
			}
		}
		for i, took := range waited {
			if i < 3 && (took == 0 || took > r.Opts.Deadline/2) || i >= 3 && took != 0 {
				t.Errorf("chats waited %v; want three of them for half of the deadline at most, and no other", waited)
				break
			}
		}
	})
}

// While an embedder is away facts are learned and forgotten: words say then what is alike, and
// which turns said what is forgotten.
func TestLearningAndForgettingNeedNoEmbedder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		r, server := remoteRig(t)
		server.fault = hangs
		hear := func(text string, want ...string) {
			t.Helper()
			noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: text}}}))
			job := try(r.Store.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Hour)).orFail(t)
			if _, err := r.handlers()[job.Kind](ctx, job); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := r.facts(t, ana); !slices.Equal(got, want) {
				t.Errorf("%s: known are %q, want %q", text, got, want)
			}
		}
		hear("My sister is called Eva.", "User's sister is named Eva")
		hear("My dog is called Rex.", "User has a dog named Rex", "User's sister is named Eva")
		hear("Forget what my sister is called.", "User has a dog named Rex")
		page := try(r.List(ctx, ana, memory.Query{Kinds: []memory.Kind{memory.KindFact}})).orFail(t)
		noError(t)(r.Curate.Forget(ctx, ana, []string{page.Memories[0].ID()}, "", memory.Author{Kind: memory.ByPerson, Name: "ana"}))
		if got := r.facts(t, ana); len(got) > 0 {
			t.Errorf("forgotten by id, and %q is known", got)
		}
		server.fault = nil
		time.Sleep(time.Hour)
		for _, question := range []string{"What is my sister called?", "What is my dog called?"} {
			if hits, _ := r.compared(t, question); hits != 0 {
				t.Errorf("%s: %d hits, want the turns that said it forgotten, too", question, hits)
			}
		}
	})
}

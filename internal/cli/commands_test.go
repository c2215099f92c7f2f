package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// standIn is a server that answers each "METHOD PATH" with the value it has for
// it, and remembers what it was sent.
type standIn struct {
	*httptest.Server
	answers map[string]any
	got     []string // METHOD PATH BODY
}

func newStandIn(t *testing.T, answers map[string]any) *standIn {
	t.Helper()
	s := &standIn{answers: answers}
	answers["GET /health"] = client.Health{Status: "ok"}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		s.got = append(s.got, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+body.String()))
		v, ok := s.answers[r.Method+" "+r.URL.Path]
		if p, wrong := v.(client.Problem); wrong {
			w.WriteHeader(p.Status)
		} else if !ok {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}))
	t.Cleanup(s.Close)
	return s
}

// loci runs a command line against the server.
func (s *standIn) loci(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := newRootCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append(args, "--addr", strings.TrimPrefix(s.URL, "http://")))
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestAllParkedJobsAreTriedAgainAndNoOthers(t *testing.T) {
	s := newStandIn(t, map[string]any{"GET /api/jobs": client.Jobs{Jobs: []client.Job{
		{ID: "a", State: memory.JobParked}, {ID: "b", State: memory.JobQueued}, {ID: "c", State: memory.JobParked},
	}}})
	out, err := s.loci(t, "jobs", "--all")
	var retried []string
	for _, r := range s.got {
		if strings.HasPrefix(r, "POST") {
			retried = append(retried, r)
		}
	}
	if want := []string{"POST /api/jobs/a/retry", "POST /api/jobs/c/retry"}; err != nil || !slices.Equal(retried, want) {
		t.Errorf("sent %q, %v; want %q", retried, err, want)
	}
	if !strings.HasPrefix(out, "queued again: a\nqueued again: c\n") {
		t.Errorf("printed %s", out)
	}
	s.got = nil
	if _, err := s.loci(t, "jobs", "--retry", "b"); err != nil || !slices.Contains(s.got, "POST /api/jobs/b/retry") {
		t.Errorf("sent %q, %v; want a try of b", s.got, err)
	}
}

func TestReviewGoesOnWhereSomebodyElseWasQuicker(t *testing.T) {
	s := newStandIn(t, map[string]any{
		"GET /api/review": client.Review{Waiting: []client.Waiting{
			{Memory: client.Memory{ID: "f1", Content: "User likes tea"}}, {Memory: client.Memory{ID: "f2", Content: "User likes rain"}},
		}},
		"POST /api/review": client.Problem{Title: "Conflict", Status: 409, Detail: "f1 is active", Code: memory.Conflict},
	})
	var out bytes.Buffer
	c := client.New(s.URL, client.Options{})
	page := try(pendingFacts(context.Background(), c)).orFail(t)
	noError(t)(askForJudgements(context.Background(), c, strings.NewReader("a\nR\n"), printer{Writer: &out}, page))
	for _, want := range []string{"the decision was not applied: f1 is active", "0 decided, 2 pending"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed %s, want %q in it", out.String(), want)
		}
	}
	if want := `POST /api/review {"judgements":[{"id":"f2","action":"reject"}]}`; !slices.Contains(s.got, want) {
		t.Errorf("sent %q, want %s among it", s.got, want)
	}
}

func TestQuittingAReviewDecidesNothingMore(t *testing.T) {
	s := newStandIn(t, map[string]any{"GET /api/review": client.Review{Waiting: []client.Waiting{
		{Memory: client.Memory{ID: "f1"}}, {Memory: client.Memory{ID: "f2"}},
	}}})
	var out bytes.Buffer
	c := client.New(s.URL, client.Options{})
	page, _ := pendingFacts(context.Background(), c)
	noError(t)(askForJudgements(context.Background(), c, strings.NewReader("q\na\n"), printer{Writer: &out}, page))
	if strings.Contains(out.String(), "2 of 2") || !strings.Contains(out.String(), "0 decided, 2 pending") || len(s.got) != 1 {
		t.Errorf("printed %s and sent %q; want nothing after quitting", out.String(), s.got)
	}
	nobody, hangUp := io.Pipe() // a terminal at which nobody answers
	defer hangUp.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := askForJudgements(ctx, c, nobody, printer{Writer: &out}, page); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v, want that it ends", err)
	}
}

func TestMoreDecisionsThanOneRequestTakesAreSentInParts(t *testing.T) {
	var all []client.Waiting
	for i := range maxJudgements + 1 {
		all = append(all, client.Waiting{Memory: client.Memory{ID: fmt.Sprint("f", i)}})
	}
	s := newStandIn(t, map[string]any{
		"GET /api/review":  client.Review{Waiting: all},
		"POST /api/review": client.Reviewed{Receipt: client.Receipt{Run: "r"}},
	})
	noError(t)(s.loci(t, "review", "--all-approve", "--reject", "f7"))
	sent := 0
	for _, r := range s.got {
		if body, ok := strings.CutPrefix(r, "POST /api/review "); ok {
			sent++
			if strings.Contains(body, `"f7","action":"approve"`) {
				t.Error("f7 is approved, though the command line rejects it")
			}
		}
	}
	if sent != 2 {
		t.Errorf("%d requests, want 2", sent)
	}
}

func TestSharedFactIsAcceptedAsItIs(t *testing.T) {
	s := newStandIn(t, map[string]any{
		"GET /api/review": client.Review{Waiting: []client.Waiting{{
			Memory: client.Memory{ID: "f1", Content: "The gate is red", Home: "default/user/ana"}, Reason: "shared by user/ana",
			Conflicts: []client.Memory{{ID: "f2", Content: "The gate is not red"}},
		}}},
		"POST /api/review": client.Reviewed{Memories: []client.Memory{{ID: "f1", Content: "The gate is red", Status: memory.Active}}},
	})
	var out bytes.Buffer
	c := client.New(s.URL, client.Options{})
	page := try(pendingFacts(context.Background(), c)).orFail(t)
	noError(t)(askForJudgements(context.Background(), c, strings.NewReader("e\na\n"), printer{Writer: &out}, page))
	for _, want := range []string{"shared by user/ana", "against", "The gate is not red", "a accept, r reject, s skip, q quit", "1 decided"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed %s, want %q in it", out.String(), want)
		}
	}
	if strings.Contains(out.String(), "better words") {
		t.Errorf("printed %s, want no question for other words", out.String())
	}
	if want := `POST /api/review {"judgements":[{"id":"f1","action":"approve","seen":"The gate is red"}]}`; !slices.Contains(s.got, want) {
		t.Errorf("sent %q, want %s among it", s.got, want)
	}
}

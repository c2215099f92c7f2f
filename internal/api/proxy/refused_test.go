package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const (
	rolesRefusal  = `{"error":{"message":"System message must be at the beginning.","type":"BadRequestError","code":400}}`
	lengthRefusal = `{"error":{"message":"This model's maximum context length is 8192 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`
	otherRefusal  = `{"error":{"message":"something is odd"}}`
)

// template is an upstream that refuses requests with memory unless they fit.
type template struct {
	status  int
	refusal string
	fits    func(body string) bool // nil: no request with memory in a separate place
	got     []string
}

func (u *template) Do(_ context.Context, _, _ string, _ http.Header, body io.Reader) (*http.Response, error) {
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	sent := string(b)
	u.got = append(u.got, sent)
	fits := !strings.Contains(sent, "<loci-memory>") || strings.Contains(sent, `Current message: `)
	if u.fits != nil {
		fits = u.fits(sent)
	}
	w := httptest.NewRecorder()
	if fits {
		says("Hello!")(w, nil)
	} else {
		sends(u.status, u.refusal, "Content-Type", "application/json")(w, nil)
	}
	return w.Result(), nil
}

func (u *template) asked() []string {
	got := u.got
	u.got = nil
	return got
}

// templated returns a proxy for such an upstream, with a clock for the test.
func templated(t *testing.T, u *template) (r *rig, clock *time.Time, log *bytes.Buffer) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	log = new(bytes.Buffer)
	r = newRig(t, func(s *setup) {
		s.upstream, s.now, s.log = u, func() time.Time { return at }, slog.New(slog.NewTextHandler(log, nil))
	})
	for i := range 8 {
		r.know(fmt.Sprintf("User has a cat called Ünal%d", i))
	}
	return r, &at, log
}

func (r *rig) degraded(w *httptest.ResponseRecorder) string {
	r.t.Helper()
	trace := try(r.engine.Traces.Trace(context.Background(), nobody, w.Header().Get(HeaderTrace))).orFail(r.t)
	return strings.Join(trace.Degraded, "\n")
}

// TestRolesRefusedMoveMemoryForADay covers an error about roles: it moves a model's memory for a day, and log,
// health and traces report that.
func TestRolesRefusedMoveMemoryForADay(t *testing.T) {
	for _, status := range []int{400, 413, 422, 500} { // llama.cpp answers 500
		u := &template{status: status, refusal: rolesRefusal}
		r, clock, log := templated(t, u)
		body := ask("What is my cat called?")
		w := r.serve(body)
		if got := u.asked(); len(got) != 2 || got[1] != body || w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"memory_hits":[]`) {
			t.Fatalf("status %d: asked %q, answered %d %s; want the client's bytes the second time", status, got, w.Code, w.Body)
		}
		if reason := r.degraded(w); !strings.Contains(reason, fmt.Sprintf("status %d", status)) || !strings.Contains(reason, "roles") {
			t.Errorf("status %d: the trace says %q", status, reason)
		}
		for range 3 {
			w = r.serve(body)
			if got := u.asked(); len(got) != 1 || !strings.Contains(got[0], `\n\nCurrent message: What is my cat called?"`) {
				t.Fatalf("status %d: asked %q, want memory in the user's message", status, got)
			}
		}
		if reason := r.degraded(w); !strings.Contains(reason, "user's message") {
			t.Errorf("status %d: the trace of a later request says %q", status, reason)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "model=m") {
			t.Errorf("status %d: the log has %d warnings: %s", status, n, log)
		}
		moved := r.door.StrictModels()
		if len(moved) != 1 || moved[0].Model != "m" || moved[0].Path != chatPath || !moved[0].Until.Equal(clock.Add(24*time.Hour)) {
			t.Errorf("status %d: moved %+v", status, moved)
		}
		r.serve(strings.Replace(body, `"m"`, `"other"`, 1))
		if got := u.asked(); len(got) != 2 {
			t.Errorf("status %d: another model was asked %d times, want twice", status, len(got))
		}
		*clock = clock.Add(24 * time.Hour)
		if moved := r.door.StrictModels(); len(moved) != 0 {
			t.Errorf("status %d: a day later there is %+v", status, moved)
		}
		if r.serve(body); !strings.Contains(u.asked()[0], `"role":"system"`) {
			t.Errorf("status %d: a day later memory still goes into the user's message", status)
		}
	}
}

// TestOtherRefusalsMoveNothing covers prompts that are too long, or refused for other reasons.
func TestOtherRefusalsMoveNothing(t *testing.T) {
	for _, refusal := range []string{otherRefusal, lengthRefusal, "", "<html>", `{"error":{"message":"no","messages":["roles must alternate"]}}`} {
		for _, status := range []int{400, 413, 422} {
			u := &template{status: status, refusal: refusal}
			r, _, log := templated(t, u)
			body := ask("What is my cat called?")
			for range 2 {
				w := r.serve(body)
				got := u.asked()
				if w.Code != http.StatusOK || !strings.Contains(got[0], `"role":"system"`) || got[len(got)-1] != body {
					t.Errorf("status %d %s: asked %q, answered %d", status, refusal, got, w.Code)
				}
				if reason := r.degraded(w); !strings.Contains(reason, fmt.Sprintf("status %d", status)) {
					t.Errorf("status %d %s: the trace says %q", status, refusal, reason)
				}
			}
			if moved := r.door.StrictModels(); len(moved) != 0 || strings.Contains(log.String(), "WARN") {
				t.Errorf("status %d %s: moved %+v, log %s", status, refusal, moved, log)
			}
		}
	}
}

// TestClientsOwnRefusalMovesNothing covers requests that the upstream refuses without memory too. The client
// must get the whole error.
func TestClientsOwnRefusalMovesNothing(t *testing.T) {
	u := &template{status: 400, refusal: rolesRefusal, fits: func(string) bool { return false }}
	r, _, _ := templated(t, u)
	for range 2 {
		w := r.serve(ask("What is my cat called?"))
		if got := u.asked(); len(got) != 2 || w.Code != 400 || w.Body.String() != rolesRefusal {
			t.Errorf("asked %d times, got %d %s", len(got), w.Code, w.Body)
		}
	}
	if moved := r.door.StrictModels(); len(moved) != 0 {
		t.Errorf("moved %+v", moved)
	}
}

// TestLengthRefusedShrinksTheBlock expects half of the memory before none.
func TestLengthRefusedShrinksTheBlock(t *testing.T) {
	u := &template{status: 400, refusal: lengthRefusal}
	r, _, _ := templated(t, u)
	cats := func(s string) int { return strings.Count(s, "Ünal") }
	u.fits = func(body string) bool { return cats(body) < 8 }
	w := r.serve(ask("What is my cat called?"))
	got := u.asked()
	if len(got) != 2 || cats(got[0]) != 8 || cats(got[1]) < 2 || cats(got[1]) > 5 || !strings.Contains(got[1], `"role":"system"`) {
		t.Fatalf("asked %q, want some half of the memories the second time", got)
	}
	if n := strings.Count(w.Body.String(), `"kind":"fact"`); w.Code != http.StatusOK || n != cats(got[1]) {
		t.Errorf("answered %d %s, want the %d hits that were in the prompt", w.Code, w.Body, cats(got[1]))
	}
	if reason := r.degraded(w); !strings.Contains(reason, "too long") {
		t.Errorf("the trace says %q", reason)
	}
	trace, err := r.engine.Traces.Trace(context.Background(), nobody, w.Header().Get(HeaderTrace))
	if err != nil || cats(trace.Block) != cats(got[1]) {
		t.Errorf("the trace has the block %q, %v", trace.Block, err)
	}

	u.fits = func(body string) bool { return cats(body) == 0 }
	w = r.serve(ask("Which cats have I?"))
	if got := u.asked(); len(got) != 3 || got[2] != ask("Which cats have I?") || w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"memory_hits":[]`) {
		t.Errorf("asked %q, answered %s; want half, then none", got, w.Body)
	}
}

// TestShrunkBlockStaysInItsToolLoop expects the accepted bytes in each step of a loop.
func TestShrunkBlockStaysInItsToolLoop(t *testing.T) {
	u := &template{status: 400, refusal: lengthRefusal, fits: func(body string) bool { return strings.Count(body, "Ünal") < 8 }}
	r, _, _ := templated(t, u)
	const head = `{"model":"m","messages":[{"role":"user","content":"What does my cat weigh?"}`
	r.serve(head + `]}`)
	asked := u.asked()
	first, ok := insertion(head+`]}`, asked[len(asked)-1])
	if len(asked) != 2 || !ok {
		t.Fatalf("asked %q, want a smaller block the second time", asked)
	}
	step := head + `,{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"4"}]}`
	r.serve(step)
	got := u.asked()
	if second, ok := insertion(step, got[0]); len(got) != 1 || !ok || second != first {
		t.Errorf("the blocks of the steps:\n%s\n%s\nwant the same, asked once", first, second)
	}
}

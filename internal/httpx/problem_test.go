package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// problemIn reads the problem that a request was answered with.
func problemIn(t *testing.T, w *httptest.ResponseRecorder) *Problem {
	t.Helper()
	got := &Problem{}
	if err := json.Unmarshal(w.Body.Bytes(), got); err != nil || w.Header().Get("Content-Type") != ProblemType {
		t.Fatalf("%s, as %s: %v; want a problem", w.Body, w.Header().Get("Content-Type"), err)
	}
	return got
}

func TestEveryCodeSurvivesTheWire(t *testing.T) {
	codes := []memory.Code{
		memory.Invalid, memory.NotFound, memory.Conflict, memory.Duplicate, memory.Gone,
		memory.LeaseLost, memory.Unauthorized, memory.Forbidden, memory.TooLarge, memory.Unavailable,
	}
	if len(codes) != len(statuses) {
		t.Errorf("%d codes are tested, the table has %d", len(codes), len(statuses))
	}
	for _, code := range codes {
		sent := fmt.Errorf("open the door: %w", memory.Errorf(code, "because of %s", "this"))
		w := httptest.NewRecorder()
		WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), sent)
		got := problemIn(t, w)
		if !errors.Is(got, code) || got.Error() != sent.Error() {
			t.Errorf("%s: sent %q, came back as %v with status %d", code, sent, got, w.Code)
		}
		if w.Code < 400 || w.Code == 500 {
			t.Errorf("%s: status %d", code, w.Code)
		}
	}
}

func TestUncodedErrorsKeepTheirText(t *testing.T) {
	w := httptest.NewRecorder()
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), errors.New("SELECT secrets"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "SELECT") {
		t.Errorf("status %d, body %s; want a 500 without the error's text", w.Code, w.Body)
	}
	if got := problemIn(t, w); got.Code != "" {
		t.Errorf("got code %s, want none", got.Code)
	}
}

func TestAProblemIsShortWhateverWasSent(t *testing.T) {
	w := httptest.NewRecorder()
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), memory.Errorf(memory.Invalid, "kind: %q is none", strings.Repeat("ä", 1<<20)))
	if got := problemIn(t, w); w.Body.Len() > 2*maxDetail || !errors.Is(got, memory.Invalid) || !strings.HasPrefix(got.Error(), `kind: "ää`) || !strings.HasSuffix(got.Error(), "ä…") {
		t.Errorf("%d bytes: %.300s", w.Body.Len(), got)
	}
}

func TestErrorsOfTheStandardLibrary(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
	}{
		{&http.MaxBytesError{Limit: 5}, 413},
		{fmt.Errorf("recall: %w", context.DeadlineExceeded), 503},
		{memory.Errorf(memory.NotFound, "late: %w", memory.Errorf(memory.Gone, "x")), 404},
	} {
		if got := ProblemOf(tt.err).Status; got != tt.status {
			t.Errorf("ProblemOf(%v).Status = %d, want %d", tt.err, got, tt.status)
		}
	}
	inner := ProblemOf(memory.Errorf(memory.Conflict, "x"))
	if got := ProblemOf(fmt.Errorf("again: %w", inner)); got != inner {
		t.Errorf("a problem became another: %+v", got)
	}
	if !errors.Is(inner, memory.Conflict) || inner.GetStatus() != 409 || inner.ContentType("application/json") != ProblemType {
		t.Errorf("problem %+v", inner)
	}
}

func TestCheckListen(t *testing.T) {
	for _, tt := range []struct {
		addr   string
		hasKey bool
		want   error
	}{
		{"127.0.0.1:7077", false, nil},
		{"127.1.2.3:0", false, nil},
		{"localhost:7077", false, nil},
		{"[::1]:7077", false, nil},
		{"0.0.0.0:7077", false, memory.Forbidden},
		{"[::]:7077", false, memory.Forbidden},
		{":7077", false, memory.Forbidden},
		{"192.0.2.1:7077", false, memory.Forbidden},
		{"memory.example.org:7077", false, memory.Forbidden},
		{"localhost.example.org:7077", false, memory.Forbidden},
		{"0.0.0.0:7077", true, nil},
		{":7077", true, nil},
		{"7077", false, memory.Invalid},
		{"", true, memory.Invalid},
	} {
		err := CheckListen(tt.addr, tt.hasKey)
		if !errors.Is(err, tt.want) {
			t.Errorf("CheckListen(%q, %v) = %v, want %v", tt.addr, tt.hasKey, err, tt.want)
		}
		if tt.want == memory.Forbidden && !strings.Contains(err.Error(), "LOCI_API_KEY") {
			t.Errorf("CheckListen(%q) does not say what to set: %v", tt.addr, err)
		}
	}
}

func TestPathValue(t *testing.T) {
	for v, ok := range map[string]bool{"0197-abc": true, "": false, strings.Repeat("a", maxPathValue+1): false, "a\xff": false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("id", v)
		got, err := PathValue(r, "id")
		if ok != (err == nil) || (ok && got != v) || (!ok && !errors.Is(err, memory.Invalid)) {
			t.Errorf("PathValue(%q) = %q, %v; want ok %v", v, got, err, ok)
		}
	}
}

func TestServerHoldsOffSlowClients(t *testing.T) {
	s := NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout == 0 || s.IdleTimeout == 0 || s.WriteTimeout != 0 {
		t.Errorf("header %v, idle %v, write %v; want limits on the first two alone", s.ReadHeaderTimeout, s.IdleTimeout, s.WriteTimeout)
	}
}

// TestAFullDiskIsNamed tells a client that there is no room, and not where.
func TestAFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	p := ProblemOf(fmt.Errorf("back up: %w", &fs.PathError{Op: "write", Path: "/var/lib/loci/x", Err: syscall.ENOSPC}))
	if p.Status != http.StatusServiceUnavailable || p.Code != memory.Unavailable || p.Detail != "no space is left on Loci's disk" {
		t.Errorf("a full disk is told as %+v", p)
	}
}

package httpx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci/memory"
)

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
		got := ReadError(w.Result())
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
	if err := ReadError(w.Result()); err == nil || errors.Is(err, memory.Invalid) || errors.Is(err, memory.Unavailable) {
		t.Errorf("read back %v; want an error without a code", err)
	}
}

func TestAProblemIsShortWhateverWasSent(t *testing.T) {
	w := httptest.NewRecorder()
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), memory.Errorf(memory.Invalid, "kind: %q is none", strings.Repeat("ä", 1<<20)))
	if got := ReadError(w.Result()); w.Body.Len() > 2*maxDetail || !errors.Is(got, memory.Invalid) || !strings.HasPrefix(got.Error(), `kind: "ää`) || !strings.HasSuffix(got.Error(), "ä…") {
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

func TestReadErrorOfStrangers(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, body string
		status                  int
		code                    memory.Code
		says                    string
	}{
		{"gateway's page", "text/html", "<html>\n<p>long</p>", 502, memory.Unavailable, "502"},
		{"empty", "", "", 404, memory.NotFound, "404"},
		{"broken problem", ProblemType, `{"detail":`, 400, memory.Invalid, "400"},
		{"problem without a code", ProblemType, `{"title":"x","detail":"slow down","status":429}`, 429, memory.Unavailable, "slow down"},
		{"teapot", "text/plain", "short and stout", 418, memory.Invalid, "short and stout"},
		{"own failure", "text/plain", "oops", 500, "", "oops"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := &http.Response{
				StatusCode: tt.status, Status: fmt.Sprintf("%d %s", tt.status, http.StatusText(tt.status)),
				Header: http.Header{"Content-Type": {tt.contentType}}, Body: io.NopCloser(strings.NewReader(tt.body)),
			}
			err := ReadError(resp)
			if err == nil || !strings.Contains(err.Error(), tt.says) || (tt.code != "" && !errors.Is(err, tt.code)) {
				t.Errorf("%v; want %q saying %q", err, tt.code, tt.says)
			}
		})
	}
	if err := ReadError(&http.Response{StatusCode: 204}); err != nil {
		t.Errorf("204 is an error: %v", err)
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

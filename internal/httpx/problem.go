package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// ProblemType is the media type of an error (RFC 9457).
const ProblemType = "application/problem+json"

// Problem is an error as HTTP tells it. It satisfies the error contract of the
// REST framework, so that generated routes and hand-written ones answer alike.
type Problem struct {
	Type   string      `json:"type,omitempty" doc:"A URI that names the kind of problem; about:blank where the status says it all."`
	Title  string      `json:"title" doc:"The status in words."`
	Status int         `json:"status" doc:"The HTTP status."`
	Detail string      `json:"detail,omitempty" doc:"What is wrong with this request and what would be right."`
	Code   memory.Code `json:"code,omitempty" doc:"The kind of error, for programs."`

	retry time.Duration // when to try again; 0: it does not say
	limit string        // the setting whose limit a request is over
}

// statuses is the one table from memory's codes to HTTP.
var statuses = []struct {
	code   memory.Code
	status int
}{
	{memory.Invalid, http.StatusBadRequest},
	{memory.Unauthorized, http.StatusUnauthorized},
	{memory.Forbidden, http.StatusForbidden},
	{memory.NotFound, http.StatusNotFound},
	{memory.Conflict, http.StatusConflict},
	{memory.Duplicate, http.StatusConflict},
	{memory.LeaseLost, http.StatusConflict},
	{memory.Gone, http.StatusGone},
	{memory.TooLarge, http.StatusRequestEntityTooLarge},
	{memory.Unavailable, http.StatusServiceUnavailable},
}

// internalDetail is all that a client is told of an error without a code: its
// text may hold what is nobody's business.
const internalDetail = "something went wrong inside Loci; its log says what, under this request's id"

// ProblemOf returns the problem that tells err. Errors without a code of memory
// are 500 and keep their text to themselves.
func ProblemOf(err error) *Problem {
	var tooLarge *http.MaxBytesError
	var problem *Problem
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, memory.TooLarge, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, memory.Unavailable, "it took too long; try again")
	case errors.Is(err, syscall.ENOSPC) && !errors.Is(err, memory.Unavailable):
		return newProblem(http.StatusServiceUnavailable, memory.Unavailable, "no space is left on Loci's disk")
	}
	for _, s := range statuses {
		if errors.Is(err, s.code) {
			return newProblem(s.status, s.code, err.Error())
		}
	}
	return newProblem(http.StatusInternalServerError, "", internalDetail)
}

// maxDetail bounds what a problem says, in bytes. What is wrong is named in it, and a
// client may have sent megabytes of that.
const maxDetail = 2000

// layouts are what libraries say of a text that is not a time: the layout of package time means
// nothing to a client.
var layouts = lazy.Compile(`parsing time "\\?"?(.*?)\\?"?" as "\\?"?2006-.*|invalid date/time for format 2006-\S+`)

func newProblem(status int, code memory.Code, detail string) *Problem {
	detail = layouts.ReplaceAllString(detail, `invalid time (example: 2026-05-03T14:00:00Z)`)
	return &Problem{Title: http.StatusText(status), Status: status, Detail: Brief(detail, maxDetail), Code: code}
}

// Brief returns s, or where that has more than n bytes its beginning with an ellipsis.
func Brief(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// Is reports whether target is the problem's code.
func (p *Problem) Is(target error) bool { return p.Code != "" && target == p.Code }

// GetHeaders returns the headers that go with the problem.
func (p *Problem) GetHeaders() http.Header {
	if p.retry == 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(int((p.retry + time.Second - 1) / time.Second))}}
}

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type a problem is sent as.
func (p *Problem) ContentType(string) string { return ProblemType }

// Tell returns the problem that tells err, and logs what the client is not told.
func Tell(ctx context.Context, err error) *Problem {
	p := ProblemOf(err)
	if p.Status == http.StatusInternalServerError && ctx.Err() == nil {
		st := stateOf(ctx)
		st.log.Error("request failed", "request", st.id, "door", st.door, "error", err)
	}
	return p
}

// WriteError answers a request with what [Tell] says of err. It must come before
// anything else is written.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	p := Tell(r.Context(), err)
	header := w.Header()
	header.Set("Content-Type", ProblemType)
	header.Set("Cache-Control", "no-store")
	header.Del("Content-Length")
	header.Del("Content-Encoding")
	maps.Copy(header, p.GetHeaders())
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="loci"`)
	}
	w.WriteHeader(p.Status)
	// The status is out; a client that is gone is not an error of ours.
	_ = json.NewEncoder(w).Encode(p)
}

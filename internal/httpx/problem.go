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

// Problem is an error response (RFC 9457). It implements the error interface of the REST framework huma, so that
// all routes return the same errors.
type Problem struct {
	Type   string      `json:"type,omitempty" doc:"A URI that names the kind of problem; about:blank if the status is sufficient."`
	Title  string      `json:"title" doc:"The name of the status."`
	Status int         `json:"status" doc:"The HTTP status."`
	Detail string      `json:"detail,omitempty" doc:"What is wrong with this request, and what would be valid."`
	Code   memory.Code `json:"code,omitempty" doc:"The kind of error, for programs."`

	retryAfter      time.Duration // value of Retry-After; 0 omits the header
	exceededSetting string        // setting of the limit that the request exceeds; "" for other problems
}

// statuses maps memory's error codes to HTTP status codes.
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

// internalDetail is the text of the response to an error without a code, because the error's text may be private.
const internalDetail = "internal error; Loci's log has the details under this request's id"

// ProblemOf returns the problem for an error. An error without a code of package memory gets the status 500 and
// the text internalDetail.
func ProblemOf(err error) *Problem {
	var tooLarge *http.MaxBytesError
	var problem *Problem
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, memory.TooLarge, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, memory.Unavailable, "the request took too long; try again")
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

// maxDetail is the maximum length in bytes of a problem's text, which may quote megabytes of invalid data.
const maxDetail = 2000

// timeErrors matches libraries' errors about invalid times, because clients do not know Go's time layouts.
var timeErrors = lazy.Compile(`parsing time "\\?"?(.*?)\\?"?" as "\\?"?2006-.*|invalid date/time for format 2006-\S+`)

func newProblem(status int, code memory.Code, detail string) *Problem {
	detail = timeErrors.ReplaceAllString(detail, `invalid time (example: 2026-05-03T14:00:00Z)`)
	return &Problem{Title: http.StatusText(status), Status: status, Detail: Truncate(detail, maxDetail), Code: code}
}

// Truncate returns s or, if s has more than n bytes, the first n bytes with an ellipsis.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// Is reports whether target is the problem's code.
func (p *Problem) Is(target error) bool { return p.Code != "" && target == p.Code }

// GetHeaders returns the response headers for the problem.
func (p *Problem) GetHeaders() http.Header {
	if p.retryAfter == 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(int((p.retryAfter + time.Second - 1) / time.Second))}}
}

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of a problem.
func (p *Problem) ContentType(string) string { return ProblemType }

// LogProblem returns the problem for an error, and logs an internal error with the details that the problem omits.
func LogProblem(ctx context.Context, err error) *Problem {
	p := ProblemOf(err)
	if p.Status == http.StatusInternalServerError && ctx.Err() == nil {
		st := stateOf(ctx)
		st.log.Error("request failed", "request", st.id, "door", st.endpoint, "error", err)
	}
	return p
}

// WriteError responds to a request with the result of [LogProblem]. Call it before writing anything else.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	p := LogProblem(r.Context(), err)
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
	// the status is already sent, and the client may have disconnected
	_ = json.NewEncoder(w).Encode(p)
}

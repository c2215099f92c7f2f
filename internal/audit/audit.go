// Package audit records security-relevant actions: sign-ins, changes of keys, admins' actions in
// other users' memory, exports, erasures, changes of settings, and refused keys. The record
// contains names and ids, never a memory's text. An action that cannot be recorded is not performed.
package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// These actions are recorded by several packages. Other packages define their own actions.
const (
	Read       = "read memory"  // an admin read another user's memory
	Write      = "write memory" // an admin changed another user's memory
	KeyRefused = "key refused"  // a request had a wrong key
)

// repeatInterval is the time in which repeated accesses by an admin to the same user's memory, or wrong
// keys from the same address, get only one entry. It is also the interval at which Run deletes entries.
const repeatInterval = time.Hour

// Log is the audit record of a namespace. A nil Log records nothing.
type Log struct {
	store    memory.Audit
	now      func() time.Time
	log      *slog.Logger
	lastSeen recent.Map[string, time.Time]
}

// New returns a Log that writes to store.
func New(store memory.Audit, now func() time.Time, log *slog.Logger) *Log {
	return &Log{store: store, now: now, log: log}
}

// Note records an action, with the address and the request id from ctx. It replaces an empty e.By by the
// user in ctx, a zero e.At by the current time, and an empty e.ID by a random id.
func (l *Log) Note(ctx context.Context, e memory.AuditEntry) error {
	if l == nil {
		return nil
	}
	if e.By == "" {
		e.By = httpx.IdentityOf(ctx).AuditName
	}
	if e.At.IsZero() {
		e.At = l.now()
	}
	e.ID, e.At = cmp.Or(e.ID, rand.Text()), memory.Time(e.At)
	e.Address, e.Request = httpx.ClientAddress(ctx), httpx.RequestID(ctx)
	l.log.Info("audit", "act", e.Act, "request", e.Request)
	if err := l.store.AddAuditEntries(ctx, memory.DefaultNamespace, e); err != nil {
		return memory.Errorf(memory.Unavailable, "the action was not performed, because it could not be recorded: %w", err)
	}
	return nil
}

// NoteRestore records that memory was restored from a backup. Calls with the same time add only one entry.
func (l *Log) NoteRestore(at time.Time, detail string) error {
	return l.Note(context.Background(), memory.AuditEntry{ID: "restore-" + strconv.FormatInt(at.UnixMicro(), 10), At: at, Act: "restore", By: "loci restore", Detail: detail})
}

// isFirstInInterval returns true at most once per [repeatInterval] for the same keyParts.
func (l *Log) isFirstInInterval(keyParts ...string) (isFirst bool) {
	now := l.now()
	l.lastSeen.Update(strings.Join(keyParts, "\x00"), func(at time.Time, wasSeen bool) (time.Time, bool) {
		isFirst = !wasSeen || now.Sub(at) >= repeatInterval
		if isFirst {
			at = now
		}
		return at, true
	})
	return isFirst
}

// pathActs maps methods and prefixes of paths to actions.
var pathActs = []struct {
	method, path, act string
	user              bool // the URL path is this path and then the user's name
}{
	{http.MethodDelete, "/api/users/", "erase user", true},
	{http.MethodPost, "/api/users/", "open user", true},
	{http.MethodPost, "/erase", "erase user", false},
	{http.MethodGet, "/api/export", "export", false},
	{http.MethodGet, "/data/export", "export", false},
	{http.MethodPost, "/api/import", "import", false},
	{http.MethodPost, "/data/import", "import", false},
	{http.MethodPost, "/api/backup", "back up", false},
	{http.MethodPut, "/api/pause", "pause", false},
	{http.MethodPost, "/settings", "pause", false},
}

// entryForRequest returns the entry for a request. Its Act is empty if the request is not recorded.
func (l *Log) entryForRequest(r *http.Request) (e memory.AuditEntry) {
	id := httpx.IdentityOf(r.Context())
	if id.Role == "" {
		return e
	}
	if id.Owner != "" {
		e.User = id.Owner.Name()
	}
	for _, a := range pathActs {
		rest, hasPrefix := strings.CutPrefix(r.URL.Path, a.path)
		if !hasPrefix || r.Method != a.method || !a.user && rest != "" {
			continue
		}
		e.Act = a.act
		if a.user {
			e.User, _, _ = strings.Cut(rest, "/")
		}
		return e
	}
	if !id.Author().Admin || id.Owner == "" || strings.HasPrefix(r.URL.Path, "/v1/") {
		return e
	}
	act := Write
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		act = Read
	}
	if l.isFirstInInterval(id.AuditName, e.User, act) {
		e.Act = act
	}
	return e
}

// Handler records the requests to next. If the response to a recorded request is an error, it records a
// second entry with the status.
func (l *Log) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := l.entryForRequest(r)
		if e.Act == "" {
			next.ServeHTTP(w, r)
			return
		}
		if err := l.Note(r.Context(), e); err != nil {
			httpx.WriteError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
		if status := httpx.StatusOf(w); status >= http.StatusBadRequest {
			e.Detail = "failed with status " + strconv.Itoa(status)
			_ = l.Note(context.WithoutCancel(r.Context()), e) // Note logs the error
		}
	})
}

// NoteRefused records a request with a wrong key, at most once an hour for each address.
func (l *Log) NoteRefused(r *http.Request) {
	if l != nil && l.isFirstInInterval(KeyRefused, httpx.ClientAddress(r.Context())) {
		_ = l.Note(r.Context(), memory.AuditEntry{Act: KeyRefused, By: "nobody", Detail: r.Method + " " + httpx.Truncate(pathPrefix(r.URL.Path), 100)}) // ignored, since the request is refused anyway
	}
}

// pathPrefix returns the first two segments of a path, since later segments may contain a user's name.
func pathPrefix(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// Run deletes entries that are older than maxAgeDays() days, until ctx ends. 0 days keeps all entries.
func (l *Log) Run(ctx context.Context, maxAgeDays func() int64) error {
	tick := time.NewTicker(repeatInterval)
	defer tick.Stop()
	for {
		n, err := 0, error(nil)
		if maxDays := maxAgeDays(); maxDays > 0 {
			n, err = l.store.DropAuditEntries(ctx, memory.DefaultNamespace, l.now().AddDate(0, 0, -int(maxDays)))
		}
		if err != nil && ctx.Err() == nil {
			l.log.Warn("cannot delete old entries of the audit record", "err", err)
		} else if n > 0 {
			l.log.Info("deleted old entries of the audit record", "entries", n)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Package audit keeps a record of acts that concern trust: sign-ins, keys, whoever runs the server
// in somebody else's memory, exports, erasures, settings, refused keys. The record holds names and
// ids, never words of a memory. An act that cannot be put on record is not done.
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

// The acts that more than one package notes. Others are named where they are done.
const (
	Read       = "read memory"  // by whoever runs the server, of another user
	Write      = "write memory" // the same
	KeyRefused = "key refused"
)

// once is how long a repeated look at the same memory, and a repeated wrong key from the same
// address, are one entry.
const once = time.Hour

// Log is the record of a namespace. A nil Log notes nothing.
type Log struct {
	store memory.Audit
	now   func() time.Time
	log   *slog.Logger
	seen  recent.Map[string, time.Time]
}

// New returns the record that a store keeps.
func New(store memory.Audit, now func() time.Time, log *slog.Logger) *Log {
	return &Log{store: store, now: now, log: log}
}

// Note puts an act on record. Who did it, from where and by which request are taken from the
// request's context, unless the entry says who, and the time from the clock, unless it says when.
func (l *Log) Note(ctx context.Context, e memory.AuditEntry) error {
	if l == nil {
		return nil
	}
	if e.By == "" {
		e.By = httpx.IdentityOf(ctx).By
	}
	if e.At.IsZero() {
		e.At = l.now()
	}
	e.ID, e.At = cmp.Or(e.ID, rand.Text()), memory.Time(e.At)
	e.Address, e.Request = httpx.AddressOf(ctx), httpx.RequestID(ctx)
	l.log.Info("audit", "act", e.Act, "request", e.Request)
	if err := l.store.Note(ctx, memory.DefaultNamespace, e); err != nil {
		return memory.Errorf(memory.Unavailable, "it was not done, since it could not be put on record: %w", err)
	}
	return nil
}

// Restored notes that memory was restored from a backup, once however often it is told.
func (l *Log) Restored(at time.Time, what string) error {
	return l.Note(context.Background(), memory.AuditEntry{ID: "restore-" + strconv.FormatInt(at.UnixMicro(), 10), At: at, Act: "restore", By: "loci restore", Detail: what})
}

// first reports whether something has not been noted within [once].
func (l *Log) first(what ...string) (first bool) {
	now := l.now()
	l.seen.Update(strings.Join(what, "\x00"), func(at time.Time, known bool) (time.Time, bool) {
		first = !known || now.Sub(at) >= once
		if first {
			at = now
		}
		return at, true
	})
	return first
}

// acts are those that a path names, by method and the beginning of the path.
var acts = []struct {
	method, path, act string
	user              bool // the rest of the path begins with whose memory it is about
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

// entryOf returns what a request does that belongs on record; an empty act: nothing.
func (l *Log) entryOf(r *http.Request) (e memory.AuditEntry) {
	id := httpx.IdentityOf(r.Context())
	if id.Role == "" {
		return e
	}
	if id.Owner != "" {
		e.User = id.Owner.Name()
	}
	for _, a := range acts {
		rest, is := strings.CutPrefix(r.URL.Path, a.path)
		if !is || r.Method != a.method || !a.user && rest != "" {
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
	if l.first(id.By, e.User, act) {
		e.Act = act
	}
	return e
}

// Handler returns next with what its requests do on record. An act whose answer is an error is
// noted again, with the status.
func (l *Log) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := l.entryOf(r)
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
			_ = l.Note(context.WithoutCancel(r.Context()), e) // the log has it
		}
	})
}

// Refused notes that a request came with a wrong key, once an hour from an address.
func (l *Log) Refused(r *http.Request) {
	if l != nil && l.first(KeyRefused, httpx.AddressOf(r.Context())) {
		_ = l.Note(r.Context(), memory.AuditEntry{Act: KeyRefused, By: "nobody", Detail: r.Method + " " + httpx.Brief(door(r.URL.Path), 100)}) // it is refused all the same
	}
}

// door is a path's first two parts: what follows may name something.
func door(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// Run drops entries that are older than as many days as days says by then, until the context ends;
// 0: none are.
func (l *Log) Run(ctx context.Context, days func() int64) error {
	tick := time.NewTicker(once)
	defer tick.Stop()
	for {
		n, err := 0, error(nil)
		if keep := days(); keep > 0 {
			n, err = l.store.DropNoted(ctx, memory.DefaultNamespace, l.now().AddDate(0, 0, -int(keep)))
		}
		if err != nil && ctx.Err() == nil {
			l.log.Warn("old entries of the audit record are kept, since they cannot be dropped", "err", err)
		} else if n > 0 {
			l.log.Info("dropped old entries of the audit record", "entries", n)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

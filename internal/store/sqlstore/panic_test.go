package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// errPanicked is what the calls here panic with.
var errPanicked = errors.New("a fault of the program")

// caught returns what do panics with as its error.
func caught(do func() error) func() error {
	return func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = v.(error)
			}
		}()
		if err := do(); err != nil {
			return fmt.Errorf("it returned: %w", err)
		}
		return nil
	}
}

// panics are calls that panic, by what they did before.
var panics = map[string]func(*tx) error{
	"at once": func(*tx) error { panic(errPanicked) },
	"after it wrote": func(t *tx) error {
		if _, err := t.apply(memtest.Ana, memtest.Run("panicked"), []memory.Change{memtest.Add(memtest.Fact(memtest.Ana, "panicked"))}); err != nil {
			return err
		}
		if err := t.queryRow(`SELECT 1`, nil, new(int)); err != nil { // so that a server heard of it
			return err
		}
		panic(errPanicked)
	},
	"while it reads": func(t *tx) error {
		found, err := t.query(`SELECT '1'`)
		_, err = collect(found, err, func(scanner) (string, error) { panic(errPanicked) })
		return err
	},
}

// panicRig is what the dialects' rigs have in common.
type panicRig struct {
	*Store
	log   bytes.Buffer // of the store
	group func(calls ...func() error) (outcomes []error)
	free  func(t *testing.T) // fails if a connection or a row is still held
}

// TestAPanicIsItsCallersOwn has one of several calls panic that share a transaction: its
// caller gets the panic, the others are done, and the next write is.
func TestAPanicIsItsCallersOwn(t *testing.T) {
	for dialect, open := range map[string]func(*testing.T) *panicRig{"sqlite": sqlitePanics, "postgres": postgresPanics} {
		for when, panics := range panics {
			for place, name := range []string{"first", "in the middle", "last"} {
				t.Run(dialect+"/"+when+"/"+name, func(t *testing.T) {
					r := open(t)
					add := func(name string) func() error {
						return func() error {
							_, err := r.Apply(t.Context(), memtest.Ana, memtest.Run(name), memtest.Add(memtest.Fact(memtest.Ana, name)))
							return err
						}
					}
					noError(t)(add("before")())
					bad := func() error { return r.write(t.Context(), memtest.Ana, panics) }
					calls := slices.Insert([]func() error{add("one"), add("two")}, place, caught(bad))
					for i, err := range r.group(calls...) {
						if i == place && err != errPanicked { //nolint:errorlint // it is what was panicked with
							t.Errorf("who panicked got %v, want the panic", err)
						}
						if i != place && err != nil {
							t.Errorf("call %d beside it got %v", i, err)
						}
					}
					r.free(t)
					if err := add("after")(); err != nil {
						t.Errorf("the next write: %v", err)
					}
					r.holds(t, 4)
					if text := r.log.String(); !strings.Contains(text, errPanicked.Error()) || !strings.Contains(text, "panic_test.go") {
						t.Errorf("the log has %q, want the panic and where it was", text)
					}
				})
			}
		}
	}
}

// TestAPanicOfALoneWriteIsItsCallersOwn: for an owner, and for nobody.
func TestAPanicOfALoneWriteIsItsCallersOwn(t *testing.T) {
	for dialect, open := range map[string]func(*testing.T) *panicRig{"sqlite": sqlitePanics, "postgres": postgresPanics} {
		for when, panics := range panics {
			t.Run(dialect+"/"+when, func(t *testing.T) {
				r := open(t)
				enqueue(t, r.Store, memtest.Ana, memory.JobLearn, time.Now().Add(-time.Hour), 1)
				if err := caught(func() error { return r.write(t.Context(), memtest.Ana, panics) })(); !errors.Is(err, errPanicked) {
					t.Errorf("alone: got %v, want the panic", err)
				}
				if err := caught(func() error { return r.write(t.Context(), "", panics) })(); !errors.Is(err, errPanicked) {
					t.Errorf("for no owner: got %v, want the panic", err)
				}
				r.free(t)
				if _, err := r.Claim(t.Context(), anyKind, time.Minute); err != nil {
					t.Errorf("the next claim: %v", err)
				}
				r.holds(t, 0)
			})
		}
	}
}

// holds fails unless the owner has so many facts, one for each change and version.
func (r *panicRig) holds(t *testing.T, facts int) {
	t.Helper()
	counts, err := r.Counts(t.Context(), memtest.Ana)
	versions, err2 := r.Versions(t.Context(), []memory.Owner{memtest.Ana})
	if err != nil || err2 != nil || counts.Facts != facts || counts.Changes != facts || versions[0] != int64(facts) {
		t.Errorf("got %+v, %v, version %d, %v; want %d facts", counts, err, versions, err2, facts)
	}
}

func sqlitePanics(t *testing.T) *panicRig {
	p := &panicRig{}
	r := newRigWith(t, Options{Log: slog.New(slog.NewTextHandler(&p.log, nil))})
	p.Store, p.free = r.Store, func(*testing.T) {} // it has one connection, for which the next write waits
	p.group = func(calls ...func() error) []error {
		release := r.hold()
		outcomes := r.queueCalls(calls...)
		release()
		return outcomes()
	}
	return p
}

func postgresPanics(t *testing.T) *panicRig {
	p := &panicRig{}
	address := pgtest.Schema(t)
	p.Store = openServer(t, address, Options{Log: slog.New(slog.NewTextHandler(&p.log, nil))})
	p.group = func(calls ...func() error) []error { return heldBack(p.Store, memtest.Ana, calls...) }
	p.free = func(t *testing.T) {
		t.Helper()
		if _, err := pgtest.Open(t, address).ExecContext(context.Background(), `SELECT 1 FROM owners FOR UPDATE NOWAIT`); err != nil {
			t.Errorf("a row is still held: %v", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		db := p.Store.committer.(*server).db
		for i := range db.Stats().MaxOpenConnections {
			conn, err := db.Conn(ctx)
			if err != nil {
				t.Errorf("connection %d was not given back: %v", i, err)
				return
			}
			defer conn.Close() //nolint:errcheck // it was of use already
		}
	}
	return p
}

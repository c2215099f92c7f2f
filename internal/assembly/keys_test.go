package assembly

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
)

// TestKeysAreKeptAndRemoved: on SQLite, in a vault and on a server, a key opens its user's
// memory, also after a start, until it is removed; it is nowhere itself.
func TestKeysAreKeptAndRemoved(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, dir string) []string{
		"sqlite":   func(*testing.T, string) []string { return nil },
		"vault":    func(_ *testing.T, dir string) []string { return []string{"vault", filepath.Join(dir, "vault")} },
		"postgres": func(t *testing.T, _ string) []string { return []string{"store", pgtest.Schema(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := settingsAt(t, dir, append([]string{"api_key", "server", "users", "multi"}, set(t, dir)...)...)
			l := openAt(t, c)
			server := httptest.NewServer(l.Handler())
			as := func(key string) *client.Client {
				return client.New(server.URL, client.Options{Key: key, User: "ben"})
			}
			made, err := as("server").AddKey(t.Context(), client.NewKey{Name: "laptop", Role: "user", User: "ana"})
			if err != nil || made.Text == "" || made.User != "ana" {
				t.Fatalf("%+v, %v", made, err)
			}
			noError(t)(l.Remember(t.Context(), "ana", "User plays chess"))
			sees := func() (int, error) {
				page, err := as(made.Text).List(t.Context(), client.ListQuery{})
				return len(page.Memories), err
			}
			if n, err := sees(); err != nil || n != 1 {
				t.Errorf("with the key: %d, %v; want what is ana's", n, err)
			}
			if _, err := as(made.Text).Keys(t.Context()); !errors.Is(err, memory.Forbidden) {
				t.Errorf("keys, by a user's: %v, want it forbidden", err)
			}
			if _, err := as(made.Text).AddKey(t.Context(), client.NewKey{Name: "x", Role: "admin"}); !errors.Is(err, memory.Forbidden) {
				t.Errorf("a key more, by a user's: %v, want it forbidden", err)
			}
			server.Close()
			closed(t, l)
			err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if bytes.Contains(text, []byte(made.Text)) {
					t.Errorf("%s has the key", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			l = openAt(t, c)
			defer closed(t, l)
			server = httptest.NewServer(l.Handler())
			defer server.Close()
			if n, err := sees(); err != nil || n != 1 {
				t.Errorf("after a start: %d, %v; want what is ana's", n, err)
			}
			all, err := as("server").Keys(t.Context())
			if err != nil || len(all.Keys) != 1 || all.Keys[0] != made.Key {
				t.Errorf("got %+v, %v; want %+v", all, err, made.Key)
			}
			if err := as("server").RemoveKey(t.Context(), made.ID); err != nil {
				t.Error(err)
			}
			if _, err := sees(); !errors.Is(err, memory.Unauthorized) {
				t.Errorf("removed: %v, want it refused at once", err)
			}
			if err := as("server").RemoveKey(t.Context(), made.ID); !errors.Is(err, memory.NotFound) {
				t.Errorf("removed twice: %v", err)
			}
		})
	}
	l := openAt(t, settingsAt(t, t.TempDir(), "store", "memory"))
	defer closed(t, l)
	if _, _, err := l.keys.Add(t.Context(), memory.Key{Name: "a", Role: memory.KeyAdmin, User: ""}); !errors.Is(err, memory.Invalid) {
		t.Errorf("without a database: %v, want it refused", err)
	}
}

// TestKeysReachTheOtherServers: what one server adds and removes, another on the same
// database goes by soon.
func TestKeysReachTheOtherServers(t *testing.T) {
	address := pgtest.Schema(t)
	a, b := openAt(t, settingsAt(t, t.TempDir(), "store", address)), openAt(t, settingsAt(t, t.TempDir(), "store", address, "api_key", "server"))
	defer closed(t, a)
	defer closed(t, b)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	text, key, err := a.keys.Add(t.Context(), memory.Key{Name: "laptop", Role: memory.KeyUser, User: "ana"})
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, done func(error) bool) {
		t.Helper()
		for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			_, err := client.New(server.URL, client.Options{Key: text}).List(t.Context(), client.ListQuery{})
			if done(err) {
				return
			}
			if time.Since(begun) > time.Minute {
				t.Fatalf("%s: still %v", what, err)
			}
		}
	}
	until("added", func(err error) bool { return err == nil })
	noError(t)(a.keys.Remove(t.Context(), key.ID()))
	until("removed", func(err error) bool { return errors.Is(err, memory.Unauthorized) })
}

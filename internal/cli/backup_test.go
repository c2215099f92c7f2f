package cli

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestBackupIsThereWholeOrNotAtAll: a server that ends in the middle, or sends what is no
// backup, leaves what was at the path before.
func TestBackupIsThereWholeOrNotAtAll(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"cut off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("PK half of it"))
			panic(http.ErrAbortHandler)
		},
		"cut off, of unknown size": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte("PK half of it"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"no backup": func(w http.ResponseWriter) { _, _ = w.Write([]byte("hello")) },
		"refused":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/health" {
					_, _ = w.Write([]byte(`{"status":"ok"}`))
					return
				}
				answer(w)
			}))
			defer server.Close()
			dir := t.TempDir()
			path := filepath.Join(dir, "b.zip")
			noError(t)(os.WriteFile(path, []byte("before"), 0o600))
			noError(t)(os.WriteFile(path+".half", []byte("left by one that was killed"), 0o644))
			cmd := newRootCommand()
			cmd.SetOut(t.Output())
			cmd.SetErr(t.Output())
			cmd.SetArgs([]string{"backup", path, "--force", "--addr", strings.TrimPrefix(server.URL, "http://")})
			if err := cmd.ExecuteContext(t.Context()); err == nil {
				t.Error("it went well, want an error")
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "before" {
				t.Errorf("got %q, %v; want what was there before", text, err)
			}
			if _, err := os.Stat(path + ".half"); err == nil {
				t.Error("a half is left")
			}
		})
	}
}

func TestBackupIsForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	runAt(t, filepath.Join(dir, "data"), "sqlite", "add", "User plays the oboe")
	path := filepath.Join(dir, "b.zip")
	noError(t)(os.WriteFile(path+".half", []byte("left by one that was killed"), 0o644))
	runAt(t, filepath.Join(dir, "data"), "sqlite", "backup", path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want a file for its owner alone", info, err)
	}
}

// TestBackupTakesNoFoldersOrDevicesPlace, also when it is told to write over what is there.
func TestBackupTakesNoFoldersOrDevicesPlace(t *testing.T) {
	dir := t.TempDir()
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "s.zip")
	runAt(t, data, "sqlite", "add", "User plays the oboe")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close() //nolint:errcheck // nobody came
	for _, args := range [][]string{{"backup", dir}, {"backup", socket}, {"export", socket}} {
		cmd := newRootCommand()
		cmd.SetOut(t.Output())
		cmd.SetErr(t.Output())
		cmd.SetArgs(append(args, "--force", "--data", data, "--addr", "127.0.0.1:1"))
		if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, memory.Invalid) {
			t.Errorf("%v: got %v, want it refused", args, err)
		}
	}
	if info, err := os.Lstat(socket); err != nil || info.Mode().IsRegular() {
		t.Errorf("what was there is %v now, %v", info, err)
	}
}

package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
			if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".half", []byte("left by one that was killed"), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := root()
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
	if err := os.WriteFile(path+".half", []byte("left by one that was killed"), 0o644); err != nil {
		t.Fatal(err)
	}
	runAt(t, filepath.Join(dir, "data"), "sqlite", "backup", path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want a file for its owner alone", info, err)
	}
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
)

// erasedWord stands in all that is erased, and in nothing else.
const erasedWord = "marzipan"

// holdingIt returns the files of folders that hold the word, Loci's own too.
func holdingIt(t *testing.T, dirs ...string) (names []string) {
	t.Helper()
	for _, dir := range dirs {
		noError(t)(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
				return nil // the server is running: files go
			}
			if err != nil {
				return err
			}
			text, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if bytes.Contains(bytes.ToLower(text), []byte(erasedWord)) {
				names = append(names, name)
			}
			return err
		}))
	}
	return names
}

// A server is killed at three moments of an erasure. From its next start on no
// file of its data folder and vault has the words, or it had not begun: then a second request erases.
func TestErasureGoesOnAfterAKill(t *testing.T) {
	const memories, kills = 120, 3
	from := t.TempDir()
	var file strings.Builder
	file.WriteString(`{"type":"header","format":"loci","version":1,"exported_at":"2026-05-01T08:00:00Z"}` + "\n")
	for i := range memories + 40 {
		words := fmt.Sprintf("Note %d is about %s %d, and %s", i, erasedWord, i*7, strings.Repeat("more of it ", 1500))
		if i >= memories {
			words = fmt.Sprintf("Note %d is about teapot %d", i, (i-memories)*7)
		}
		fmt.Fprintf(&file, `{"type":"fact","id":"note-%d","content":%q,"confidence":1,"status":"active","source":"manual","trust":"person",`+
			`"observed_at":"2026-05-01T08:00:00Z","created_at":"2026-05-01T08:00:00Z","updated_at":"2026-05-01T08:00:00Z"}`+"\n", i, words)
	}
	notes := filepath.Join(t.TempDir(), "notes.jsonl")
	noError(t)(os.WriteFile(notes, []byte(file.String()), 0o600))
	data, vault := filepath.Join(from, "data"), filepath.Join(from, "vault")
	var out bytes.Buffer
	cmd := newRootCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"import", notes, "--data", data, "--set", "vault=" + vault, "--addr", "127.0.0.1:1"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if n := len(holdingIt(t, data, vault)); n < memories {
		t.Fatalf("%d files hold the word before", n)
	}
	var whole time.Duration // of an erasure that nobody kills, which is the first
	within := 0             // kills while words were being erased
	for n := range kills + 1 {
		dir := t.TempDir()
		noError(t)(os.CopyFS(dir, os.DirFS(from)))
		data, vault := filepath.Join(dir, "data"), filepath.Join(dir, "vault")
		s := startedWith(t, data, "LOCI_VAULT="+vault)
		done := s.erase()
		mark := filepath.Join(vault, ".loci", "erasing")
		ended := false
		for !ended && !isThere(mark) {
			select {
			case <-done:
				ended = true
			case <-time.After(time.Millisecond): // until it has begun
			}
		}
		began := time.Now()
		var kill <-chan time.Time
		if n > 0 {
			kill = time.After(whole * time.Duration(n-1) / kills)
		}
		if !ended {
			select {
			case <-done:
				ended = true
			case <-kill:
			}
		}
		if n == 0 {
			whole = time.Since(began)
		}
		s.kill(t)
		if !ended && isThere(mark) {
			within++
		}
		s = startedWith(t, data, "LOCI_VAULT="+vault)
		left := holdingIt(t, data, vault)
		if len(left) > 0 && !ended && s.knows(t, erasedWord) { // it was killed before anything was
			if err := <-s.erase(); err != nil {
				t.Error(err)
			}
			left = holdingIt(t, data, vault)
		}
		for began := time.Now(); len(left) > 0 && time.Since(began) < 10*time.Second; left = holdingIt(t, data, vault) {
			time.Sleep(50 * time.Millisecond) // until the database file is written again
		}
		if len(left) > 0 {
			t.Errorf("kill %d of %v: %d files hold the word after the next start, such as %s", n, whole, len(left), left[0])
		}
		if !s.knows(t, "teapot") || s.knows(t, erasedWord) {
			t.Errorf("kill %d of %v: memory is not all but the erased words", n, whole)
		}
		s.kill(t)
	}
	if within == 0 {
		t.Error("it was killed at no time while it erased")
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// knows reports whether a memory with a word is found.
func (s *served) knows(t *testing.T, word string) bool {
	t.Helper()
	found := try(s.Search(t.Context(), client.SearchRequest{Query: "which note is about " + word + " 70?"})).orFail(t)
	return slices.ContainsFunc(found.Hits, func(h client.Hit) bool { return strings.Contains(h.Content, word) })
}

// erase asks for the erasure, and tells when it is answered.
func (s *served) erase() <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Forget(context.Background(), client.ForgetRequest{Filter: &client.ForgetFilter{Text: erasedWord}, Erase: true})
		done <- err
	}()
	return done
}

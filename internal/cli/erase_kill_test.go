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
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
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
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// A server that is killed while it erases much has, from its next start on, the words in no file
// of its data folder and of its vault, or it has not begun to erase: then it does when it is asked
// once more.
func TestKilledWhileItErasesMuchItEndsThatAtTheNextStart(t *testing.T) {
	const memories = 400
	from := t.TempDir()
	var file strings.Builder
	for i := range memories {
		fmt.Fprintf(&file, "- Note %d is about %s %d, and %s\n", i, erasedWord, i*7, strings.Repeat("more of it ", 4500))
	}
	for i := range 40 {
		fmt.Fprintf(&file, "- Note %d is about teapot %d\n", memories+i, i*7)
	}
	notes := filepath.Join(t.TempDir(), "notes.md")
	if err := os.WriteFile(notes, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	data, vault := filepath.Join(from, "data"), filepath.Join(from, "vault")
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{"import", notes, "--data", data, "--set", "vault=" + vault, "--addr", "127.0.0.1:1"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if info, err := os.Stat(filepath.Join(data, "loci.db")); err != nil || info.Size() < 17<<20 {
		t.Fatalf("the database is rid of the words in one portion: %v", err)
	}
	if n := len(holdingIt(t, data, vault)); n < memories {
		t.Fatalf("%d files hold the word before", n)
	}
	within := 0 // kills while words were being erased
	for wait := time.Duration(0); ; wait += 250 * time.Millisecond {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
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
		select {
		case <-done:
			ended = true
		case <-time.After(wait): // and is in another of its portions
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
		if len(left) > 0 {
			t.Errorf("killed after %v, %d files hold the word from the next start on, such as %s", wait, len(left), left[0])
		}
		if !s.knows(t, "teapot") || s.knows(t, erasedWord) {
			t.Errorf("killed after %v, something else is known than was not erased", wait)
		}
		s.kill(t)
		if ended {
			break
		}
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
	found, err := s.Search(t.Context(), client.SearchRequest{Query: "which note is about " + word + " 70?"})
	if err != nil {
		t.Fatal(err)
	}
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

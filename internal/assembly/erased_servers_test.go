package assembly

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestErasedWordsLeaveTheOtherServersFiles erases at one of two servers on a database words
// that stand in a checkpoint of the other: they are gone from there soon, and, if that one
// is down, once it is started.
func TestErasedWordsLeaveTheOtherServersFiles(t *testing.T) {
	address := pgtest.NewSchema(t)
	said := []string{"qwertolm", "vbnolkum"}
	a := startServer(t, address, t.TempDir())
	sayMuch(t, address, said)
	data := t.TempDir()
	b := startServer(t, address, data)

	b.find(said[0]) // which reads the owner, who then has a checkpoint
	waitFor(t, "a checkpoint", func() bool { return filesHold(t, data, said[0]) })
	a.erase(said[0])
	waitFor(t, "the words to leave the files of a server that is at work", func() bool { return !filesHold(t, data, said[0]) })

	b.find(said[1])
	waitFor(t, "a checkpoint", func() bool { return filesHold(t, data, said[1]) })
	b.stop()
	a.erase(said[1])
	if !filesHold(t, data, said[1]) {
		t.Error("the files of a server that is down do not hold the words: there is nothing to see here")
	}
	startServer(t, address, data)
	waitFor(t, "the words to leave the files of a server that was down", func() bool { return !filesHold(t, data, said[1]) })
}

// sayMuch writes so many turns that their owner gets a checkpoint, one with each word.
func sayMuch(t *testing.T, address string, words []string) {
	t.Helper()
	s := try(sqlstore.OpenPostgres(t.Context(), address, sqlstore.Options{})).orFail(t)
	defer s.Close() //nolint:errcheck // it was of use already
	const batches, size = 11, 500
	owner := memory.User(memory.DefaultNamespace, "ana")
	for i := range batches {
		texts := make([]string, size)
		for j := range texts {
			texts[j] = fmt.Sprintf("Boat number %d is at the pier.", i*size+j)
		}
		if i < len(words) {
			texts[0] = "The bird over there looks " + words[i]
		}
		noError(t)(s.Append(t.Context(), owner, memtest.Batch(owner, fmt.Sprint("talk ", i), 0, texts...)))
	}
}

// holds reports whether a file in a folder holds a word.
func filesHold(t *testing.T, folder, word string) (found bool) {
	t.Helper()
	noError(t)(filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // it is gone by now
		}
		data, err := os.ReadFile(path)
		found = found || err == nil && strings.Contains(string(data), word)
		return nil
	}))
	return found
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// find searches for a word and has to find it.
func (s *oneServer) find(word string) {
	s.t.Helper()
	if text := s.ask("/api/memory/search", `{"query":"`+word+`"}`); !strings.Contains(text, word) {
		s.t.Fatalf("%s is not found: %s", word, text)
	}
}

// erase erases what is found by a word.
func (s *oneServer) erase(word string) {
	s.t.Helper()
	if text := s.ask("/api/memory/forget", `{"query":"`+word+`","erase":true}`); strings.Contains(text, word) {
		s.t.Errorf("%s is told of what was erased: %s", word, text)
	}
	if text := s.ask("/api/memory/search", `{"query":"`+word+`"}`); strings.Contains(text, "looks "+word) {
		s.t.Errorf("%s is found though it was erased: %s", word, text)
	}
}

func (s *oneServer) ask(path, body string) string {
	s.t.Helper()
	req := try(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))).orFail(s.t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-User", "ana")
	answer := try(http.DefaultClient.Do(req)).orFail(s.t)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		s.t.Fatalf("%s: %d %s, %v", path, answer.StatusCode, text, err)
	}
	return string(text)
}

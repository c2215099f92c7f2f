package assembly

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/engine/lessons"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// chats begins a chat with each message, and waits until what is due is learned.
func (l *Loci) chats(t *testing.T, messages ...string) {
	t.Helper()
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	l.during(t, func() {
		for _, m := range messages {
			body := fmt.Sprintf(`{"model":"loci/recall","messages":[{"role":"user","content":%q}]}`, m)
			answer, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%s, %v", answer.Status, err)
			}
		}
		if err := l.runner.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// said returns a vault that a chat taught: one fact was forgotten and one rejected since.
func said(t *testing.T, dir string) *Loci {
	t.Helper()
	l := vaultAt(t, dir)
	l.chats(t, "My dog is called Rex.", "I play chess.", "I live in Lisbon. I am allergic to peanuts.")
	path, text := l.settledFile(t, "User has a dog named Rex")
	l.edited(t, path, strings.Replace(text, "status: active", "status: rejected", 1))
	path, _ = l.settledFile(t, "User plays chess")
	removed(t, path)
	l.look(t, vaultstore.ScanOptions{})
	return l
}

// TestRebuiltTurnsCountAsLearned rebuilds a vault, whose facts were learned from its turns.
func TestRebuiltTurnsCountAsLearned(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := said(t, dir)
	before := l.everything(t)
	if len(before) != 10 {
		t.Fatalf("%d facts and turns, want 4 and 6: %v", len(before), before)
	}
	closed(t, l)
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	l = vaultAt(t, dir)
	defer closed(t, l)
	if _, err := l.engine.Lessons.Relearn(ctx, userOf("default"), lessons.RelearnOptions{}); err != nil { // again, on purpose
		t.Fatal(err)
	}
	l.chats(t, "How are you?")
	after := l.everything(t)
	for _, all := range []map[string]string{before, after} { // a turn whose fact was rejected may be retired by learning again
		maps.DeleteFunc(all, func(_, what string) bool { return !strings.HasPrefix(what, "{") })
	}
	if diff := cmp.Diff(after, before); diff != "" {
		t.Errorf("rebuilt (-got +want):\n%s", diff)
	}
}

// TestFileDeletedAfterARebuildIsForgotten deletes a file before and after the files are written for
// the first time since a rebuild.
func TestFileDeletedAfterARebuildIsForgotten(t *testing.T) {
	for _, c := range []struct {
		name string
		gone []string // before the rebuild
	}{{"without database", []string{"data"}}, {"without records", []string{"data", "vault/.loci"}}, {"nothing lost", nil}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l := vaultAt(t, dir)
			for _, what := range []string{"bread", "maps", "rain", "snow", "wind", "figs", "sand", "fog", "ice"} {
				l.remember(t, "User likes "+what)
			}
			first, second, third := l.remember(t, "User plays chess"), l.remember(t, "User owns a kite"), l.remember(t, "User likes marzipan")
			l = l.restarted(t, dir, c.gone...)
			path := l.fileOf(t, first)
			removed(t, path)
			if err := l.vault.Store.Settle(context.Background()); err != nil { // what waits is written
				t.Fatal(err)
			}
			l.look(t, vaultstore.ScanOptions{})
			if got := l.fact(t, first.ID).Status; got != memory.Retired {
				t.Errorf("its file was deleted at once, and it is %s", got)
			}
			path, _ = l.settledFile(t, second.Content)
			removed(t, path)
			l.look(t, vaultstore.ScanOptions{})
			if got := l.fact(t, second.ID).Status; got != memory.Retired {
				t.Errorf("its file was deleted later, and it is %s", got)
			}
			path, _ = l.settledFile(t, third.Content)
			closed(t, l)
			removed(t, path)
			l = vaultAt(t, dir)
			defer closed(t, l)
			if got := l.fact(t, third.ID).Status; got != memory.Retired {
				t.Errorf("its file was deleted between two starts, and it is %s", got)
			}
		})
	}
}

// fileOf is the file of a fact in the folder of what holds.
func (l *Loci) fileOf(t *testing.T, f memory.Fact) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.vault.Store.Dir(), "entries", "global", "facts", "*"+f.ID+".md"))
	if err != nil || len(found) != 1 {
		t.Fatalf("files of %q: %q, %v", f.Content, found, err)
	}
	return found[0]
}

package assembly

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/engine/lessons"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
)

// rewording is a model that learns the same facts as the rules, in other words.
func rewording(t *testing.T) (settings []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"learner","object":"model"}]}`)
			return
		}
		const reply = `{\"ops\":[{\"op\":\"add\",\"text\":\"Lisbon is home for the user\",\"quote\":\"I live in Lisbon\",\"about\":\"user\",\"lasting\":true},` +
			`{\"op\":\"add\",\"text\":\"User must avoid all peanut food\",\"quote\":\"I am allergic to peanuts\",\"about\":\"user\",\"lasting\":true}]}`
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","created":1,"model":"learner","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`+reply+`"}}]}`)
	}))
	t.Cleanup(server.Close)
	return []string{"upstream.url", server.URL + "/v1", "upstream.key", "k", "learn.model", "learner"}
}

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
func said(t *testing.T, dir string, settings ...string) *Loci {
	t.Helper()
	l := vaultAt(t, dir, settings...)
	l.chats(t, "My dog is called Rex.", "I play chess.", "I live in Lisbon. I am allergic to peanuts.")
	path, text := l.settledFile(t, "User has a dog named Rex")
	l.edited(t, path, strings.Replace(text, "status: active", "status: rejected", 1))
	path, _ = l.settledFile(t, "User plays chess")
	removed(t, path)
	l.look(t, vaultstore.ScanOptions{})
	return l
}

// TestRebuiltTurnsCountAsLearned rebuilds a vault of turns that a model has not read yet. The rules
// have, and their facts are in the folder.
func TestRebuiltTurnsCountAsLearned(t *testing.T) {
	for name, settings := range map[string][]string{"rules": nil, "a model": rewording(t)} {
		t.Run(name, func(t *testing.T) {
			ctx, dir := context.Background(), t.TempDir()
			l := said(t, dir, settings...)
			before := l.everything(t)
			if len(before) != 10 {
				t.Fatalf("%d facts and turns, want 4 and 6: %v", len(before), before)
			}
			closed(t, l)
			if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
				t.Fatal(err)
			}
			l = vaultAt(t, dir, settings...)
			defer closed(t, l)
			if name == "rules" { // again, on purpose
				if _, err := l.engine.Lessons.Relearn(ctx, userOf("default"), lessons.RelearnOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			l.chats(t, "How are you?")
			after := l.everything(t)
			for id, what := range after {
				if _, old := before[id]; !old && !strings.HasPrefix(what, "{") { // a turn
					delete(after, id)
				}
			}
			if diff := cmp.Diff(after, before); diff != "" {
				t.Errorf("rebuilt (-got +want):\n%s", diff)
			}
		})
	}
}

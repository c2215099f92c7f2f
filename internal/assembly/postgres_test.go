package assembly

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// TestReplicasShareOneMemory has three servers on one PostgreSQL database: what is said
// to one is recalled by the next at once, each learns what another was told, and nobody
// finds what is another user's.
func TestReplicasShareOneMemory(t *testing.T) {
	address := pgtest.NewSchema(t)
	servers := []*oneServer{startServer(t, address, t.TempDir()), startServer(t, address, t.TempDir()), startServer(t, address, t.TempDir())}
	say := func(at int, user, words string) string {
		t.Helper()
		body := fmt.Sprintf(`{"model":"loci/recall","user":%q,"messages":[{"role":"user","content":%q}]}`, user, words)
		return post(t, servers[at%len(servers)].url+"/v1/chat/completions", user, body)
	}
	things := []string{"the boat is called Albatross", "the cellar key hangs behind the clock", "the dentist is in Mill Street"}
	for i, thing := range things {
		say(i, "ana", "Remember that "+thing+".")
		for other := range servers {
			if got := say(i+other+1, "ana", "What do you know of this: "+thing+"?"); !strings.Contains(got, thing) {
				t.Errorf("said to server %d, asked at %d: got %s", i, (i+other+1)%len(servers), got)
			}
		}
		if got := say(i+1, "ben", "What do you know of this: "+thing[:12]+"?"); strings.Contains(got, thing[12:]) {
			t.Errorf("Ben was told what Ana said: %s", got)
		}
	}

	// One server alone learns what was said to all of them.
	say(0, "ana", "I am allergic to peanuts.")
	working := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { working <- servers[1].Run(ctx) }()
	if err := servers[1].Settle(t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-working; err != nil {
		t.Error(err)
	}
	hits, err := servers[2].Recall(t.Context(), "ana", "What am I allergic to?")
	if err != nil || len(hits) == 0 || hits[0].Memory.Content() != "User is allergic to peanuts" {
		t.Errorf("recalled by the third: got %+v, %v; want what the second learned", hits, err)
	}
}

func post(t *testing.T, url, user, body string) string {
	t.Helper()
	req := try(http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))).orFail(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-User", user)
	answer := try(http.DefaultClient.Do(req)).orFail(t)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s (%v)", url, answer.Status, text, err)
	}
	return string(text)
}

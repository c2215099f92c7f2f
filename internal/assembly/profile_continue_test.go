package assembly

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// onStores plays a scene on the stage's own store, which TEST_MONGODB may name, on SQLite and
// on PostgreSQL.
func onStores(t *testing.T, scene func(t *testing.T, set map[string]string)) {
	t.Run("own", func(t *testing.T) { scene(t, nil) })
	t.Run("sqlite", func(t *testing.T) { scene(t, map[string]string{"store": "sqlite"}) })
	t.Run("postgres", func(t *testing.T) { scene(t, map[string]string{"store": pgtest.Schema(t)}) })
}

// said returns what a chat says, in its order.
func (s *stage) said(chat string, headers ...string) []string {
	s.t.Helper()
	var kept struct {
		Messages []struct{ Role, Content string }
	}
	s.ok(&kept, "GET", "/api/chats/"+chat, "", headers...)
	var out []string
	for _, m := range kept.Messages {
		out = append(out, m.Role+": "+m.Content)
	}
	return out
}

// story is what a user says who has a story told in parts, and what is to be kept of it.
func story(parts int) (said, kept []string) {
	for i := range parts {
		said = append(said, "continue")
		if i == 0 {
			said[0] = "Tell me a story in parts."
		}
		kept = append(kept, "user: "+said[i], "assistant: "+part(i))
	}
	return said, kept
}

func part(i int) string { return fmt.Sprintf("Part %d of the story.", i+1) }

// TestProfilePlatformContinues: "continue" is said as often as it is sent, and counts: the
// summary is made after ten pairs. A key proves a retry.
func TestProfilePlatformContinues(t *testing.T) {
	onStores(t, func(t *testing.T, set map[string]string) {
		s := newStage(t, "platform", map[string]string{"chats.model": "writer"}, set)
		said, kept := story(10)
		s.model.on("summarize", "- The user has a story told in ten parts.")
		for i, words := range said {
			a := s.query(part(i), map[string]any{"query": words, "session_id": "tale", "user_id": "ana"})
			if n := len(a.MemoryContext.Summaries); n != 0 {
				t.Errorf("before pair %d there are %d summaries", i+1, n)
			}
			s.clock.pass(time.Duration(i) * time.Minute)
		}
		if got := s.said("tale", "X-Loci-User", "ana"); !slices.Equal(got, kept) {
			t.Errorf("kept is %q, want %q", got, kept)
		}
		for range 2 {
			s.model.on("write", "The end.")
			s.ok(nil, "POST", "/query", `{"query":"continue","session_id":"tale","user_id":"ana"}`, "Idempotency-Key", "last")
			s.settle()
		}
		kept = append(kept, "user: continue", "assistant: The end.")
		if got := s.said("tale", "X-Loci-User", "ana"); !slices.Equal(got, kept) {
			t.Errorf("after a retry kept is %q, want %q", got, kept)
		}
		a := s.query("Good night.", map[string]any{"query": "Good night.", "session_id": "tale", "user_id": "ana"})
		if sums := a.MemoryContext.Summaries; len(sums) != 1 || sums[0].MessageCount == 0 || !strings.Contains(sums[0].Summary, "ten parts") {
			t.Errorf("summaries: %+v, want one after ten pairs", sums)
		}
	})
}

// TestProfileAgentCLIContinues, where the client names its memory and sends the newest message.
func TestProfileAgentCLIContinues(t *testing.T) {
	onStores(t, func(t *testing.T, set map[string]string) {
		s := newStage(t, "agent-cli", map[string]string{"vault": "", "reranker": "none", "summaries.mode": "off", "learn.model": "none"}, set)
		said, kept := story(4)
		c := s.talk()
		c.extras = map[string]any{"memory_id": "tale"}
		for i, words := range said {
			s.model.reply, c.messages = part(i), nil
			c.says(words)
			s.clock.pass(time.Duration(i) * time.Minute)
		}
		if got := s.said("tale"); !slices.Equal(got, kept) {
			t.Errorf("kept is %q, want %q", got, kept)
		}
	})
}

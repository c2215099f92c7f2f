package proxy

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
)

// TestUpstreamGetsTheRulesOfAChatThatGoesOn: by memory_id, in each placement, as one
// insertion, before the fence.
func TestUpstreamGetsTheRulesOfAChatThatGoesOn(t *testing.T) {
	for placement, role := range map[chatapi.Placement]string{chatapi.Tail: "system", chatapi.System: "system", chatapi.User: "user"} {
		r := newRig(t, func(s *setup) { s.placement = placement })
		r.know("User plays the cello")
		rules := "Answer in \"one\" sentence.\nBe kind."
		chat, err := r.engine.Chats.NewChat(context.Background(), nobody, "", chats.ChatEdit{Rules: &rules})
		if err != nil {
			t.Fatal(err)
		}
		const messages = `"messages":[{"role":"system","content":"You are a pirate."},{"role":"user","content":"What do I play?"}]}`
		for _, c := range []struct {
			id   string
			want int
		}{{chat.ID, 1}, {chat.ID, 1}, {"another", 0}} {
			if resp, answer := r.chat(`{"model":"m","memory_id":"` + c.id + `",` + messages); resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: status %d, %s", placement, resp.StatusCode, answer)
			}
			got := r.upstream.one(t).body
			added, once := insertion(`{"model":"m",`+messages, got)
			if !once || !strings.Contains(added, "cello") {
				t.Errorf("%s: the upstream got %s, want one insertion with what is remembered", placement, got)
			}
			var sent struct {
				Messages []struct{ Role, Content string }
			}
			if err := json.Unmarshal([]byte(got), &sent); err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, m := range sent.Messages {
				before, _, _ := strings.Cut(m.Content, "<loci-memory>")
				if strings.Contains(before, rules) && m.Role == role {
					found++
				}
			}
			if n := strings.Count(got, `sentence.\nBe kind.`); found != c.want || n != c.want {
				t.Errorf("%s, %s: the rules stand %d times, %d of them before the fence of a %s message, want %d:\n%s", placement, c.id, n, found, role, c.want, got)
			}
		}
		r.finish()
		for _, turn := range r.turns() {
			if strings.Contains(turn, "Be kind") {
				t.Errorf("%s: the rules are stored as said: %q", placement, turn)
			}
		}
	}
}

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// TestLongMessagesAreStoredCut: a message and an answer over limits.text are stored up to
// the limit, with a mark, and known again when the chat goes on.
func TestLongMessagesAreStoredCut(t *testing.T) {
	const most = 4 << 10
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.Opts.MaxTextBytes = most
		question, reply := "I live in Lisbon. "+strings.Repeat("ä—word ", 4000), "Noted. "+strings.Repeat("blah ", 4000)
		ask := func(messages ...string) {
			t.Helper()
			var list []map[string]string
			for i, words := range messages {
				list = append(list, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": words})
			}
			body := try(json.Marshal(list)).orFail(t)
			x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, string(body))})
			x.Prepare(ctx)
			x.RecordQuestion(ctx)
			x.RecordAnswer(ctx, answered(reply))
		}
		ask(question)
		ask(question, reply, "And you?")
		page, err := r.Store.Conversations(ctx, ana, memory.ConversationQuery{})
		if err != nil || len(page.Conversations) != 1 {
			t.Fatalf("got %d conversations, %v; want one that goes on", len(page.Conversations), err)
		}
		turns, err := r.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: page.Conversations[0].ID, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})
		if err != nil || len(turns) != 4 {
			t.Fatalf("got %d turns, %v; want four", len(turns), err)
		}
		for i, words := range []string{question, reply} {
			sum := sha256.Sum256([]byte(words))
			mark := fmt.Sprintf("\n[cut: %d bytes in all, SHA-256 %s]", len(words), hex.EncodeToString(sum[:]))
			got := turns[i].Content
			kept, marked := strings.CutSuffix(got, mark)
			if !marked || len(got) > most || len(got) < most-utf8.UTFMax || !strings.HasPrefix(words, kept) || !utf8.ValidString(got) {
				t.Errorf("turn %d: stored %d bytes that end in %q, want up to %d with %q", i, len(got), got[max(0, len(got)-120):], most, mark)
			}
		}
	})
}

// TestSecretAtTheCutIsRedacted: what is left of a secret would not be recognized as one.
func TestSecretAtTheCutIsRedacted(t *testing.T) {
	const most = 4 << 10
	for at := most - 300; at < most+10; at += 7 {
		r := newRig(t, stores["inmem"])
		ctx := context.Background()
		r.Opts.MaxTextBytes = most
		words := strings.Repeat("x ", at/2) + "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56Qr78 " + strings.Repeat("word ", 4000)
		x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"`+words+`"}]`), ChatID: "c"})
		x.RecordQuestion(ctx)
		x.RecordAnswer(ctx, answered("OK."))
		if path := strings.Join(r.path(t, "c"), ""); !strings.Contains(path, "[cut: ") || strings.Contains(path, "sk-") {
			t.Fatalf("secret at %d: stored …%q", at, path[max(0, len(path)-300):])
		}
	}
}

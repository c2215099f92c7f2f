package assembly

import (
	"fmt"
	"strings"
	"testing"
)

// TestPromptPrefixStaysOverAChat measures what a provider's prompt cache can keep: how
// much of each request stands, byte for byte, at the front of the next one, over a chat
// of 20 turns in which every question is given other memories.
//
//	tail, user  all of it: only what is new is read anew
//	system      nearly all, while what a conversation is told of the user at its beginning is enough
func TestPromptPrefixStaysOverAChat(t *testing.T) {
	topics := []string{"the cello", "glaciers", "rye bread", "lighthouses", "submarines", "orchids", "volcanoes", "typewriters", "comets", "beavers"}
	for placement, want := range map[string]struct{ least, most float64 }{
		"tail": {0.99, 1}, "user": {0.99, 1}, "system": {0.9, 1},
	} {
		t.Run(placement, func(t *testing.T) {
			s := newStage(t, "default", map[string]string{"recall.placement": placement, "learn.after": "never"})
			for i, topic := range topics {
				s.remember(nil, fmt.Sprintf("User has %d books about %s", i+3, topic))
			}
			s.model.reply = "That depends on which of them you mean, and on how much time there is to read."
			c := s.talk()
			before, kept, sent := "", 0, 0
			changed := 0
			for i := range 20 {
				asked, _ := c.says(fmt.Sprintf("How many books about %s do I have, question %d?", topics[i%len(topics)], i))
				now := asked.body
				if i > 0 {
					same := common(before, now)
					whole := len(before) - len("]}")
					kept, sent = kept+same, sent+whole
					if same < whole {
						changed++
					}
					// What the client said before its last message is where it was.
					if placement != "system" {
						if said := common(before, now); said < lastMessage(before) {
							t.Fatalf("turn %d: %d bytes stay, want the %d before the last message or the block:\n%s\n%s", i, said, lastMessage(before), before, now)
						}
					}
				}
				before = now
			}
			share := float64(kept) / float64(sent)
			t.Logf("%s: %.3f of each request stands at the front of the next; %d of 19 differ before their end", placement, share, changed)
			if share < want.least || share > want.most {
				t.Errorf("%s: %.3f of each request stays, want %.2f to %.2f", placement, share, want.least, want.most)
			}
		})
	}
}

// TestAnUnchangedBlockIsByteIdentical: the same memories to the same words give the
// same request, in each placement.
func TestAnUnchangedBlockIsByteIdentical(t *testing.T) {
	for _, placement := range []string{"tail", "system", "user"} {
		s := newStage(t, "default", map[string]string{"recall.placement": placement, "learn.after": "never"})
		s.remember(nil, "User plays the cello")
		c := s.talk()
		first, _ := c.says("Which instrument do I play?")
		c.messages = c.messages[:1]
		again, _ := c.send()
		if first.body != again.body {
			t.Errorf("%s: the request sent again is another:\n%s\n%s", placement, first.body, again.body)
		}
		s.has(placement, first.body, "- plays the cello")
	}
}

// TestBlocksStayAfterARestart: a server that was started anew puts back what the one before gave.
func TestBlocksStayAfterARestart(t *testing.T) {
	set := map[string]string{"store": "sqlite", "data": t.TempDir(), "learn.after": "never"}
	var before *talk
	var first chatAsked
	t.Run("before", func(t *testing.T) {
		s := newStage(t, "default", set)
		s.remember(nil, "User plays the cello")
		before = s.talk()
		first, _ = before.says("Which instrument do I play?")
		s.has("the first request", first.body, "- plays the cello")
	})
	t.Run("after", func(t *testing.T) {
		s := newStage(t, "default", set)
		c := s.talk()
		c.messages = before.messages
		asked, _ := c.says("And since when do I play the cello?")
		if !strings.HasPrefix(asked.body, first.body[:strings.LastIndex(first.body, "]")]) || strings.Count(asked.body, "- plays the cello") != 1 {
			t.Errorf("after a restart the request is\n%s\nafter\n%s", asked.body, first.body)
		}
	})
}

// common is how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// lastMessage is where in a request what is of its last turn alone begins: the block,
// or the last user message.
func lastMessage(body string) int {
	at := strings.LastIndex(body, `{"content":`)
	if block := strings.LastIndex(body, `{"role":"system"`); block >= 0 {
		at = min(at, block)
	}
	return at
}

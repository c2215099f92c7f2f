package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// talkOf is a talk of a user's messages, each of which is answered.
func talkOf(conversation string, words ...string) exchange.IngestRequest {
	talk := exchange.IngestRequest{Conversation: conversation}
	for _, w := range words {
		talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: w}, exchange.Message{Role: memory.RoleAssistant, Content: w + "?"})
	}
	return talk
}

// keeps has a talk kept.
func (r *rig) keeps(t *testing.T, talk exchange.IngestRequest) exchange.IngestResult {
	t.Helper()
	return try(r.Exchange.Ingest(t.Context(), ana, talk)).orFail(t)
}

// interruptBatch has do done once, right before the engine writes its n-th batch.
func (r *rig) interruptBatch(n int, do func()) {
	r.Background.Wait()
	r.Store = &interrupted{r.Store, func(memory.Batch) {
		if n--; n == 0 {
			do()
		}
	}}
}

// onePath fails if what is active in a conversation is not these messages, in order.
func (r *rig) onePath(t *testing.T, chat string, want ...string) {
	t.Helper()
	if got := r.path(t, chat); !slices.Equal(got, want) {
		t.Errorf("the path is %q, want %q", got, want)
	}
	for _, wrong := range r.unwound(t, chat) {
		t.Error(wrong)
	}
}

// A talk that is kept in a chat that was deleted brings that back, as a client does that
// goes on with it, whenever it was deleted.
func TestTwoServersOfWhichOneDeletesAChatLeaveWhatIsSaidSince(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		t.Run(fmt.Sprint("meanwhile ", meanwhile), func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				r.keeps(t, talkOf("c", "one"))
				other := r.second(t)
				remove := func() {
					if _, err := other.Chats.DeleteChat(t.Context(), ana, "c", false, her); err != nil {
						t.Error(err)
					}
				}
				if meanwhile {
					r.interruptBatch(1, remove)
				} else {
					remove()
				}
				r.keeps(t, talkOf("c", "two"))
				r.onePath(t, "c", "user: two", "assistant: two?")
				if chat, err := r.Chats.Chat(t.Context(), ana, "c"); err != nil || chat.MessageCount != 2 {
					t.Errorf("the chat has %d messages, %v; want the two that were said since", chat.MessageCount, err)
				}
			})
		})
	}
}

// A part that ends in what is not to be remembered is followed all the same.
func TestATalkGoesOnAfterWhatIsNotToBeRemembered(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		talk := exchange.IngestRequest{Conversation: "c", Learn: true}
		for i := range exchange.MaxTurnsPerWrite + 1 {
			talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: fmt.Sprint("Hello ", i)})
		}
		talk.Messages[exchange.MaxTurnsPerWrite-1].Content = "Don't remember this: I take Prozac."
		batches := 0
		r.Store = &interrupted{r.Store, func(memory.Batch) { batches++ }}
		kept := r.keeps(t, talk)
		last, err := r.Get(t.Context(), ana, kept.TurnIDs[exchange.MaxTurnsPerWrite])
		if err != nil || last.Turn.Index != exchange.MaxTurnsPerWrite || last.Turn.Parent != kept.TurnIDs[exchange.MaxTurnsPerWrite-1] || batches != 2 {
			t.Errorf("the last turn is at %d after %s, %v, and %d batches were written; want it at %d after %s, and 2",
				last.Turn.Index, last.Turn.Parent, err, batches, exchange.MaxTurnsPerWrite, kept.TurnIDs[exchange.MaxTurnsPerWrite-1])
		}
	})
}

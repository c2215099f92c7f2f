package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/memory"
)

// talkOf is a talk of a user's messages, each of which is answered.
func talkOf(conversation string, words ...string) exchange.Talk {
	talk := exchange.Talk{Conversation: conversation}
	for _, w := range words {
		talk.Messages = append(talk.Messages, exchange.Said{Role: memory.RoleUser, Content: w}, exchange.Said{Role: memory.RoleAssistant, Content: w + "?"})
	}
	return talk
}

// keeps has a talk kept.
func (r *rig) keeps(t *testing.T, talk exchange.Talk) exchange.Kept {
	t.Helper()
	kept, err := r.Exchange.Ingest(t.Context(), ana, talk)
	if err != nil {
		t.Fatal(err)
	}
	return kept
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

// Another server writes to a conversation right before a talk is kept there: the talk
// follows that.
func TestTwoServersThatKeepTalksAtOnceLeaveOnePath(t *testing.T) {
	for name, known := range map[string][]string{"a new one": nil, "one that is known": {"zero"}} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				var want []string
				if known != nil {
					r.keeps(t, talkOf("c", known...))
					want = []string{"user: zero", "assistant: zero?"}
				}
				other := r.second(t)
				r.interruptBatch(1, func() { other.keeps(t, talkOf("c", "one")) })
				r.keeps(t, talkOf("c", "two"))
				r.onePath(t, "c", append(want, "user: one", "assistant: one?", "user: two", "assistant: two?")...)
			})
		})
	}
}

// So too with an exchange, and what is learned from the talk is what it says.
func TestTwoServersOfWhichOneKeepsATalkLeaveOnePath(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		other := r.second(t)
		r.interruptBatch(1, func() {
			other.exchange(t, exchange.Incoming{Owner: ana, Chat: decode(t, "["+inBerlin+"]"), ChatID: "c"}, "Noted.")
		})
		talk := talkOf("c", "I play the cello.")
		talk.Infer = true
		r.keeps(t, talk)
		r.onePath(t, "c", "user: I live in Berlin.", "assistant: Noted.", "user: I play the cello.", "assistant: I play the cello.?")
		r.learned(t)
		if got := r.facts(t, ana); !slices.Equal(got, []string{"User lives in Berlin", "User plays the cello"}) {
			t.Errorf("known is %q, want Berlin and the cello", got)
		}
		r.sound(t, ana)
	})
}

// What comes between two parts of a long talk stands between them, also where the first
// part ends in what is not to be remembered, and where the talk was cut off and comes again.
func TestTwoServersStandBetweenThePartsOfATalk(t *testing.T) {
	for _, c := range []struct{ unsaid, cutOff, again bool }{{}, {unsaid: true}, {cutOff: true}, {again: true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				talk := exchange.Talk{Conversation: "c", Infer: true, Idempotency: "k"}
				for i := range exchange.IngestBatch + 2 {
					talk.Messages = append(talk.Messages, exchange.Said{Role: memory.RoleUser, Content: fmt.Sprint("Hello ", i)})
				}
				if c.unsaid {
					talk.Messages[exchange.IngestBatch-1].Content = "Don't remember this: I take Prozac."
				}
				other, plain := r.second(t), r.Store
				between := func() { other.keeps(t, talkOf("c", "one")) }
				switch {
				case c.cutOff:
					r.Store = &failAfter{plain, 1}
					if _, err := r.Exchange.Ingest(t.Context(), ana, talk); err == nil {
						t.Fatal("it is not cut off")
					}
					r.Store = plain
					between()
				case c.again:
					r.keeps(t, talk)
					between()
				default:
					r.interruptBatch(2, between)
				}
				kept := r.keeps(t, talk)
				if len(kept.Turns) != len(talk.Messages) {
					t.Errorf("%d turns are kept, want %d", len(kept.Turns), len(talk.Messages))
				}
				said := len(talk.Messages) + 2
				if c.unsaid {
					said--
				}
				path := r.path(t, "c")
				if len(path) != said {
					t.Fatalf("%d turns are on the path, want %d", len(path), said)
				}
				want := []string{"user: one", "assistant: one?", fmt.Sprint("user: Hello ", exchange.IngestBatch), fmt.Sprint("user: Hello ", exchange.IngestBatch+1)}
				if c.again {
					want = slices.Concat(want[2:], want[:2])
				}
				if end := path[said-4:]; !slices.Equal(end, want) {
					t.Errorf("the path ends with %q, want %q", end, want)
				}
				at := map[int]string{}
				turns, err := plain.Turns(t.Context(), ana, memory.TurnQuery{Conversation: "c"})
				if err != nil {
					t.Fatal(err)
				}
				for _, turn := range turns {
					if first, taken := at[turn.Index]; taken {
						t.Errorf("at %d there are %q and %q", turn.Index, first, turn.Content)
					}
					at[turn.Index] = turn.Content
				}
			})
		})
	}
}

// A part that ends in what is not to be remembered is followed all the same.
func TestATalkGoesOnAfterWhatIsNotToBeRemembered(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		talk := exchange.Talk{Conversation: "c", Infer: true}
		for i := range exchange.IngestBatch + 1 {
			talk.Messages = append(talk.Messages, exchange.Said{Role: memory.RoleUser, Content: fmt.Sprint("Hello ", i)})
		}
		talk.Messages[exchange.IngestBatch-1].Content = "Don't remember this: I take Prozac."
		batches := 0
		r.Store = &interrupted{r.Store, func(memory.Batch) { batches++ }}
		kept := r.keeps(t, talk)
		last, err := r.Get(t.Context(), ana, kept.Turns[exchange.IngestBatch])
		if err != nil || last.Turn.Index != exchange.IngestBatch || last.Turn.Parent != kept.Turns[exchange.IngestBatch-1] || batches != 2 {
			t.Errorf("the last turn is at %d after %s, %v, and %d batches were written; want it at %d after %s, and 2",
				last.Turn.Index, last.Turn.Parent, err, batches, exchange.IngestBatch, kept.Turns[exchange.IngestBatch-1])
		}
	})
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

// Another server writes to a conversation that is imported.
func TestTwoServersOfWhichOneImportsLeaveOnePath(t *testing.T) {
	const lines = `{"type":"conversation","id":"trip","title":"Trip","created_at":"2023-03-01T08:00:00Z"}
{"conversation":"trip","role":"user","content":"I moved to Porto","created_at":"2023-03-01T08:00:00Z"}
{"conversation":"trip","role":"assistant","content":"Lovely","created_at":"2023-03-01T08:00:30Z"}
`
	onEach(t, func(t *testing.T, r *rig) {
		other := r.second(t)
		r.interruptBatch(1, func() { other.keeps(t, talkOf("trip", "one")) })
		if out := r.bring(t, ana, transfer.ImportOptions{Learn: true}, lines); out.Added != (transfer.Tally{Turns: 2}) || out.Conflicting > 0 || out.Jobs != 1 {
			t.Errorf("what came of it: %+v, want two turns", out)
		}
		r.onePath(t, "trip", "user: one", "assistant: one?", "user: I moved to Porto", "assistant: Lovely")
	})
	onEach(t, func(t *testing.T, r *rig) { // the same file
		other := r.second(t)
		r.keeps(t, talkOf("trip", "one"))
		r.interruptBatch(1, func() {
			other.bring(t, ana, transfer.ImportOptions{}, lines+`{"conversation":"trip","role":"user","content":"Yes"}`)
		})
		longer := lines + `{"conversation":"trip","role":"user","content":"No"}`
		if out := r.bring(t, ana, transfer.ImportOptions{}, longer); out.Added != (transfer.Tally{}) || out.There.Turns != 2 || out.Conflicting != 1 {
			t.Errorf("what came of the same lines and another one: %+v, want two there and the other named, as if one came after the other", out)
		}
		r.onePath(t, "trip", "user: one", "assistant: one?", "user: I moved to Porto", "assistant: Lovely", "user: Yes")
	})
	onEach(t, func(t *testing.T, r *rig) { // turns that have their places
		r.keeps(t, talkOf("c", "one", "two"))
		file := r.whole(t, ana, transfer.ExportOptions{})
		to := newRig(t, stores["inmem"])
		other := to.second(t)
		to.interruptBatch(1, func() { other.keeps(t, talkOf("c", "three")) })
		if out := to.bring(t, ana, transfer.ImportOptions{}, file); out.Conflicting != 2 || out.Added.Turns != 2 {
			t.Errorf("what came of it: %+v, want the two turns named whose places are taken", out)
		}
		if got := to.path(t, "c"); !slices.Equal(got, []string{"user: three", "assistant: three?", "user: two", "assistant: two?"}) {
			t.Errorf("the path is %q, want one turn at each place", got)
		}
	})
}

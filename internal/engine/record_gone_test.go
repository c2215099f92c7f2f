package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// hung is a request whose client hung up before its answer was stored.
type hung struct {
	*exchange.Exchange
	ctx context.Context // the client's
}

// sent returns a request whose messages are its own, as those of a request that is sent again are.
func sent(in exchange.Incoming) exchange.Incoming {
	chat := *in.Chat
	chat.Messages = slices.Clone(chat.Messages)
	in.Chat = &chat
	return in
}

// hangsUp opens a request, stores its question, and lets the client go.
func (r *rig) hangsUp(t *testing.T, in exchange.Incoming) hung {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	x := r.Exchange.Open(ctx, sent(in))
	x.Prepare(ctx)
	x.RecordQuestion(ctx)
	noError(t)(x.QuestionID())
	cancel()
	return hung{x, ctx}
}

// says stores what was said to the client that hung up.
func (h hung) says(text string) { h.RecordAnswer(h.ctx, answered(text)) }

// exchange asks and answers.
func (r *rig) exchange(t *testing.T, in exchange.Incoming, answer string) {
	t.Helper()
	r.exchangeOf(t.Context(), in, answer)
}

// exchangeOf asks and answers a client, which may be gone.
func (r *rig) exchangeOf(client context.Context, in exchange.Incoming, answer string) {
	x := r.Exchange.Open(client, sent(in))
	x.Prepare(client)
	x.RecordQuestion(client)
	x.RecordAnswer(client, answered(answer))
}

// learned does what is due now and what waits in case an exchange never ends.
func (r *rig) learned(t *testing.T) {
	t.Helper()
	for range 2 {
		noError(t)(r.work(t.Context())) // before the job that waits in case it never ends
		r.clock.Advance(2 * exchange.LearnGrace)
	}
}

// offPath returns what an owner's conversation says off its path.
func (r *rig) offPath(t *testing.T, conversation string) []string {
	t.Helper()
	turns := try(r.Store.Turns(t.Context(), ana, memory.TurnQuery{Conversation: conversation, Statuses: []memory.Status{memory.Replaced}})).orFail(t)
	var out []string
	for _, turn := range turns {
		out = append(out, turn.Content)
	}
	return out
}

// onServers runs a rule where one server is asked again, and where another one is.
func onServers(t *testing.T, rule func(t *testing.T, r, again *rig)) {
	for _, servers := range []int{1, 2} {
		t.Run(fmt.Sprint(servers, " servers"), func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				again := r
				if servers == 2 {
					again = r.second(t)
				}
				rule(t, r, again)
			})
		})
	}
}

const (
	inLisbon = `{"role":"user","content":"I live in Lisbon."}`
	inBerlin = `{"role":"user","content":"I live in Berlin."}`
	hello    = `{"role":"user","content":"Hello there, I am back again today."},{"role":"assistant","content":"Welcome."},`
)

// A client gives up on a server and asks the same again, perhaps of another one. What it
// is told then keeps its place, whenever the first server comes to the end of its answer.
func TestALateAnswerToAClientThatIsGoneTakesNoOthersPlace(t *testing.T) {
	for name, c := range map[string]struct {
		id, before string
	}{
		"of a named chat":      {id: "c"},
		"later in it":          {id: "c", before: hello},
		"of one that is found": {before: hello},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, r, again *rig) {
				if c.before != "" {
					r.exchange(t, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"Hello there, I am back again today."}]`), ChatID: c.id}, "Welcome.")
				}
				in := func() exchange.Incoming {
					return exchange.Incoming{Owner: ana, Chat: decode(t, "["+c.before+inLisbon+"]"), ChatID: c.id, IdempotencyKey: "k"}
				}
				late := r.hangsUp(t, in())
				again.exchange(t, in(), "I have a cat named Tom.")
				late.says("I have a dog named Rex.")

				chat := r.onlyConversation(t)
				path := r.path(t, chat)
				want := []string{"user: I live in Lisbon.", "assistant: I have a cat named Tom."}
				if len(path) < 2 || !slices.Equal(path[len(path)-2:], want) {
					t.Errorf("the path is %q, want it to end with %q", path, want)
				}
				if off := r.offPath(t, chat); !slices.Equal(off, []string{"I have a dog named Rex."}) {
					t.Errorf("off the path there is %q, want what was said to the client that is gone", off)
				}
				r.learned(t)
				if got := r.facts(t, ana); !slices.Equal(got, []string{"User lives in Lisbon"}) {
					t.Errorf("known is %q, want Lisbon alone", got)
				}
				r.sound(t, ana)

				// The client may have heard it all the same, and go on from there.
				if c.id != "" {
					r.exchange(t, exchange.Incoming{Owner: ana, ChatID: c.id, Chat: decode(t, "["+c.before+inLisbon+
						`,{"role":"assistant","content":"I have a dog named Rex."},{"role":"user","content":"Fine."}]`)}, "Good.")
					if off := r.offPath(t, chat); !slices.Equal(off, []string{"I have a cat named Tom."}) {
						t.Errorf("after the client went on from the late answer %q is off the path, want the other one", off)
					}
				}
			})
		})
	}
}

// Nor does a request that is placed only once its client is gone change where the chat has come
// to since, or begin another chat with the same words.
func TestARequestPlacedAfterItsClientIsGoneTakesNothingBack(t *testing.T) {
	const cello = `{"role":"user","content":"I play the cello."}`
	noted := func(said ...string) string { return strings.Join(said, `,{"role":"assistant","content":"Noted."},`) }
	for name, c := range map[string]struct {
		since, late, off string // off is what stands beside the path
	}{
		"asked again, and gone on": {since: noted(inLisbon, cello), late: inLisbon},
		"said in other words":      {since: noted(inLisbon, cello), late: inBerlin, off: "I live in Berlin."},
		"nothing since":            {late: cello},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, r, again *rig) {
				r.greet(t)
				said := decode(t, "["+greeted+cmp.Or(c.since, c.late)+"]")
				for i := 2; c.since != "" && i < len(said.Messages); i += 2 {
					upTo := *said
					upTo.Messages = said.Messages[:i+1]
					again.exchange(t, exchange.Incoming{Owner: ana, Chat: &upTo}, "Noted.")
				}
				client, hangUp := context.WithCancel(t.Context())
				hangUp()
				r.exchangeOf(client, exchange.Incoming{Owner: ana, Chat: decode(t, "["+greeted+c.late+"]")}, "A lovely")

				var want, off []string
				for _, m := range said.Messages {
					want = append(want, string(m.Role)+": "+m.Text)
				}
				if c.since == "" {
					want = append(want, "assistant: A lovely")
				} else {
					want = append(want, "assistant: Noted.")
					off = []string{"A lovely"}
				}
				if c.off != "" {
					off = []string{c.off, "A lovely"}
				}
				chat := r.onlyConversation(t)
				if path := r.path(t, chat); !slices.Equal(path, want) {
					t.Errorf("the path is %q, want %q", path, want)
				}
				if got := r.offPath(t, chat); !slices.Equal(got, off) {
					t.Errorf("off the path there is %q, want %q", got, off)
				}
				r.learned(t)
				if got := r.facts(t, ana); slices.Contains(got, "User lives in Berlin") || !slices.Contains(got, "User plays the cello") {
					t.Errorf("known is %q, want the cello and no Berlin", got)
				}
				r.sound(t, ana)
			})
		})
	}
}

// greeted is an exchange that an edit of what comes after it can be told by.
const greeted = `{"role":"user","content":"Hello there, I am back again today."},{"role":"assistant","content":"Welcome."},`

func (r *rig) greet(t *testing.T) {
	t.Helper()
	r.exchange(t, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"Hello there, I am back again today."}]`), ChatID: "c"}, "Welcome.")
}

// So too in a chat that Loci keeps, where one server does not know what another one is
// answering.
func TestALateReplyToAClientThatIsGoneTakesNoOthersPlace(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		again := r.second(t)
		chat := newChat(t, r.Engine, chats.ChatEdit{})
		to := chats.ReplyListener{OnRecalled: func(retrieve.PromptMemory) {}, OnText: func(string) {}}
		says := chats.SayRequest{Owner: ana, Chat: chat, Content: "I live in Lisbon."}
		client, hangUp := context.WithCancel(t.Context())
		late := func(ctx context.Context, _ string, _ []chats.Message, heard func(string)) (chatapi.Answer, error) {
			heard("A lovely")
			hangUp()
			r.Background.Wait() // until the question is stored
			if _, err := again.Chats.Say(t.Context(), says, func(_ context.Context, _ string, _ []chats.Message, heard func(string)) (chatapi.Answer, error) {
				heard("Noted.")
				return answered("Noted."), nil
			}, to); err != nil {
				t.Error(err)
			}
			return answered("A lovely"), ctx.Err()
		}
		if _, err := r.Chats.Say(client, says, late, to); !errors.Is(err, context.Canceled) {
			t.Errorf("the reply to a client that is gone ends with %v, want that it is", err)
		}
		if path := r.path(t, chat); !slices.Equal(path, []string{"user: I live in Lisbon.", "user: I live in Lisbon.", "assistant: Noted."}) {
			t.Errorf("the path is %q, want the reply that was waited for", path)
		}
		if off := r.offPath(t, chat); !slices.Equal(off, []string{"A lovely"}) {
			t.Errorf("off the path there is %q, want what was said to the client that is gone", off)
		}
	})
}

// What was said so far stays said where nothing else was. Where a client asks for another
// answer and hangs up midway, that is kept beside the one it knew, and goes back to the path
// with the next message that follows it.
func TestAClientThatHangsUpLeavesWhatWasSaidSoFar(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		in := func(said string) exchange.Incoming {
			return exchange.Incoming{Owner: ana, Chat: decode(t, "["+inLisbon+said+"]"), ChatID: "c", IdempotencyKey: "k"}
		}
		path := func(answer string, more ...string) {
			t.Helper()
			if path := r.path(t, "c"); !slices.Equal(path, append([]string{"user: I live in Lisbon.", "assistant: " + answer}, more...)) {
				t.Errorf("the path is %q, want the question, %q and %q", path, answer, more)
			}
		}
		r.hangsUp(t, in("")).says("A lovely")
		path("A lovely")
		r.clock.Advance(time.Second)
		r.hangsUp(t, in("")).says("Portugal has")
		path("A lovely")
		if off := r.offPath(t, "c"); !slices.Equal(off, []string{"Portugal has"}) {
			t.Errorf("off the path there is %q, want the second answer", off)
		}
		r.exchange(t, in(`,{"role":"assistant","content":"Portugal has"},{"role":"user","content":"Go on."}`), "Sun.")
		path("Portugal has", "user: Go on.", "assistant: Sun.")
	})
}

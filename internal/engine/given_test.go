package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// chatting is a client that sends its whole history with each request, as a coding agent does.
type chatting struct {
	t        *testing.T
	owner    memory.Owner
	in       exchange.Incoming
	messages []string // of the history, in JSON
	answers  int
}

func user(words string) string { return `{"role":"user","content":"` + words + `"}` }

// sends sends the history to a server and returns what went upstream: the blocks of earlier
// requests and the new one, in order. An answer is recorded, and joins the history.
func (c *chatting) sends(r *rig) []string {
	c.t.Helper()
	p, x := c.opens(r)
	ctx := context.Background()
	x.RecordQuestion(ctx)
	c.answers++
	answer := fmt.Sprintf("It is so, number %d.", c.answers)
	x.RecordAnswer(ctx, answered(answer))
	r.Background.Wait()
	c.messages = append(c.messages, `{"role":"assistant","content":"`+answer+`"}`)
	return blocksIn(p)
}

func (c *chatting) opens(r *rig) (retrieve.PromptMemory, *exchange.Exchange) {
	c.t.Helper()
	in := c.in
	in.Owner, in.Chat, in.RestoreBlocks = c.owner, decode(c.t, `[`+strings.Join(c.messages, ",")+`]`), true
	in.BlockPart = in.Chat.BlockPart(chatapi.Tail)
	x := r.Exchange.Open(context.Background(), in)
	return x.Prepare(context.Background()), x
}

func blocksIn(p retrieve.PromptMemory) (out []string) {
	for _, b := range p.KeptBlocks {
		out = append(out, b.Text)
	}
	if p.Block != "" {
		out = append(out, p.Block)
	}
	return out
}

func (c *chatting) asks(r *rig, words string) []string {
	c.messages = append(c.messages, user(words))
	return c.sends(r)
}

// TestOldBlocksArePutBack by any server, and what they say is not said again.
func TestOldBlocksArePutBack(t *testing.T) {
	s := servers(t, 2)
	a, b := s[0], s[1]
	a.note(t, ana, "The cellar holds marzipan")
	c := &chatting{t: t, owner: ana}
	first := c.asks(a, "What does the cellar hold?")
	if len(first) != 1 || !strings.Contains(first[0], sweet) || !strings.Contains(first[0], recall.Preamble) {
		t.Fatalf("the first request is given %q", first)
	}
	if again := c.asks(b, "What does the cellar hold, again?"); len(again) != 1 || again[0] != first[0] {
		t.Errorf("another server puts back %q, want %q and no new block", again, first)
	}
	a.note(t, ana, "The cellar holds granite, too")
	third := c.asks(b, "And what else does the cellar hold?")
	if len(third) != 2 || third[0] != first[0] || strings.Contains(third[1], sweet) || !strings.Contains(third[1], "granite") || strings.Contains(third[1], recall.Preamble) {
		t.Errorf("then it is given %q, want the first block and the new fact", third)
	}
	if fourth := c.asks(a, "Is that all the cellar holds?"); len(fourth) != 2 || fourth[0] != third[0] || fourth[1] != third[1] {
		t.Errorf("then it is given %q, want %q", fourth, third)
	}
}

// TestOldBlocksAreStoredWithoutWords: by ids, dates and checksums alone.
func TestOldBlocksAreStoredWithoutWords(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "The cellar holds marzipan")
		noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: "Ana loves marzipan", Core: memory.CoreAlways}, her))
		noError(t)(r.SetProfileEntry(ctx, ana, "marzipan", "much marzipan", her))
		c := &chatting{t: t, owner: ana}
		if got := c.asks(r, "What does the cellar hold?"); len(got) != 1 || strings.Count(got[0], sweet) < 3 {
			t.Fatalf("given %q", got)
		}
		turns, err := r.Store.Turns(ctx, ana, memory.TurnQuery{})
		if err != nil || len(turns) != 2 || turns[0].Injected == "" || turns[1].Injected != "" {
			t.Fatalf("stored %+v, %v", turns, err)
		}
		if g, ok := exchange.ParseBlockRecord(turns[0].Injected); !ok || len(g.Lines) != 3 || strings.Contains(turns[0].Injected, sweet) {
			t.Errorf("stored %s", turns[0].Injected)
		}
	})
}

// TestWhatIsGoneLeavesOldBlocks: a memory that is forgotten, erased or edited. What stays is as
// it was.
func TestWhatIsGoneLeavesOldBlocks(t *testing.T) {
	for how, do := range map[string]func(r *rig, f memory.Fact) error{
		"forgotten": func(r *rig, f memory.Fact) error {
			return errOf(r.Curate.Forget(context.Background(), ana, []string{f.ID}, "", her))
		},
		"erased": func(r *rig, f memory.Fact) error {
			return errOf(r.Curate.ForgetMatching(context.Background(), ana, curate.ForgetRequest{IDs: []string{f.ID}, Erase: true}, her))
		},
		"edited": func(r *rig, f memory.Fact) error {
			return errOf(r.Curate.EditFact(context.Background(), ana, f.ID, curate.FactEdit{Content: ptr("The cellar holds nougat")}, her))
		},
	} {
		t.Run(how, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				f := r.note(t, ana, "The cellar holds marzipan")
				r.note(t, ana, "The cellar is cold")
				c := &chatting{t: t, owner: ana}
				first := c.asks(r, "What does the cellar hold, and is it cold?")
				noError(t)(do(r, f))
				got := c.asks(r, "Is the cellar cold, and what does it hold?")
				var without []string
				for line := range strings.SplitSeq(first[0], "\n") {
					if !strings.Contains(line, sweet) {
						without = append(without, line)
					}
				}
				if len(got) == 0 || got[0] != strings.Join(without, "\n") || strings.Contains(strings.Join(got, ""), sweet) {
					t.Errorf("the old block is %q, want %q", got, without)
				}
				if edited := len(got) == 2 && strings.Contains(got[1], "nougat"); edited != (how == "edited") {
					t.Errorf("given %q: what changed is told: %v", got, edited)
				}
			})
		})
	}
}

// TestRetryGetsTheBlockOfItsFirstTry, whatever was learned meanwhile; of another server, too.
func TestRetryGetsTheBlockOfItsFirstTry(t *testing.T) {
	s := servers(t, 2)
	s[0].note(t, ana, "The cellar holds marzipan")
	c := &chatting{t: t, owner: ana, messages: []string{user("What does the cellar hold?")}, in: exchange.Incoming{IdempotencyKey: "k"}}
	_, x := c.opens(s[0])
	x.RecordQuestion(context.Background())
	x.RecordAnswer(context.Background(), chatapi.Answer{}) // the upstream failed
	s[0].Background.Wait()
	first := blocksIn(x.PromptMemory)
	s[0].note(t, ana, "The cellar holds granite")
	for _, r := range s {
		if got := c.sends(r); len(got) != 1 || got[0] != first[0] {
			t.Errorf("the retry is given %q, want %q", got, first)
		}
		c.messages = c.messages[:1]
	}
}

// TestMessageAloneGetsNewMemory: a client may name one conversation for everything, and send no
// history. The same words are no retry, soon or late.
func TestMessageAloneGetsNewMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.note(t, ana, "The cellar holds marzipan")
		c := &chatting{t: t, owner: ana, in: exchange.Incoming{ChatID: "always"}}
		c.asks(r, "What does the cellar hold?")
		r.note(t, ana, "The cellar holds granite")
		var got [2][]string
		for i := range got {
			c.messages = c.messages[:1]
			got[i] = c.sends(r)
		}
		if len(got[0]) != 1 || !strings.Contains(got[0][0], sweet) || !strings.Contains(got[0][0], "granite") || len(got[1]) != 1 {
			t.Errorf("given %q", got)
		}
		if again := c.asks(r, "Is that all?"); len(again) == 0 || again[0] != got[1][0] {
			t.Errorf("then %q is put back, want %q", again, got[1])
		}
	})
}

// TestNoBlockIsKeptWhereNothingIsStored: a chat that hides what is said, a temporary one, a
// channel, and memory on pause.
func TestNoBlockIsKeptWhereNothingIsStored(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, r *rig, in *exchange.Incoming){
		"read":      func(_ *testing.T, _ *rig, in *exchange.Incoming) { in.Extras.Mode = chatapi.ModeRead },
		"off":       func(_ *testing.T, _ *rig, in *exchange.Incoming) { in.Extras.Mode = chatapi.ModeOff },
		"temporary": func(_ *testing.T, _ *rig, in *exchange.Incoming) { in.ChatID = "temporary:1" },
		"channel": func(_ *testing.T, r *rig, in *exchange.Incoming) {
			r.Opts.Channels = core.ChannelsRead
			in.ChatID = "channel:1"
		},
		"pause": func(t *testing.T, r *rig, _ *exchange.Incoming) {
			noError(t)(r.SetPause(context.Background(), ana, core.PauseMemory, "", her))
		},
		"in confidence": func(*testing.T, *rig, *exchange.Incoming) {},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				r.note(t, ana, "The cellar holds marzipan")
				c := &chatting{t: t, owner: ana}
				change(t, r, &c.in)
				words := "What does the cellar hold?"
				if name == "in confidence" {
					words = "Off the record: what does the cellar hold?"
				}
				c.asks(r, words)
				turns := try(r.Store.Turns(context.Background(), ana, memory.TurnQuery{Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})).orFail(t)
				for _, turn := range turns {
					if turn.Injected != "" {
						t.Errorf("a %s turn keeps %s", turn.Status, turn.Injected)
					}
				}
			})
		})
	}
}

// TestAnothersSessionGivesNoBlock: a conversation is named by whoever asks.
func TestAnothersSessionGivesNoBlock(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.note(t, ana, "The cellar holds marzipan")
		c := &chatting{t: t, owner: ana, in: exchange.Incoming{ChatID: "ses_1"}}
		c.asks(r, "What does the cellar hold?")
		c.owner = ben
		if got := c.asks(r, "And what else does the cellar hold?"); len(got) > 0 {
			t.Errorf("another user is given %q", got)
		}
	})
}

// TestTwoAgentsInOneSession send histories of their own under one name: each gets its blocks.
func TestTwoAgentsInOneSession(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.note(t, ana, "The cellar holds marzipan")
		r.note(t, ana, "The attic holds granite")
		one := &chatting{t: t, owner: ana, in: exchange.Incoming{ChatID: "ses_1"}}
		two := &chatting{t: t, owner: ana, in: exchange.Incoming{ChatID: "ses_1"}}
		a, b := one.asks(r, "What does the cellar hold?"), two.asks(r, "What does the attic hold?")
		for range 2 {
			if got := one.asks(r, "Go on with the cellar."); len(got) == 0 || got[0] != a[0] {
				t.Errorf("the first agent is given %q, want %q", got, a)
			}
			if got := two.asks(r, "Go on with the attic."); len(got) == 0 || got[0] != b[0] {
				t.Errorf("the second agent is given %q, want %q", got, b)
			}
		}
	})
}

// TestBlocksGoWithTheirConversation, and with a message that is forgotten.
func TestBlocksGoWithTheirConversation(t *testing.T) {
	for how, do := range map[string]func(r *rig, chat, question string) error{
		"deleted": func(r *rig, chat, _ string) error {
			return errOf(r.Chats.DeleteChat(context.Background(), ana, chat, false, her))
		},
		"forgotten": func(r *rig, _, question string) error {
			return errOf(r.Curate.Forget(context.Background(), ana, []string{question}, "", her))
		},
	} {
		t.Run(how, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				r.note(t, ana, "The cellar holds marzipan")
				c := &chatting{t: t, owner: ana, in: exchange.Incoming{ChatID: "chat"}}
				c.asks(r, "What does the cellar hold?")
				turns, err := r.Store.Turns(context.Background(), ana, memory.TurnQuery{Conversation: "chat"})
				if err != nil || len(turns) == 0 {
					t.Fatal(turns, err)
				}
				noError(t)(do(r, "chat", turns[0].ID))
				c.messages = append(c.messages, user("And what else?"))
				if p, _ := c.opens(r); len(p.KeptBlocks) > 0 {
					t.Errorf("put back: %+v", p.KeptBlocks)
				}
			})
		})
	}
}

// TestRulesAndDocumentsAreToldOnce, and again once they change.
func TestRulesAndDocumentsAreToldOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		menu := try(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Menu"), Content: ptr("Satay and rice.")}, her)).orFail(t)
		chat := newChat(t, r.Engine, chats.ChatEdit{Rules: ptr(briefly), Contexts: &[]string{menu.ID}})
		c := &chatting{t: t, owner: ana, in: exchange.Incoming{ChatID: chat}}
		first := c.asks(r, "What may I eat?")
		if len(first) != 1 || !strings.Contains(first[0], "Satay") || !strings.HasPrefix(first[0], exchange.WithRules("", briefly)) {
			t.Fatalf("given %q", first)
		}
		if got := c.asks(r, "And my sister?"); len(got) != 1 || got[0] != first[0] {
			t.Errorf("given %q, want %q", got, first)
		}
		noError(t)(r.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Rules: ptr("Answer in verse.")}, her))
		got := c.asks(r, "And my brother?")
		if len(got) != 2 || strings.Contains(got[0], "one sentence") || !strings.Contains(got[0], "Satay") || !strings.Contains(got[1], "in verse") {
			t.Errorf("given %q", got)
		}
	})
}

// TestHistoryThatHoldsABlockGetsNoSecond: a client may store what it was sent.
func TestHistoryThatHoldsABlockGetsNoSecond(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.note(t, ana, "The cellar holds marzipan")
		c := &chatting{t: t, owner: ana}
		first := c.asks(r, "What does the cellar hold?")
		c.messages = append([]string{string(try(json.Marshal(map[string]string{"role": "system", "content": first[0]})).orFail(t))}, c.messages...)
		if got := c.asks(r, "And what else does the cellar hold?"); len(got) > 0 {
			t.Errorf("given %q beside what it has", got)
		}
	})
}

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/files"
	"github.com/loci-memory/loci/memory"
)

// What is said at another server while a chat is deleted is deleted with it.
func TestTwoServersLeaveNothingInADeletedChat(t *testing.T) {
	for _, last := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
		onEach(t, func(t *testing.T, r *rig) {
			other := r.second(t)
			in := func(said string) exchange.Incoming {
				return exchange.Incoming{Owner: ana, Chat: decode(t, "["+said+"]"), ChatID: "c"}
			}
			r.exchange(t, in(`{"role":"user","content":"Hello there, I am back again today."}`), "Welcome.")
			x := other.hangsUp(t, in(hello+inLisbon))
			if last == memory.RoleUser {
				x.says("A lovely town.")
			}
			let := r.between("Apply forget", 1, func() error {
				if last == memory.RoleUser {
					other.hangsUp(t, in(hello+inLisbon+`,{"role":"assistant","content":"A lovely town."},{"role":"user","content":"I play the cello."}`))
				} else {
					x.says("A lovely town.")
				}
				return nil
			})
			receipt, err := r.Chats.DeleteChat(t.Context(), ana, "c", false, her)
			if err != nil || !*let {
				t.Fatalf("deleted with %v; the other was let in: %v", err, *let)
			}
			r.onePath(t, "c")
			noError(t)(r.Curate.Undo(t.Context(), ana, curate.UndoRequest{RunID: receipt.Run}, her))
			path := r.path(t, "c")
			if want := []string{"user: I live in Lisbon.", "assistant: A lovely town."}; len(path) < 4 || !slices.Equal(path[2:4], want) {
				t.Errorf("after the undo the path is %q, want it to have %q", path, want)
			}
			for _, wrong := range r.unwound(t, "c") {
				t.Error(wrong)
			}
		})
	}
}

// A chat is made at one server and deleted at another before anything was said in it: what is
// said then brings it back, with the rules that it has.
func TestTwoServersOfWhichOneDeletesAChatBeforeItsFirstTurn(t *testing.T) {
	question, answer := "I live in Lisbon.", "A lovely town."
	for name, say := range map[string]func(t *testing.T, r *rig, chat string){
		"by a client that sends all of it": func(t *testing.T, r *rig, chat string) {
			r.exchange(t, exchange.Incoming{Owner: ana, Chat: decode(t, "["+inLisbon+"]"), ChatID: chat}, answer)
		},
		"by a client that names it": func(t *testing.T, r *rig, chat string) {
			r.exchange(t, exchange.Incoming{Owner: ana, Chat: decode(t, "["+inLisbon+"]"), Extras: chatapi.Extras{ID: chat}}, answer)
		},
		"in a chat that Loci keeps": func(t *testing.T, r *rig, chat string) {
			m := replies(answer)
			noError(t)(r.Chats.Say(t.Context(), chats.SayRequest{Owner: ana, Chat: chat, Content: question, Model: "m"}, m.talk, deaf))
		},
		"in a talk": func(t *testing.T, r *rig, chat string) {
			talk := exchange.IngestRequest{Conversation: chat, Messages: []exchange.Message{{Role: memory.RoleUser, Content: question}, {Role: memory.RoleAssistant, Content: answer}}}
			noError(t)(r.Exchange.Ingest(t.Context(), ana, talk))
		},
	} {
		for _, edited := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, edited %v", name, edited), func(t *testing.T) {
				onEach(t, func(t *testing.T, r *rig) {
					other := r.second(t)
					chat := newChat(t, r.Engine, chats.ChatEdit{Title: ptr("Towns"), Rules: ptr("Be brief.")})
					if edited {
						noError(t)(other.Chats.EditChat(t.Context(), ana, chat, chats.ChatEdit{Rules: ptr("Be very brief.")}, her))
					}
					deleted := false
					r.interrupt(memory.RoleUser, func() {
						noError(t)(other.Chats.DeleteChat(t.Context(), ana, chat, false, her))
						deleted = true
					})
					say(t, r, chat)
					if !deleted {
						t.Fatal("nothing was said")
					}
					got := try(other.Chats.Chat(t.Context(), ana, chat)).orFail(t)
					if got.Title != "Towns" || !strings.HasSuffix(got.Rules, "brief.") || got.MessageCount != 2 {
						t.Errorf("the chat is %+v, want it back as it was with two messages", got)
					}
					r.onePath(t, chat, "user: "+question, "assistant: "+answer)
					r.sound(t, ana)
				})
			})
		}
	}
}

// A chat is deleted at another server right before an answer in it is stored: nothing is
// active in it, and nothing is learned.
func TestAnAnswerDoesNotBringADeletedChatBack(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		other := r.second(t)
		x := r.hangsUp(t, exchange.Incoming{Owner: ana, Chat: decode(t, "["+inLisbon+"]"), ChatID: "c"})
		x.ctx = t.Context()
		r.interrupt(memory.RoleAssistant, func() {
			noError(t)(other.Chats.DeleteChat(t.Context(), ana, "c", false, her))
		})
		x.says("A lovely town.")
		if got, err := r.Chats.Chat(t.Context(), ana, "c"); !errors.Is(err, memory.NotFound) {
			t.Errorf("the chat is %+v, %v; want it deleted", got, err)
		}
		r.onePath(t, "c")
		r.learned(t)
		if got := r.facts(t, ana); len(got) > 0 {
			t.Errorf("known is %q, want nothing", got)
		}
	})
}

// Two people write of one thing at once: neither is refused, and what each wrote stays.
func TestTwoServersEditOneThingAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		other := r.second(t)
		chat := newChat(t, r.Engine, chats.ChatEdit{Title: ptr("Old")})
		r.between("Apply manual", 1, func() error {
			return errOf(other.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Rules: ptr("Be brief.")}, her))
		})
		got, err := r.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Title: ptr("New")}, her)
		if err != nil || got.Title != "New" || got.Rules != "Be brief." {
			t.Errorf("the chat is %q with the rules %q, %v; want what both wrote", got.Title, got.Rules, err)
		}
	})
	onEach(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		other := r.second(t)
		made := try(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Old"), Content: ptr("Tea at five.")}, her)).orFail(t)
		r.between("Apply manual", 1, func() error {
			return errOf(other.Curate.EditContext(ctx, ana, made.ID, curate.ContextEdit{Content: ptr("Tea at six.")}, her))
		})
		got, err := r.Curate.EditContext(ctx, ana, made.ID, curate.ContextEdit{Title: ptr("New")}, her)
		if err != nil || got.Title != "New" || got.Content != "Tea at six." {
			t.Errorf("the context is %q, %q, %v; want what both wrote", got.Title, got.Content, err)
		}
		if now, err := r.Context(ctx, ana, made.ID, memory.At{}); err != nil || now != got {
			t.Errorf("it is %+v, %v; returned was %+v", now, err, got)
		}
	})
	for _, known := range []bool{false, true} {
		onEach(t, func(t *testing.T, r *rig) {
			ctx := t.Context()
			other := r.second(t)
			set := func(e *Engine, value string) error { return errOf(e.SetProfileEntry(ctx, ana, "name", value, her)) }
			if known {
				noError(t)(set(r.Engine, "A."))
			}
			let := r.between("Apply manual", 1, func() error { return set(other.Engine, "Anna") })
			if err := set(r.Engine, "Ana"); err != nil || !*let {
				t.Fatalf("set with %v; the other was let in: %v", err, *let)
			}
			if now, err := r.ReadProfileEntry(ctx, ana, "name"); err != nil || now.Value != "Ana" {
				t.Errorf("the entry is %q, %v; want what was written last", now.Value, err)
			}
		})
	}
}

// A file says something while a person writes what contradicts it at another server: what
// is written last is active, alone.
func TestTwoServersOfWhichOneReadsAFileKeepOneHome(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		other := r.second(t)
		let := r.between("Apply manual", 1, func() error {
			return errOf(other.Curate.Remember(ctx, ana, curate.FactInput{Content: "User lives in Lisbon"}, her))
		})
		edit := files.FileEdit{Owner: ana, IdempotencyKey: "k", Content: memory.FileContent{Fact: &memory.Fact{
			Content: "User lives in Berlin", Scope: memory.Scope{Owner: ana}, Status: memory.Active, Confidence: 1,
		}}}
		target, err := r.Files.ApplyEdit(ctx, edit)
		if err != nil || !*let {
			t.Fatalf("taken with %v; the other was let in: %v", err, *let)
		}
		if again, err := r.Files.ApplyEdit(ctx, edit); err != nil || again != target {
			t.Errorf("the same edit again: %s, %v; want %s", again, err, target)
		}
		if got := r.facts(t, ana); !slices.Equal(got, []string{"User lives in Berlin"}) {
			t.Errorf("known is %q, want Berlin alone", got)
		}
		r.sound(t, ana)
	})
}

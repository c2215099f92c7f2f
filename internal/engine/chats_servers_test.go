package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
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
			if _, err := r.Curate.Undo(t.Context(), ana, curate.UndoRequest{Run: receipt.Run}, her); err != nil {
				t.Fatal(err)
			}
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

// A chat is deleted at another server right before an answer in it is stored: nothing is
// active in it, and nothing is learned.
func TestAnAnswerDoesNotBringADeletedChatBack(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		other := r.second(t)
		x := r.hangsUp(t, exchange.Incoming{Owner: ana, Chat: decode(t, "["+inLisbon+"]"), ChatID: "c"})
		x.ctx = t.Context()
		r.interrupt(memory.RoleAssistant, func() {
			must[memory.Receipt](t)(other.Chats.DeleteChat(t.Context(), ana, "c", false, her))
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
			_, err := other.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Rules: ptr("Be brief.")}, her)
			return err
		})
		got, err := r.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Title: ptr("New")}, her)
		if err != nil || got.Title != "New" || got.Rules != "Be brief." {
			t.Errorf("the chat is %q with the rules %q, %v; want what both wrote", got.Title, got.Rules, err)
		}
	})
	onEach(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		other := r.second(t)
		made, err := r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Old"), Content: ptr("Tea at five.")}, her)
		if err != nil {
			t.Fatal(err)
		}
		r.between("Apply manual", 1, func() error {
			_, err := other.Curate.EditContext(ctx, ana, made.ID, curate.ContextEdit{Content: ptr("Tea at six.")}, her)
			return err
		})
		got, err := r.Curate.EditContext(ctx, ana, made.ID, curate.ContextEdit{Title: ptr("New")}, her)
		if err != nil || got.Title != "New" || got.Content != "Tea at six." {
			t.Errorf("the context is %q, %q, %v; want what both wrote", got.Title, got.Content, err)
		}
		if now, err := r.Context(ctx, ana, made.ID); err != nil || now != got {
			t.Errorf("it is %+v, %v; returned was %+v", now, err, got)
		}
	})
	for _, known := range []bool{false, true} {
		onEach(t, func(t *testing.T, r *rig) {
			ctx := t.Context()
			other := r.second(t)
			set := func(e *Engine, value string) error {
				_, err := e.SetProfile(ctx, ana, "name", value, her)
				return err
			}
			if known {
				if err := set(r.Engine, "A."); err != nil {
					t.Fatal(err)
				}
			}
			let := r.between("Apply manual", 1, func() error { return set(other.Engine, "Anna") })
			if err := set(r.Engine, "Ana"); err != nil || !*let {
				t.Fatalf("set with %v; the other was let in: %v", err, *let)
			}
			if now, err := r.ReadEntry(ctx, ana, "name"); err != nil || now.Value != "Ana" {
				t.Errorf("the entry is %q, %v; want what was written last", now.Value, err)
			}
		})
	}
}

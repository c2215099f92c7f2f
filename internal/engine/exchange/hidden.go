package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// A request may ask that nothing is stored (memory_mode off or read, memory paused), and a
// later request of the same chat may send the same messages without asking so. To recognize
// them then, each message leaves a redacted turn: retired, without text, identified by its
// place in the chat. A recall leaves a trace without text. Chats that are temporary by their
// id, and channels, leave nothing at all.

// stores reports whether the exchange stores turns, redacted or not: none of a temporary
// chat, a channel, or an owner who is closed.
func (x *Exchange) stores() bool {
	return !x.temporary() && !x.In.channel() && !x.e.SeenClosed(x.In.Owner)
}

// Hides reports whether its turns are redacted.
func (x *Exchange) Hides() bool { return !x.Writes }

// temporary reports whether the chat is not kept, by its id.
func (x *Exchange) temporary() bool {
	mode := x.In.Extras.Mode
	return x.In.temporary() && (mode == "" || mode == chatapi.ModeRead || mode == chatapi.ModeOff)
}

// temporary reports whether the chat's id is one of a temporary chat.
func (in Incoming) temporary() bool { return in.idBegins(temporaryChats...) }

// channel reports whether the chat's id is one of a channel.
func (in Incoming) channel() bool { return in.idBegins(channelChats) }

func (in Incoming) idBegins(prefixes ...string) bool {
	return !in.Own && slices.ContainsFunc(prefixes, func(p string) bool {
		return strings.HasPrefix(in.ChatID, p) || strings.HasPrefix(in.Extras.ID, p)
	})
}

// IsUnsaved reports whether an id of Open WebUI's names a chat that is not kept, or a channel.
func IsUnsaved(chat string) bool {
	in := Incoming{ChatID: chat}
	return in.temporary() || in.channel()
}

// redact removes from a batch what redacted turns must not change: the path and the
// conversation's title.
func (x recorder) redact(batch *memory.Batch) {
	if x.Hides() {
		batch.Marks, batch.Path = nil, nil
	}
	if len(x.unsaid) > 0 {
		batch.Conversation.Title = ""
	}
}

// redacted returns a turn without text, as it is stored.
func redacted(t memory.Turn) memory.Turn {
	t = t.Erased()
	t.Name, t.Status = "", memory.Retired
	return t
}

// offTheRecord reports whether a turn is redacted since the user asked not to remember it, or
// since it answers such a message and may repeat it.
func (x *Exchange) offTheRecord(t memory.Turn) bool {
	if t.Role == memory.RoleUser {
		x.private = learn.WishesIn(t).Confidential()
	}
	return x.private
}

// Confidential reports whether the user's last message is off the record. Where the
// request has only tool results, a retired question counts as such.
func (x *Exchange) Confidential() bool {
	return x.wishes.Confidential() || x.resultsAlone() && x.before.Status == memory.Retired
}

// tombstone marks the text of redacted turns, so that it is recognized when a client sends it
// again.
func (x recorder) tombstone(ctx context.Context) error {
	marked, err := x.e.bury(ctx, x.In.Owner, x.unsaid)
	if marked {
		x.unsaid = nil
	}
	return err
}

// bury marks turns, and reports whether it did: some stores keep no marks.
func (e *Exchanges) bury(ctx context.Context, owner memory.Owner, turns []memory.Turn) (marked bool, err error) {
	s, ok := e.Store.(memory.Tombstones)
	if !ok || len(turns) == 0 {
		return false, nil
	}
	if err := s.Bury(ctx, owner, turns...); err != nil {
		return false, fmt.Errorf("mark what is hidden: %w", err)
	}
	return true, nil
}

// redactForgotten redacts new turns of the chat's history whose text the owner has forgotten
// or erased. Otherwise a client that sends an old chat under a new id would bring it back.
func (x recorder) redactForgotten(ctx context.Context, turns []memory.Turn) error {
	var history []memory.Turn
	var at []int
	for i, t := range turns {
		if x.At.New[i].History && t.Content != "" {
			history, at = append(history, t), append(at, i)
		}
	}
	if len(history) == 0 {
		return nil
	}
	gone, err := x.forgotten(ctx, history)
	if err != nil {
		return fmt.Errorf("look for what was forgotten: %w", err)
	}
	for i, known := range gone {
		if known {
			turns[at[i]] = redacted(turns[at[i]])
		}
	}
	return nil
}

// forgotten reports which of the turns have a forgotten text. In a store without tombstones
// it reads all retired turns.
func (x recorder) forgotten(ctx context.Context, turns []memory.Turn) ([]bool, error) {
	if s, ok := x.e.Store.(memory.Tombstones); ok {
		return s.Buried(ctx, x.In.Owner, turns...)
	}
	gone := map[string]bool{}
	err := x.e.Everything(ctx, x.In.Owner, memory.Query{Kinds: []memory.Kind{memory.KindTurn}, Statuses: []memory.Status{memory.Retired}}, func(m memory.Memory) {
		gone[lessons.Spoken(*m.Turn)] = true
	})
	out := make([]bool, len(turns))
	for i, t := range turns {
		out[i] = gone[lessons.Spoken(t)]
	}
	return out, err
}

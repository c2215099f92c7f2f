package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// A request that is to leave nothing in memory (memory_mode off or read, memory on
// pause) is of a chat that may go on with memory, and its client then sends all of it
// again. So that what was hidden is known by then, and not stored as what was said
// before, each of its messages leaves a turn without words: forgotten, never learned
// from, told by its place in the chat alone; what was recalled leaves a trace without
// words. A chat that is temporary by its id has no such sequel, and leaves nothing at
// all; nor does a channel.

// stores reports whether the exchange leaves turns, with their words or without: none
// of a temporary chat, of a channel, or of an owner who is closed.
func (x *Exchange) stores() bool {
	return !x.temporary() && !x.In.channel() && !x.e.SeenClosed(x.In.Owner)
}

// Hides reports whether they are without words.
func (x *Exchange) Hides() bool { return !x.Writes }

// temporary reports whether the client names the chat as one that is not kept.
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

// redact takes out of a batch what turns without words leave as it was: the path, and
// what the conversation is called.
func (x recorder) redact(batch *memory.Batch) {
	if x.Hides() {
		batch.Marks, batch.Path = nil, nil
	}
	if len(x.unsaid) > 0 {
		batch.Conversation.Title = ""
	}
}

// redacted returns a turn as it is left by an exchange that hides it.
func redacted(t memory.Turn) memory.Turn {
	t = t.Erased()
	t.Name, t.Status = "", memory.Retired
	return t
}

// offTheRecord reports whether a message is hidden since the user wishes that it is not
// remembered, or answers one that is: the answer may repeat it.
func (x *Exchange) offTheRecord(role memory.Role, words string) bool {
	if role == memory.RoleUser {
		x.private = Confidential(words)
	}
	return x.private
}

// asksInConfidence reports that of the last thing that the user said. Of what was said
// before, whatever was taken out of memory counts.
func (x *Exchange) asksInConfidence() bool {
	if x.resultsAlone() {
		return x.before.Status == memory.Retired
	}
	last := x.In.Chat.LastUser()
	return last >= 0 && Confidential(x.In.Chat.Messages[last].Text)
}

// Confidential reports whether a user's words are not to be remembered. Where they wish
// something to be forgotten that may be known already they are read first, and leave
// recall then: see [lessons.Learner.grant].
func Confidential(words string) bool {
	if !extract.OffTheRecord(words) {
		return false
	}
	_, forget := extract.Commands([]extract.Utterance{{Turn: memory.Turn{Role: memory.RoleUser}, Text: words}})
	return len(forget) == 0
}

// tombstone lets the words of turns that are stored without them be known again.
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

// redactForgotten hides those of the new turns that are history, which are to be stored anew,
// whose words the owner has forgotten, erased or hidden: a client that names no
// conversation, or another one, or edits what stood before, does not bring them back.
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

// forgotten reports which of the turns say what is forgotten. A store that keeps no
// marks is asked for all that is out of recall.
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

package exchange

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// mode is what a chat may do with memory.
type mode struct {
	reads  bool // it gets memory
	writes bool // its turns have words; else they are redacted
	learns bool // its turns are learned from
	keeps  bool // it leaves turns and traces at all
	unsure bool // what is paused was not known
}

// modes are those of chats that are kept, by the memory_mode that their requests name.
var modes = map[string]mode{
	"":                    {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeReadWrite: {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeWrite:     {writes: true, learns: true, keeps: true},
	chatapi.ModeRead:      {reads: true, keeps: true},
	chatapi.ModeOff:       {keeps: true},
}

// modeOf returns what a request may do while nothing is paused. A channel and, unless its
// mode says otherwise, a temporary chat leave nothing at all.
func (e *Exchanges) modeOf(in Incoming) mode {
	asked := in.Extras.Mode
	if in.temporary() && asked == "" {
		asked = chatapi.ModeRead
	}
	if in.channel() {
		asked = e.Opts.Channels.Mode(asked)
	}
	m := modes[asked]
	m.keeps = !in.channel() && (m.writes || !in.temporary())
	return m
}

// under returns what is left of a mode under a pause. While a pause is not known, memory is
// not read; it is asked for again before a write.
func (m mode) under(p core.Pause) mode {
	switch p {
	case core.PauseMemory:
		return mode{keeps: m.keeps}
	case core.PauseLearning:
		m.learns = false
	case core.PauseUnknown:
		m.reads = false
	}
	m.unsure = p == core.PauseUnknown
	return m
}

// heed asks again, right before a write, what the user has paused: memory may have been paused
// since. What was said before a pause of learning is learned from.
func (e *Exchanges) heed(ctx context.Context, owner memory.Owner, m mode) (mode, error) {
	pause, err := e.AskPaused(ctx, owner)
	if pause == core.PauseLearning && !m.unsure {
		return m, nil
	}
	return m.under(pause), err
}

// temporaryChats begin the ids that Open WebUI gives to chats that are not to be kept, those of
// older versions last.
var temporaryChats = []string{"temporary:", "local:"}

// channelChats begins the ids of Open WebUI's channels, whose answers are read by everybody there.
const channelChats = "channel:"

func (in Incoming) temporary() bool { return in.idBegins(temporaryChats...) }
func (in Incoming) channel() bool   { return in.idBegins(channelChats) }

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

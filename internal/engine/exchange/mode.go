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
	writes bool // its turns have text; else they are redacted
	learns bool // its turns are learned from
	keeps  bool // it stores turns and traces at all
	unsure bool // the pause is unknown
}

// modes are the modes of stored chats, by the request's memory_mode.
var modes = map[string]mode{
	"":                    {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeReadWrite: {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeWrite:     {writes: true, learns: true, keeps: true},
	chatapi.ModeRead:      {reads: true, keeps: true},
	chatapi.ModeOff:       {keeps: true},
}

// modeOf returns a request's mode while nothing is paused. A channel and, unless its mode overrides
// it, a temporary chat store nothing.
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

// under restricts a mode by a pause. While the pause is unknown, memory is not read; it is checked
// again before a write.
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

// heed checks the pause again right before a write. Messages from before a pause of learning are
// learned from.
func (e *Exchanges) heed(ctx context.Context, owner memory.Owner, m mode) (mode, error) {
	pause, err := e.AskPaused(ctx, owner)
	if pause == core.PauseLearning && !m.unsure {
		return m, nil
	}
	return m.under(pause), err
}

// temporaryChats are the id prefixes of Open WebUI's temporary chats, older versions last.
var temporaryChats = []string{"temporary:", "local:"}

// channelChats is the id prefix of Open WebUI's channels, whose members all read the answers.
const channelChats = "channel:"

func (in Incoming) temporary() bool { return in.idBegins(temporaryChats...) }
func (in Incoming) channel() bool   { return in.idBegins(channelChats) }

func (in Incoming) idBegins(prefixes ...string) bool {
	return !in.Own && slices.ContainsFunc(prefixes, func(p string) bool {
		return strings.HasPrefix(in.ChatID, p) || strings.HasPrefix(in.Extras.ID, p)
	})
}

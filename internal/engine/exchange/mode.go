package exchange

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// memoryMode is the access of a chat to memory.
type mode struct {
	reads  bool // prompts get memory
	writes bool // turns are stored with text; otherwise they are redacted
	learns bool // facts are learned from the turns
	keeps  bool // turns and traces are stored
	unsure bool // the store did not report whether memory is paused
}

// modes maps a request's memory_mode to the mode of a stored chat.
var modes = map[string]mode{
	"":                    {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeReadWrite: {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeWrite:     {writes: true, learns: true, keeps: true},
	chatapi.ModeRead:      {reads: true, keeps: true},
	chatapi.ModeOff:       {keeps: true},
}

// modeOf returns a request's mode without pauses. For a channel nothing is stored; for a temporary chat
// nothing is stored unless the request sets memory_mode.
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

// restrictedBy restricts a mode by a pause. For an unknown pause, memory is not read, and the pause is
// read again before a write.
func (m mode) restrictedBy(p core.Pause) mode {
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

// recheckPause reads the pause again before a write. If learning was paused only during the exchange,
// the exchange is still learned from.
func (e *Exchanges) recheckPause(ctx context.Context, owner memory.Owner, m mode) (mode, error) {
	pause, err := e.AskPaused(ctx, owner)
	if pause == core.PauseLearning && !m.unsure {
		return m, nil
	}
	return m.restrictedBy(pause), err
}

// temporaryChats are the id prefixes of Open WebUI's temporary chats, newest version first.
var temporaryChats = []string{"temporary:", "local:"}

// channelChats is the id prefix of Open WebUI's channels, in which all members read the answers.
const channelChats = "channel:"

func (in Incoming) temporary() bool { return in.idBegins(temporaryChats...) }
func (in Incoming) channel() bool   { return in.idBegins(channelChats) }

func (in Incoming) idBegins(prefixes ...string) bool {
	return !in.Own && slices.ContainsFunc(prefixes, func(p string) bool {
		return strings.HasPrefix(in.ChatID, p) || strings.HasPrefix(in.Extras.ID, p)
	})
}

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
	reads  bool // its prompts get memory
	writes bool // its turns are stored with text; otherwise they are redacted
	learns bool // facts are learned from its turns
	keeps  bool // turns and traces are stored
	unsure bool // it is unknown whether memory is paused
}

// modes are the modes of stored chats, by the request's memory_mode.
var modes = map[string]mode{
	"":                    {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeReadWrite: {reads: true, writes: true, learns: true, keeps: true},
	chatapi.ModeWrite:     {writes: true, learns: true, keeps: true},
	chatapi.ModeRead:      {reads: true, keeps: true},
	chatapi.ModeOff:       {keeps: true},
}

// modeOf returns a request's mode if nothing is paused. Nothing is stored for a channel, and for a
// temporary chat unless its memory_mode overrides that.
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

// restrictedBy restricts a mode by a pause. If the pause is unknown, memory is not read, and the
// pause is checked again before a write.
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

// recheckPause checks the pause again right before a write. Learning still includes messages from
// before the pause.
func (e *Exchanges) recheckPause(ctx context.Context, owner memory.Owner, m mode) (mode, error) {
	pause, err := e.AskPaused(ctx, owner)
	if pause == core.PauseLearning && !m.unsure {
		return m, nil
	}
	return m.restrictedBy(pause), err
}

// temporaryChats are the id prefixes of Open WebUI's temporary chats; the prefixes of older
// versions are last.
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

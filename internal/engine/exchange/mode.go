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
type memoryMode struct {
	readsMemory  bool // prompts get memory
	storesText   bool // turns are stored with text; otherwise they are redacted
	learnsFacts  bool // facts are learned from the turns
	storesTurns  bool // turns and traces are stored
	pauseUnknown bool // the store did not report whether memory is paused
}

// modes maps a request's memory_mode to the mode of a stored chat.
var modes = map[string]memoryMode{
	"":                    {readsMemory: true, storesText: true, learnsFacts: true, storesTurns: true},
	chatapi.ModeReadWrite: {readsMemory: true, storesText: true, learnsFacts: true, storesTurns: true},
	chatapi.ModeWrite:     {storesText: true, learnsFacts: true, storesTurns: true},
	chatapi.ModeRead:      {readsMemory: true, storesTurns: true},
	chatapi.ModeOff:       {storesTurns: true},
}

// modeOf returns a request's mode before a pause restricts it. For a channel nothing is stored; for a
// temporary chat nothing is stored unless the request sets memory_mode.
func (e *Exchanges) modeOf(in Incoming) memoryMode {
	requested := in.Extras.Mode
	if in.isTemporary() && requested == "" {
		requested = chatapi.ModeRead
	}
	if in.isChannel() {
		requested = e.Opts.Channels.Mode(requested)
	}
	m := modes[requested]
	m.storesTurns = !in.isChannel() && (m.storesText || !in.isTemporary())
	return m
}

// restrictedBy restricts a mode by a pause. For an unknown pause, memory is not read, and the pause is
// read again before a write.
func (m memoryMode) restrictedBy(p core.Pause) memoryMode {
	switch p {
	case core.PauseMemory:
		return memoryMode{storesTurns: m.storesTurns}
	case core.PauseLearning:
		m.learnsFacts = false
	case core.PauseUnknown:
		m.readsMemory = false
	}
	m.pauseUnknown = p == core.PauseUnknown
	return m
}

// recheckPause reads the pause again before a write. If learning was paused only during the exchange,
// the exchange is still learned from.
func (e *Exchanges) recheckPause(ctx context.Context, owner memory.Owner, m memoryMode) (memoryMode, error) {
	pause, err := e.ReadPause(ctx, owner)
	if pause == core.PauseLearning && !m.pauseUnknown {
		return m, nil
	}
	return m.restrictedBy(pause), err
}

// temporaryChats are the id prefixes of Open WebUI's temporary chats, newest version first.
var temporaryChats = []string{"temporary:", "local:"}

// channelChats is the id prefix of Open WebUI's channels, in which all members read the answers.
const channelChats = "channel:"

func (in Incoming) isTemporary() bool { return in.hasIDPrefix(temporaryChats...) }
func (in Incoming) isChannel() bool   { return in.hasIDPrefix(channelChats) }

func (in Incoming) hasIDPrefix(prefixes ...string) bool {
	return !in.IsOwnChat && slices.ContainsFunc(prefixes, func(p string) bool {
		return strings.HasPrefix(in.ChatID, p) || strings.HasPrefix(in.Extras.ID, p)
	})
}

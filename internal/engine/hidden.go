package engine

import (
	"strings"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// A request that is to leave nothing in memory (memory_mode off or read, memory on
// pause) is of a chat that may go on with memory, and its client then sends all of it
// again. So that what was hidden is known by then, and not stored as what was said
// before, each of its messages leaves a turn without words: forgotten, never learned
// from, told by its place in the chat alone. A chat that is temporary by its id has
// no such sequel, and leaves nothing at all.

// stores reports whether the exchange leaves turns, with their words or without.
func (x *Exchange) stores() bool { return x.writes || !x.temporary() }

// hides reports whether they are without words.
func (x *Exchange) hides() bool { return !x.writes }

// temporary reports whether the client names the chat as one that is not kept.
func (x *Exchange) temporary() bool {
	return strings.HasPrefix(x.in.ChatID, temporary) && (x.in.Extras.Mode == "" || x.in.Extras.Mode == wire.ModeRead || x.in.Extras.Mode == wire.ModeOff)
}

// hidden returns a turn as it is left by an exchange that hides it.
func hidden(t memory.Turn) memory.Turn {
	t = t.Erased()
	t.Name, t.Status = "", memory.Retired
	return t
}

package core

import (
	"github.com/loci-memory/loci/internal/wire"
)

// Mode returns what a channel's request may do with memory, of what it asks for: at most read.
func (c Channels) Mode(asked string) string {
	if c != ChannelsRead || asked == wire.ModeOff || asked == wire.ModeWrite {
		return wire.ModeOff
	}
	return wire.ModeRead
}

package core

// Channels is what a channel may do with the memory of the user who asks in it.
type Channels string

// The choices. Neither writes: in a channel the words of others surround the user's own.
const (
	ChannelsOff  Channels = "off"  // nothing
	ChannelsRead Channels = "read" // read it, into answers that everybody in the channel reads
)

package core

// Counts reports whether learning waits for a number of messages or exchanges.
func (l Learning) Counts() bool { return l.Every > 1 || l.Exchanges > 1 }

package chatapi

// maxTerminal is the size at which the front of an event tells whether it is the one
// that ends a stream, comments before it included.
const maxTerminal = 4 << 10

// Gate lets a stream through event by event and holds back the one that ends it,
// with all that follows, until the caller has done what must be
// done before the client hears that it is over. What it lets go and what it holds
// are together exactly what went in.
type Gate struct {
	ends  func(event []byte) bool
	edge  edge
	held  []byte
	out   []byte
	mid   bool // the current event's front has gone already
	last  bool // the current event's front says that it ends the stream
	ended bool
}

// Pass takes the next piece of a stream and returns what may go to the client,
// valid until the next call. Of an unfinished event it keeps the beginning.
func (g *Gate) Pass(p []byte) []byte {
	g.out = g.out[:0]
	for len(p) > 0 && !g.ended {
		n, end := g.edge.next(p)
		g.held = append(g.held, p[:n]...)
		p = p[n:]
		if g.isLast(end) {
			g.last = true
			g.ended = end || len(g.held) > maxEvent
			continue
		}
		if end || g.mid || len(g.held) > maxTerminal {
			g.out = append(g.out, g.held...)
			g.held = g.held[:0]
			g.mid = !end
		}
	}
	if g.ended {
		g.held = append(g.held, p...)
	}
	return g.out
}

// isLast reports whether the event that is being held ends the stream, as far as can be
// told: when it is whole, or too long to wait for that.
func (g *Gate) isLast(whole bool) bool {
	if g.last || g.mid || !whole && len(g.held) <= maxTerminal {
		return g.last
	}
	return g.ends(g.held)
}

// Ended reports whether the event that ends the stream is being held.
func (g *Gate) Ended() bool { return g.ended }

// Held takes what is held back: the last event and what came after it or, of a
// stream cut off, the front of an unfinished event.
func (g *Gate) Held() []byte {
	held := g.held
	g.held = nil
	return held
}

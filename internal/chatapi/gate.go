package chatapi

// maxTerminal is how many bytes of an event, including comments before it, show whether it ends the
// stream.
const maxTerminal = 4 << 10

// Gate passes a stream on event by event, but holds back the event that ends it, with the rest,
// until the caller has finished its own work. Passed and held bytes together are exactly the input.
type Gate struct {
	ends  func(event []byte) bool
	edge  edge
	held  []byte
	out   []byte
	mid   bool // the current event's beginning was already passed
	last  bool // the current event ends the stream
	ended bool
}

// Pass takes the next piece of a stream and returns the bytes for the client, valid until the next
// call. It keeps the beginning of an unfinished event.
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

// isLast reports whether the held event ends the stream, once it is whole or too long to wait.
func (g *Gate) isLast(whole bool) bool {
	if g.last || g.mid || !whole && len(g.held) <= maxTerminal {
		return g.last
	}
	return g.ends(g.held)
}

// Ended reports whether the gate holds the event that ends the stream.
func (g *Gate) Ended() bool { return g.ended }

// Held returns the bytes held back: the last event and the rest or, of a truncated stream, an
// unfinished event.
func (g *Gate) Held() []byte {
	held := g.held
	g.held = nil
	return held
}

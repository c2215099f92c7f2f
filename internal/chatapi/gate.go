package chatapi

// maxTerminal is the number of bytes of an event, including comments before it, that suffice to decide whether
// it ends the stream.
const maxTerminal = 4 << 10

// Gate passes on a stream event by event, but holds back the event that ends it, and all that follows, until
// the caller has finished its own work. The passed and held bytes together equal the input.
type Gate struct {
	ends  func(event []byte) bool
	edge  edge
	held  []byte
	out   []byte
	mid   bool // the beginning of the current event was already passed on
	last  bool // the current event ends the stream
	ended bool
}

// Pass takes the next piece of a stream and returns the bytes for the client, valid until the next call. It
// holds back the beginning of an unfinished event.
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

// isLast reports whether the held event ends the stream, once the event is complete or too long to wait for.
func (g *Gate) isLast(whole bool) bool {
	if g.last || g.mid || !whole && len(g.held) <= maxTerminal {
		return g.last
	}
	return g.ends(g.held)
}

// Ended reports whether the gate holds the event that ends the stream.
func (g *Gate) Ended() bool { return g.ended }

// Held returns the bytes held back: the last event and all that follows or, in a truncated stream, an
// unfinished event.
func (g *Gate) Held() []byte {
	held := g.held
	g.held = nil
	return held
}

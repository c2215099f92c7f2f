package chatapi

// maxEndEvent is the number of bytes of an event, including comments before it, that suffice to decide
// whether it ends the stream.
const maxTerminal = 4 << 10

// Gate forwards a stream event by event. It withholds the event that ends the stream, and everything after
// it, until the caller has finished its own work. The forwarded and withheld bytes together equal the input.
type Gate struct {
	ends  func(event []byte) bool
	edge  edge
	held  []byte
	out   []byte
	mid   bool // the beginning of the current event was already forwarded
	last  bool // the current event ends the stream
	ended bool
}

// Forward takes the next piece of a stream and returns the bytes to forward, valid until the next call. It
// withholds the beginning of an unfinished event.
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

// isEnd reports whether the withheld event ends the stream, once the event is complete or longer than
// maxEndEvent.
func (g *Gate) isLast(whole bool) bool {
	if g.last || g.mid || !whole && len(g.held) <= maxTerminal {
		return g.last
	}
	return g.ends(g.held)
}

// Ended reports whether the gate withholds the event that ends the stream.
func (g *Gate) Ended() bool { return g.ended }

// TakeWithheld returns the withheld bytes: the last event and everything after it or, in a truncated stream,
// an unfinished event.
func (g *Gate) Held() []byte {
	held := g.held
	g.held = nil
	return held
}

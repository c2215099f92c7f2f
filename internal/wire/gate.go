package wire

// maxTerminal is the size past which an event cannot be the one that ends a
// stream, comments before it included.
const maxTerminal = 4 << 10

// Gate lets a stream through event by event and holds back the one that ends it,
// "data: [DONE]", with all that follows, until the caller has done what must be
// done before the client hears that it is over. What it lets go and what it holds
// are together exactly what went in. The zero value is ready.
type Gate struct {
	edge  edge
	held  []byte
	out   []byte
	mid   bool // the current event's front has gone already
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
		if end && !g.mid && terminal(g.held) {
			g.ended = true
			break
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

// Ended reports whether the event that ends the stream is being held.
func (g *Gate) Ended() bool { return g.ended }

// Held takes what is held back: the last event and what came after it or, of a
// stream cut off, the front of an unfinished event.
func (g *Gate) Held() []byte {
	held := g.held
	g.held = nil
	return held
}

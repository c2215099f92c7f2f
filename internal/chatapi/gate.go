package chatapi

// maxEndEventBytes is the number of bytes after which the gate decides whether an unfinished event ends the
// stream. Comments before the event count.
const maxEndEventBytes = 4 << 10

// Gate forwards a stream event by event. It withholds the event that ends the stream, and all bytes after that, so
// that the caller can insert events before it. The forwarded and withheld bytes together equal the input.
type Gate struct {
	isLastEvent func(event []byte) bool
	scanner     eventScanner
	withheld    []byte
	forwarded   []byte
	midEvent    bool // true if the beginning of the current event was forwarded
	inLastEvent bool // true if the current event ends the stream
	ended       bool
}

// Forward takes the next piece of a stream and returns the bytes to forward, valid until the next call. It
// withholds the beginning of an unfinished event until more bytes arrive.
func (g *Gate) Forward(piece []byte) []byte {
	g.forwarded = g.forwarded[:0]
	for len(piece) > 0 && !g.ended {
		n, end := g.scanner.next(piece)
		g.withheld = append(g.withheld, piece[:n]...)
		piece = piece[n:]
		if g.isEnd(end) {
			g.inLastEvent = true
			g.ended = end || len(g.withheld) > maxEventBytes
			continue
		}
		if end || g.midEvent || len(g.withheld) > maxEndEventBytes {
			g.forwarded = append(g.forwarded, g.withheld...)
			g.withheld = g.withheld[:0]
			g.midEvent = !end
		}
	}
	if g.ended {
		g.withheld = append(g.withheld, piece...)
	}
	return g.forwarded
}

// isEnd reports whether the withheld event ends the stream. It returns false while the event is neither
// complete nor longer than maxEndEventBytes.
func (g *Gate) isEnd(complete bool) bool {
	if g.inLastEvent || g.midEvent || !complete && len(g.withheld) <= maxEndEventBytes {
		return g.inLastEvent
	}
	return g.isLastEvent(g.withheld)
}

// Ended reports whether the gate withholds the event that ends the stream.
func (g *Gate) Ended() bool { return g.ended }

// TakeWithheld returns and forgets the withheld bytes: the last event and all bytes after that or, in a
// truncated stream, an unfinished event.
func (g *Gate) TakeWithheld() []byte {
	held := g.withheld
	g.withheld = nil
	return held
}

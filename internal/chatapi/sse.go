package chatapi

import "bytes"

// eventScanner finds the ends of a stream's events in pieces of any size. Lines end with LF, CR or CR LF, and
// events end with an empty line. The zero value is at the beginning of a stream.
type eventScanner struct {
	midLine    bool // true if the current line has bytes
	afterCR    bool // true if the previous byte was a CR
	afterEvent bool // true if no byte has followed the end of the last event
}

// next returns how many bytes of p belong to the current event, and whether the event ends there. A CR ends an
// event at once; if its LF is in the next piece, the LF counts as a separate event.
func (e *eventScanner) next(p []byte) (n int, end bool) {
	for n < len(p) {
		switch c := p[n]; {
		case c == '\n' && e.afterCR:
			e.afterCR = false
			n++
			if e.afterEvent {
				return n, true
			}
		case c != '\n' && c != '\r':
			e.midLine, e.afterCR, e.afterEvent = true, false, false
			n += lineEnd(p[n:])
		case e.midLine:
			e.midLine, e.afterCR = false, c == '\r'
			n++
		default:
			e.afterCR, e.afterEvent = c == '\r', true
			n++
			if e.afterCR && n < len(p) && p[n] == '\n' {
				e.afterCR = false
				n++
			}
			return n, true
		}
	}
	return n, false
}

// lineEnd returns the offset of the first end of a line in p, or the length of p.
func lineEnd(p []byte) int {
	if i := bytes.IndexAny(p, "\r\n"); i >= 0 {
		return i
	}
	return len(p)
}

// eventData returns the data lines of an event, joined by LF. ok is false if there are none, as in a comment.
func eventData(event []byte) (data []byte, ok bool) {
	event = bytes.TrimPrefix(event, []byte("\ufeff"))
	for len(event) > 0 {
		n := lineEnd(event)
		line := event[:n]
		event = event[min(n+1, len(event)):]
		value, is := bytes.CutPrefix(line, []byte("data"))
		if !is || len(value) > 0 && value[0] != ':' {
			continue
		}
		value = bytes.TrimPrefix(bytes.TrimPrefix(value, []byte(":")), []byte(" "))
		if ok {
			data = append(append(data[:len(data):len(data)], '\n'), value...)
		} else {
			data, ok = value, true
		}
	}
	return data, ok
}

func eventName(event []byte) string {
	for line := range bytes.FieldsFuncSeq(event, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if name, is := bytes.CutPrefix(line, []byte("event:")); is {
			return string(bytes.TrimSpace(name))
		}
	}
	return ""
}

// Events reads the events of a stream from pieces of any size. It skips events without data and events longer
// than maxEventBytes. The zero value is ready for use.
type Events struct {
	scanner eventScanner
	event   []byte
	tooLong bool // true if the current event is longer than maxEventBytes
}

// Write takes the next piece and calls yield with the data of each completed event.
func (e *Events) Write(p []byte, yield func(data []byte)) {
	for len(p) > 0 {
		n, end := e.scanner.next(p)
		e.tooLong = e.tooLong || len(e.event)+n > maxEventBytes
		if !e.tooLong {
			e.event = append(e.event, p[:n]...)
		}
		p = p[n:]
		if end {
			e.Flush(yield)
		}
	}
}

// Flush ends the current event and calls yield with its data.
func (e *Events) Flush(yield func(data []byte)) {
	if data, ok := eventData(e.event); ok && !e.tooLong {
		yield(data)
	}
	e.event, e.tooLong = e.event[:0], false
}

package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"iter"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
)

// streamDecoder decodes a stream, compressed or not, while it is sent to the client. It holds back the piece that
// ends the stream.
type listener struct {
	stream *chatapi.Stream
	gate   *chatapi.Gate
	deaf   bool      // the encoding is unknown, so nothing is decoded or held back
	plain  *inflater // decompressor; nil if the stream is not compressed
	last   []byte    // last piece of a compressed stream
	passed []byte    // bytes that were sent to the client but not decoded yet
}

// newStreamDecoder returns a decoder for a stream with the given Content-Encoding and dialect.
func listen(encoding string, dialect *chatapi.Dialect) *listener {
	l := &listener{stream: dialect.NewStream(), gate: dialect.NewGate()}
	switch strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		l.plain = newInflater()
	default:
		l.deaf = true
	}
	return l
}

// accept takes the next piece and returns the bytes to send to the client, valid until the next call. After
// sending them, call decode. Compressed pieces are never split, because the client's decompressor needs each
// piece at once.
func (l *listener) pass(p []byte) []byte {
	if l.deaf {
		return p
	}
	if l.plain == nil {
		l.passed = p
		return l.gate.Pass(p)
	}
	l.passed = l.plain.next(p)
	l.gate.Pass(l.passed)
	if l.gate.Ended() {
		l.last = bytes.Clone(p)
		return nil
	}
	return p
}

// decode decodes the last piece from accept. It runs after the piece is sent, so that the client does not wait
// for the decoding.
func (l *listener) hear() {
	_, _ = l.stream.Write(l.passed) // never fails
	l.passed = nil
}

// ended reports whether the end of the stream is held back.
func (l *listener) ended() bool { return l.gate.Ended() }

// heldBack returns the bytes that were held back.
func (l *listener) held() []byte {
	if l.plain == nil {
		return l.gate.Held()
	}
	return l.last
}

// answer returns the answer as far as it has arrived.
func (l *listener) answer() chatapi.Answer {
	if l.plain != nil {
		_, _ = l.stream.Write(l.plain.rest())
	}
	return l.stream.Answer()
}

// close releases the decompressor.
func (l *listener) stop() {
	if l.plain != nil {
		l.plain.rest()
	}
}

// inflater decompresses a stream piece by piece. The gzip reader is a coroutine that runs until it needs the next
// piece.
type inflater struct {
	piece []byte // compressed input that was not read yet
	plain []byte // decompressed output of the last piece
	more  func() (struct{}, bool)
	end   func()
}

func newInflater() *inflater {
	f := &inflater{}
	f.more, f.end = iter.Pull(func(wait func(struct{}) bool) {
		z, err := gzip.NewReader(reader(func(p []byte) (int, error) {
			for len(f.piece) == 0 {
				if !wait(struct{}{}) {
					return 0, io.EOF
				}
			}
			n := copy(p, f.piece)
			f.piece = f.piece[n:]
			return n, nil
		}))
		if err == nil {
			_, _ = io.Copy(writer(func(p []byte) { f.plain = append(f.plain, p...) }), z) // on an error, the earlier output is kept
		}
	})
	return f
}

// inflate returns the decompressed bytes of a piece, valid until the next call.
func (f *inflater) next(p []byte) []byte {
	f.piece, f.plain = p, f.plain[:0]
	f.more()
	return f.plain
}

// finish stops the inflater and returns its remaining output.
func (f *inflater) rest() []byte {
	f.plain = f.plain[:0]
	f.end()
	return f.plain
}

// readerFunc adapts a function to io.Reader.
type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// writerFunc adapts a function that never fails to io.Writer.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"iter"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
)

// listener reads along with a stream, compressed or not: what it says and when it
// ends. The piece that ends it is held.
type listener struct {
	stream *chatapi.Stream
	gate   *chatapi.Gate
	deaf   bool      // it cannot be read: it says nothing and nothing is held
	plain  *inflater // of a compressed stream; nil otherwise
	last   []byte    // of a compressed stream: the piece that ends it
	passed []byte    // what was passed and is not heard yet
}

// listen returns a listener to a stream of that Content-Encoding and dialect.
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

// pass takes the next piece and returns what may go to the client, valid until
// the next call, and to be heard behind it: see hear. Compressed pieces are never cut:
// the client's reader needs each as soon as it is there.
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

// hear reads what was passed last, once it is on its way: the client waits for the
// piece, and nobody yet for what it says.
func (l *listener) hear() {
	_, _ = l.stream.Write(l.passed) // never fails
	l.passed = nil
}

// ended reports whether what ends the stream is being held.
func (l *listener) ended() bool { return l.gate.Ended() }

// held returns what was held back.
func (l *listener) held() []byte {
	if l.plain == nil {
		return l.gate.Held()
	}
	return l.last
}

// answer returns what was said so far.
func (l *listener) answer() chatapi.Answer {
	if l.plain != nil {
		_, _ = l.stream.Write(l.plain.rest())
	}
	return l.stream.Answer()
}

// stop gives up what reading takes.
func (l *listener) stop() {
	if l.plain != nil {
		l.plain.rest()
	}
}

// inflater decompresses a stream piece by piece, each as far as it goes. It is a
// coroutine: the reader of gzip runs until it wants more than there is.
type inflater struct {
	piece []byte // what is not read yet
	plain []byte // what was made of it
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
			_, _ = io.Copy(writer(func(p []byte) { f.plain = append(f.plain, p...) }), z) // what can be read is heard
		}
	})
	return f
}

// next returns what a piece adds to the plain stream, valid until the next call.
func (f *inflater) next(p []byte) []byte {
	f.piece, f.plain = p, f.plain[:0]
	f.more()
	return f.plain
}

// rest returns what was still under way when the stream ended. The inflater is of
// no use afterwards.
func (f *inflater) rest() []byte {
	f.plain = f.plain[:0]
	f.end()
	return f.plain
}

// reader is a function that reads.
type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// writer is a function that takes all.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

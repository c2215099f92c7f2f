package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"iter"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
)

// streamDecoder decodes a stream, compressed or not, while it is sent to the client. It holds back the end of the
// stream, so that the answer is stored before the client sees the end.
type streamDecoder struct {
	stream      *chatapi.Stream
	gate        *chatapi.Gate // holds back the end of the stream
	undecodable bool          // the encoding is unknown, so nothing is decoded or held back
	inflater    *inflater     // decompressor; nil if the stream is not compressed
	lastPiece   []byte        // last compressed piece, held back
	undecoded   []byte        // uncompressed bytes of the last piece, until decode decodes them
}

// newStreamDecoder returns a decoder for a stream with the given Content-Encoding and dialect.
func newStreamDecoder(encoding string, dialect *chatapi.Dialect) *streamDecoder {
	l := &streamDecoder{stream: dialect.NewStream(), gate: dialect.NewGate()}
	switch strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		l.inflater = newInflater()
	default:
		l.undecodable = true
	}
	return l
}

// accept takes the next piece and returns the bytes to send to the client, valid until the next call. After
// sending them, call decode. Compressed pieces are never split, because the client's decompressor needs each
// piece at once.
func (l *streamDecoder) accept(piece []byte) []byte {
	if l.undecodable {
		return piece
	}
	if l.inflater == nil {
		l.undecoded = piece
		return l.gate.Forward(piece)
	}
	l.undecoded = l.inflater.inflate(piece)
	l.gate.Forward(l.undecoded)
	if l.gate.Ended() {
		l.lastPiece = bytes.Clone(piece)
		return nil
	}
	return piece
}

// decode decodes the piece that accept took last. Call it after sending the piece, so that the client does not wait
// for the decoding.
func (l *streamDecoder) decode() {
	_, _ = l.stream.Write(l.undecoded) // never fails
	l.undecoded = nil
}

// ended reports whether the end of the stream is held back.
func (l *streamDecoder) ended() bool { return l.gate.Ended() }

func (l *streamDecoder) withheldBytes() []byte {
	if l.inflater == nil {
		return l.gate.TakeWithheld()
	}
	return l.lastPiece
}

// answer returns the answer as far as it has arrived.
func (l *streamDecoder) answer() chatapi.Answer {
	if l.inflater != nil {
		_, _ = l.stream.Write(l.inflater.finish())
	}
	return l.stream.Answer()
}

func (l *streamDecoder) close() {
	if l.inflater != nil {
		l.inflater.finish()
	}
}

// inflater decompresses a stream piece by piece. Its gzip reader is a coroutine: resume runs it until it needs the
// next piece.
type inflater struct {
	input  []byte // compressed input that was not read yet
	output []byte // decompressed output of the last piece
	resume func() (struct{}, bool)
	stop   func()
}

func newInflater() *inflater {
	f := &inflater{}
	f.resume, f.stop = iter.Pull(func(yield func(struct{}) bool) {
		z, err := gzip.NewReader(readerFunc(func(p []byte) (int, error) {
			for len(f.input) == 0 {
				if !yield(struct{}{}) {
					return 0, io.EOF
				}
			}
			n := copy(p, f.input)
			f.input = f.input[n:]
			return n, nil
		}))
		if err == nil {
			_, _ = io.Copy(writerFunc(func(p []byte) { f.output = append(f.output, p...) }), z) // on an error, the earlier output is kept
		}
	})
	return f
}

// inflate returns the decompressed bytes of a piece, valid until the next call.
func (f *inflater) inflate(p []byte) []byte {
	f.input, f.output = p, f.output[:0]
	f.resume()
	return f.output
}

// finish stops the inflater and returns its remaining output.
func (f *inflater) finish() []byte {
	f.output = f.output[:0]
	f.stop()
	return f.output
}

// readerFunc adapts a function to io.Reader.
type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

// writerFunc adapts a function that never fails to io.Writer.
type writerFunc func([]byte)

func (w writerFunc) Write(p []byte) (int, error) { w(p); return len(p), nil }

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress tells people how far long work is: a line that changes on a terminal, nothing elsewhere.
type progress struct {
	w    io.Writer // nil: nobody looks
	read int64
	next time.Time
}

// tick is how often the line changes.
const tick = 200 * time.Millisecond

func progressOn(w io.Writer) *progress {
	p := &progress{next: time.Now().Add(tick)}
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		p.w = w
	}
	return p
}

// bytes says how many bytes of something are through; of is 0 where nobody knows how many there are.
func (p *progress) bytes(name string, done, of int64) { p.at(name, done, of, size) }

// of is bytes of what has a name.
func (p *progress) of(name string) func(done, of int64) {
	return func(done, of int64) { p.bytes(name, done, of) }
}

// count is bytes of things.
func (p *progress) count(name string, done, of int64) {
	p.at(name, done, of, func(n int64) string { return fmt.Sprint(n) })
}

func (p *progress) at(name string, done, of int64, unit func(int64) string) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(tick)
	if of <= 0 {
		fmt.Fprintf(p.w, "\r%s %s\x1b[K", name, unit(done))
		return
	}
	const width = 30
	full := int(min(done, of) * width / of)
	fmt.Fprintf(p.w, "\r%s [%s%s] %s of %s\x1b[K", name, strings.Repeat("#", full), strings.Repeat(".", width-full), unit(done), unit(of))
}

// end takes the line away.
func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// reading counts what is read.
func (p *progress) reading(r io.Reader, name string, of int64) io.Reader {
	return readerFunc(func(b []byte) (int, error) {
		n, err := r.Read(b)
		p.read += int64(n)
		p.bytes(name, p.read, of)
		return n, err
	})
}

type readerFunc func(b []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

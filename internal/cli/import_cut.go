package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/loci-memory/loci/internal/lazy"
)

// importFormats cut each format into parts that stand alone, so that no request is
// large and progress is seen.
var importFormats = map[string]func(*cutter, io.Reader) error{
	"jsonl":        (*cutter).jsonl,
	"markdown":     (*cutter).markdown,
	"list":         (*cutter).list,
	"chatgpt":      (*cutter).items,
	"claude":       (*cutter).items,
	"mem0":         (*cutter).items,
	"basic-memory": (*cutter).all,
	"agent-cli":    (*cutter).all,
}

const (
	partBytes = 4 << 20  // of a request; limits.body is 32 MiB unless set
	partLong  = 24 << 20 // of a line or an item, which is not cut
	partRows  = 50_000   // lines or items of a request; a server takes 200,000
)

// cutter cuts a file into parts that can be read alone.
type cutter struct {
	send func(part []byte, first int) error // first is the number of its first line
	bad  func(line int, reason string) error

	part  []byte
	rows  int // of the part
	first int
}

// add puts a piece to the part; a piece that would make it too large begins another
// if it may, with what must stand before it.
func (c *cutter) add(line []byte, n int, isIDPrefix bool, before func() [][]byte) error {
	if isIDPrefix && len(c.part) > 0 && (len(c.part)+len(line) > partBytes || c.rows >= partRows) {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if len(c.part) == 0 {
		c.first = n
		if before != nil {
			for _, l := range before() {
				c.part = append(append(c.part, l...), '\n')
				c.first--
			}
		}
	}
	c.rows++
	c.part = append(append(c.part, line...), '\n')
	return nil
}

func (c *cutter) flush() error {
	if len(c.part) == 0 {
		return nil
	}
	err := c.send(c.part, c.first)
	c.part, c.rows = c.part[:0], 0
	return err
}

// lines goes through the lines of a file, and ends with a flush.
func (c *cutter) lines(in io.Reader, use func(line []byte, n int) error) error {
	r, ok := in.(*bufio.Reader)
	if !ok {
		r = bufio.NewReader(in)
	}
	var line []byte
	for n := 1; ; n++ {
		line = line[:0]
		long := false
		var err error
		for {
			var piece []byte
			piece, err = r.ReadSlice('\n')
			if long = long || len(line)+len(piece) > partLong; !long {
				line = append(line, piece...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		switch {
		case err != nil && err != io.EOF:
			return err
		case long:
			if err := c.bad(n, fmt.Sprintf("is longer than %d bytes", partLong)); err != nil {
				return err
			}
		case len(line) > 0:
			if err := use(bytes.TrimSuffix(line, []byte("\n")), n); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return c.flush()
		}
	}
}

// jsonl cuts between any lines; turns need their conversation's line before them.
func (c *cutter) jsonl(in io.Reader) error {
	var conversation []byte
	return c.lines(in, func(line []byte, n int) error {
		isTurn := bytes.HasPrefix(line, []byte(`{"type":"turn"`))
		if bytes.HasPrefix(line, []byte(`{"type":"conversation"`)) {
			conversation = append(conversation[:0], line...)
		}
		return c.add(line, n, true, func() [][]byte {
			if !isTurn || len(conversation) == 0 {
				return nil
			}
			return [][]byte{conversation}
		})
	})
}

// markdown cuts before what a comment tells of, with the headings that it stands
// under.
func (c *cutter) markdown(in io.Reader) error {
	var headings [7][]byte
	return c.lines(in, func(line []byte, n int) error {
		level := len(line) - len(bytes.TrimLeft(line, "#"))
		isHeading := level > 0 && level < len(headings) && len(line) > level && line[level] == ' '
		if isHeading {
			clear(headings[level:])
		}
		isIDPrefix := isHeading || bytes.Contains(line, []byte("<!-- loci {")) && !bytes.HasPrefix(line, []byte(">"))
		err := c.add(line, n, isIDPrefix, func() (before [][]byte) {
			for _, h := range headings {
				if h != nil {
					before = append(before, h)
				}
			}
			return before
		})
		if isHeading {
			headings[level] = bytes.Clone(line)
		}
		return err
	})
}

// brokenOff says in words why an item of a list cannot be read.
func brokenOff(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it breaks off"
	}
	return err.Error()
}

var listItem = lazy.Compile(`^\s*(?:[-*+•]|\d{1,4}[.)])\s`)

// list cuts before items, or before any line where there are none, with the heading
// that it stands under.
func (c *cutter) list(in io.Reader) error {
	var heading []byte
	items := false
	return c.lines(in, func(line []byte, n int) error {
		isItem := listItem.Match(line)
		items = items || isItem
		err := c.add(line, n, isItem || !items, func() [][]byte {
			if heading == nil {
				return nil
			}
			return [][]byte{heading}
		})
		if bytes.HasPrefix(line, []byte("#")) {
			heading = bytes.Clone(line)
		}
		return err
	})
}

// byteOrderMark is what some programs begin a file with.
const byteOrderMark = "\ufeff"

// items cuts a JSON list between its elements. What is not a list is sent as it is.
func (c *cutter) items(in io.Reader) error {
	r, ok := in.(*bufio.Reader)
	if !ok {
		r = bufio.NewReader(in)
	}
	if mark, _ := r.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = r.Discard(len(mark)) // it was read just now
	}
	for {
		b, err := r.ReadByte()
		if err != nil || b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			if err == nil {
				err = r.UnreadByte()
			}
			if err != nil && err != io.EOF {
				return err
			}
			if b != '[' {
				return c.all(r)
			}
			break
		}
	}
	bounded := &itemReader{in: r}
	dec := json.NewDecoder(bounded)
	if _, err := dec.Token(); err != nil { // the bracket
		return err
	}
	n := 1
	for ; dec.More(); n++ {
		var item json.RawMessage
		bounded.read = 0
		if err := dec.Decode(&item); err != nil {
			if flushed := c.closeList(); flushed != nil {
				return flushed
			}
			if errors.Is(err, errLongItem) {
				return c.bad(n, fmt.Sprintf("is longer than %d bytes, and all that follows is left out", maxItem))
			}
			return c.bad(n, "is not JSON, and all that follows is left out: "+brokenOff(err))
		}
		if len(item) > partLong {
			if err := c.bad(n, fmt.Sprintf("is longer than %d bytes", partLong)); err != nil {
				return err
			}
			continue
		}
		if len(c.part) > 0 && (len(c.part)+len(item) > partBytes || c.rows >= partRows) {
			if err := c.closeList(); err != nil {
				return err
			}
		}
		lead := byte(',')
		if len(c.part) == 0 {
			lead, c.first = '[', n
		}
		c.rows++
		c.part = append(append(c.part, lead), item...)
	}
	if err := c.closeList(); err != nil {
		return err
	}
	if _, err := dec.Token(); err != nil {
		return c.bad(n, "the list does not end: "+err.Error())
	}
	return nil
}

// maxItem is how much of an item is held in memory to find its end. One beyond partLong is
// left out.
const maxItem = partLong + 8<<20

var errLongItem = errors.New("the item is too long")

// itemReader reads no more than maxItem until read is set back.
type itemReader struct {
	in   io.Reader
	read int
}

func (r *itemReader) Read(p []byte) (int, error) {
	if r.read > maxItem {
		return 0, errLongItem
	}
	n, err := r.in.Read(p)
	r.read += n
	return n, err
}

func (c *cutter) closeList() error {
	if len(c.part) == 0 {
		return nil
	}
	c.part = append(c.part, ']')
	return c.flush()
}

// all sends a file as one part.
func (c *cutter) all(in io.Reader) error {
	var err error
	if c.part, err = io.ReadAll(io.LimitReader(in, partLong+1)); err != nil {
		return err
	}
	if len(c.part) > partLong {
		return c.bad(1, fmt.Sprintf("a file that is not cut may have %d bytes", partLong))
	}
	c.first = 1
	return c.flush()
}

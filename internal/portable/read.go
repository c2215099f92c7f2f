package portable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// MaxLine is how many bytes a line may have: as long as the longest body a chat may
// have, since turns are as long as chats sent them.
const MaxLine = 32 << 20

// Reader turns files into records, one by one.
type Reader struct {
	// Owner is whose every record becomes.
	Owner memory.Owner

	// Project is that of what says none itself, of others' formats alone.
	Project string

	// ID returns the id of a thing of others: the same for the same parts.
	ID func(parts ...string) string

	// Take is given each record but the header. Its error ends the reading.
	Take func(Record) error

	// Bad is told of each piece that cannot be read, with its place as [Record.Line] has
	// it. Reading goes on behind it unless Bad returns an error.
	Bad func(line int, err error) error
}

// Read reads a file of a format. What cannot be read at all, a newer version among it, is
// [memory.Invalid].
func (r Reader) Read(format Format, in io.Reader) error {
	switch format {
	case "", JSONL:
		return r.jsonl(in)
	case Markdown:
		return r.markdown(in)
	case List:
		return r.list(in)
	case ChatGPT, Claude:
		return r.items(in, r.conversation)
	case Mem0:
		return r.items(in, r.mem0)
	case BasicMemory, AgentCLI:
		return r.note(in)
	}
	return memory.Errorf(memory.Invalid, "format: %q is none of %v", format, Formats)
}

// byteOrderMark is what some programs begin a file with.
const byteOrderMark = "\ufeff"

var (
	errNested   = memory.Errorf(memory.Invalid, "nests deeper than %d levels", chatapi.MaxDepth)
	errLongLine = memory.Errorf(memory.TooLarge, "is longer than %d bytes", MaxLine)
	errNotText  = memory.Errorf(memory.Invalid, "is not valid UTF-8")
)

// lineReader reads text line by line and holds one of them.
type lineReader struct {
	in *bufio.Reader
	n  int // of the last line, from 1
	b  []byte
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: bufio.NewReaderSize(in, 64<<10)} }

// next returns a line without its end, which is good until the next call. io.EOF
// follows the last. A line that is too long or not text is an error with a code, and
// the one behind it can be read.
func (l *lineReader) next() ([]byte, error) {
	l.b, l.n = l.b[:0], l.n+1
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if !long && len(l.b)+len(part) > MaxLine {
			l.b, long = l.b[:0], true
		}
		if !long {
			l.b = append(l.b, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(l.b) == 0 && !long:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read: %w", err)
		case long:
			return nil, errLongLine
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(l.b, []byte("\n")), []byte("\r"))
		if l.n == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if !utf8.Valid(line) {
			return nil, errNotText
		}
		return line, nil
	}
}

// each gives every line to use.
func (r Reader) each(in io.Reader, use func(n int, line []byte) error) error {
	l := newLineReader(in)
	for {
		line, err := l.next()
		switch {
		case err == io.EOF:
			return nil
		case err == errLongLine, err == errNotText:
			err = r.Bad(l.n, err)
		case err == nil:
			err = use(l.n, line)
		}
		if err != nil {
			return err
		}
	}
}

// jsonl reads lines of JSON, each a thing.
func (r Reader) jsonl(in io.Reader) error {
	return r.each(in, func(n int, line []byte) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		if chatapi.Depth(line) > chatapi.MaxDepth {
			return r.Bad(n, errNested)
		}
		rec, carried, err := r.record(line)
		switch {
		case err != nil:
			return r.Bad(n, err)
		case rec.Words() != nil && !carried:
			return r.Bad(n, memory.Errorf(memory.Invalid, "has no words"))
		}
		rec.Line, rec.Size = n, len(line)
		return r.give(rec)
	})
}

// give hands a record on; a header is only looked at.
func (r Reader) give(rec Record) error {
	if h := rec.Header; h != nil {
		if h.Format != formatName || h.Version > formatVersion {
			return memory.Errorf(memory.Invalid, "line %d: this is version %d of format %.40q; this server reads %q up to version %d", rec.Line, h.Version, h.Format, formatName, formatVersion)
		}
		return nil
	}
	return r.Take(rec)
}

var (
	heading = lazy.Compile(`^(#{1,6})\s+(.*?)\s*$`)
	bullet  = lazy.Compile(`^(?:[-*+•]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)`)
)

// list reads a fact a line. In a text with headings they are categories; with
// bullets, lines without one that follow are not facts but talk about them; nor is a line
// that ends in a colon.
func (r Reader) list(in io.Reader) error {
	category, bullets := "", false
	return r.each(in, func(n int, line []byte) error {
		text := strings.TrimSpace(string(line))
		if m := heading.FindStringSubmatch(text); m != nil {
			category = m[2]
			return nil
		}
		m := bullet.FindStringSubmatch(text)
		switch {
		case m != nil:
			bullets, text = true, m[1]
		case text == "", bullets, strings.HasPrefix(text, "<!--"), strings.HasPrefix(text, "```"), strings.Trim(text, "-=*_ ") == "", strings.HasSuffix(text, ":"):
			return nil
		}
		return r.giveFact(n, len(text), memory.Fact{Content: text, Category: category, Trust: memory.TrustPerson})
	})
}

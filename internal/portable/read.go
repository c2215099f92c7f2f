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

// MaxLine is the maximum length of a line in bytes. It equals the limit of a chat request's body, so
// that a line can contain any turn.
const MaxLine = 32 << 20

// Reader converts files to records, one at a time.
type Reader struct {
	// Owner is the owner to set in every record.
	Owner memory.Owner

	// Project is the project of facts and chats from other programs' exports; "" for none.
	Project string

	// DeriveID derives the id of an item from another program's export. Equal parts have equal ids.
	DeriveID func(parts ...string) string

	// OnRecord is called with each record except the header. If it returns an error, reading stops.
	OnRecord func(Record) error

	// OnError is called with the [Record.Line] and the error of each unreadable item. Reading
	// continues unless OnError returns an error.
	OnError func(line int, err error) error
}

// Read reads a file in a format. The error is [memory.Invalid] for a file in another format or in a
// later version of Loci's format.
func (r Reader) Read(format Format, in io.Reader) error {
	switch format {
	case "", JSONL:
		return r.readJSONL(in)
	case Markdown:
		return r.readMarkdown(in)
	case List:
		return r.readList(in)
	case ChatGPT, Claude:
		return r.readItems(in, r.readConversation)
	case Mem0:
		return r.readItems(in, r.readMem0)
	case BasicMemory, AgentCLI:
		return r.readNote(in)
	}
	return memory.Errorf(memory.Invalid, "format: %q is not one of %v", format, Formats)
}

// byteOrderMark is the first character in some programs' files; it is not part of the text.
const byteOrderMark = "\ufeff"

var (
	errNested   = memory.Errorf(memory.Invalid, "nests deeper than %d levels", chatapi.MaxDepth)
	errLongLine = memory.Errorf(memory.TooLarge, "is longer than %d bytes", MaxLine)
	errNotText  = memory.Errorf(memory.Invalid, "is not valid UTF-8")
)

// lineReader reads a text line by line, with one line in memory.
type lineReader struct {
	in   *bufio.Reader
	line int // number of the current line, from 1
	buf  []byte
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{in: bufio.NewReaderSize(in, 64<<10)} }

// next returns a line without its line end, valid until the next call, and io.EOF after the last
// line. After the errors errLongLine and errNotText, the next line can be read.
func (l *lineReader) next() ([]byte, error) {
	l.buf, l.line = l.buf[:0], l.line+1
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if !long && len(l.buf)+len(part) > MaxLine {
			l.buf, long = l.buf[:0], true
		}
		if !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(l.buf) == 0 && !long:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read: %w", err)
		case long:
			return nil, errLongLine
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(l.buf, []byte("\n")), []byte("\r"))
		if l.line == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if !utf8.Valid(line) {
			return nil, errNotText
		}
		return line, nil
	}
}

// forEachLine calls handle with every line and its number n, from 1.
func (r Reader) forEachLine(in io.Reader, handle func(n int, line []byte) error) error {
	l := newLineReader(in)
	for {
		line, err := l.next()
		switch {
		case err == io.EOF:
			return nil
		case err == errLongLine, err == errNotText:
			err = r.OnError(l.line, err)
		case err == nil:
			err = handle(l.line, line)
		}
		if err != nil {
			return err
		}
	}
}

// readJSONL reads JSON lines with one record each.
func (r Reader) readJSONL(in io.Reader) error {
	return r.forEachLine(in, func(n int, line []byte) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		if chatapi.Depth(line) > chatapi.MaxDepth {
			return r.OnError(n, errNested)
		}
		rec, hasText, err := r.decodeRecord(line)
		switch {
		case err != nil:
			return r.OnError(n, err)
		case rec.Text() != nil && !hasText:
			return r.OnError(n, memory.Errorf(memory.Invalid, "has no text"))
		}
		rec.Line, rec.Size = n, len(line)
		return r.emit(rec)
	})
}

// emit calls OnRecord with a record. For a header, it only checks the fields Format and Version.
func (r Reader) emit(rec Record) error {
	if h := rec.Header; h != nil {
		if h.Format != formatName || h.Version > formatVersion {
			return memory.Errorf(memory.Invalid, "line %d: the file has version %d of format %.40q; this server reads %q up to version %d", rec.Line, h.Version, h.Format, formatName, formatVersion)
		}
		return nil
	}
	return r.OnRecord(rec)
}

var (
	headingPattern = lazy.Compile(`^(#{1,6})\s+(.*?)\s*$`)
	bulletPattern  = lazy.Compile(`^(?:[-*+•]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)`)
)

// readList reads one fact per line. Headings become categories. It skips lines that end with a
// colon and, after the first bullet, lines without a bullet.
func (r Reader) readList(in io.Reader) error {
	category, bullets := "", false
	return r.forEachLine(in, func(n int, line []byte) error {
		text := strings.TrimSpace(string(line))
		if m := headingPattern.FindStringSubmatch(text); m != nil {
			category = m[2]
			return nil
		}
		m := bulletPattern.FindStringSubmatch(text)
		switch {
		case m != nil:
			bullets, text = true, m[1]
		case text == "", bullets, strings.HasPrefix(text, "<!--"), strings.HasPrefix(text, "```"), strings.Trim(text, "-=*_ ") == "", strings.HasSuffix(text, ":"):
			return nil
		}
		return r.emitFact(n, len(text), memory.Fact{Content: text, Category: category, Trust: memory.TrustPerson})
	})
}

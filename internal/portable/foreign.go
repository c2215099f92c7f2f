package portable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// This file reads other programs' exports. Loci derives ids from the programs' ids, so that a second
// import of a file adds nothing.

// readItems calls handle with each item of a JSON list, or of the first list in an object. n is the
// item's number, from 1.
func (r Reader) readItems(in io.Reader, handle func(n int, item []byte) error) error {
	buffered := bufio.NewReaderSize(in, 64<<10)
	if mark, _ := buffered.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = buffered.Discard(len(mark)) // cannot fail after Peek
	}
	bounded := &io.LimitedReader{R: buffered, N: 2 * MaxLine} // twice MaxLine, since the decoder reads ahead
	dec := json.NewDecoder(bounded)
	if err := enterList(dec); err != nil {
		return memory.Errorf(memory.Invalid, "is not a JSON list: %s", explainJSON(err))
	}
	for n := 1; dec.More(); n, bounded.N = n+1, 2*MaxLine {
		var item json.RawMessage
		if err := dec.Decode(&item); err != nil {
			var syntax *json.SyntaxError
			switch { // after these errors, the start of the next item cannot be found
			case bounded.N <= 0:
				return r.OnError(n, memory.Errorf(memory.TooLarge, "%w, and the rest of the file is not read", errLongLine))
			case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
				return r.OnError(n, memory.Errorf(memory.Invalid, "is not JSON, and the rest of the file is not read: %s", explainJSON(err)))
			}
			return fmt.Errorf("read: %w", err)
		}
		var err error
		switch {
		case chatapi.Depth(item) > chatapi.MaxDepth:
			err = r.OnError(n, errNested)
		case !utf8.Valid(item):
			err = r.OnError(n, errNotText)
		default:
			err = handle(n, item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enterList moves dec to the first element of the list, or of the first list in an object.
func enterList(dec *json.Decoder) error {
	for depth := 0; ; {
		tok, err := dec.Token()
		switch {
		case err == io.EOF && depth > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case tok == json.Delim('[') && depth <= 1:
			return nil
		case tok == json.Delim('{'), tok == json.Delim('['):
			depth++
		case tok == json.Delim('}'), tok == json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return errors.New("it contains no list")
		}
	}
}

// readMem0 reads a memory in the format of mem0's get_all.
func (r Reader) readMem0(n int, item []byte) error {
	var m struct {
		ID         string          `json:"id"`
		Memory     string          `json:"memory"`
		Text       string          `json:"text"`
		Categories []string        `json:"categories"`
		Metadata   json.RawMessage `json:"metadata"`
		Created    string          `json:"created_at"`
		Updated    string          `json:"updated_at"`
		Expires    string          `json:"expiration_date"`
	}
	if err := json.Unmarshal(item, &m); err != nil {
		return r.OnError(n, memory.Errorf(memory.Invalid, "is not a memory: %s", explainJSON(err)))
	}
	if m.Memory == "" {
		m.Memory = m.Text
	}
	f := memory.Fact{
		Content: m.Memory, Tags: m.Categories, Trust: memory.TrustUser,
		CreatedAt: parseTime(m.Created), UpdatedAt: parseTime(m.Updated), ExpiresAt: parseTime(m.Expires),
	}
	if len(m.Categories) > 0 {
		f.Category = m.Categories[0]
	}
	if bytes.HasPrefix(bytes.TrimSpace(m.Metadata), []byte("{")) && len(m.Metadata) > 2 {
		f.Metadata = m.Metadata
	}
	return r.emitFact(n, len(item), f)
}

// emitFact emits a fact of another program's export, or of a file without ids.
func (r Reader) emitFact(line, size int, f memory.Fact) error {
	f.Scope.Project = r.Project
	return r.emit(Record{Line: line, Size: size, Foreign: true, Fact: &f})
}

// timeFromUnix converts seconds since 1970 to a time. It returns the zero time for implausible values.
func timeFromUnix(seconds float64) time.Time {
	if !(seconds > 0 && seconds < 1e11) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return memory.Time(time.Unix(int64(whole), int64(part*1e9)))
}

// parseTime parses a time in any common format. It returns the zero time for other texts.
func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999", "2006-01-02"} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return memory.Time(t)
		}
	}
	return time.Time{}
}

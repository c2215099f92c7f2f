package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci/client"
)

// jsonFormat writes what encoding/json would, the answer to a search without its
// reflection, which takes a third of what the rest of HTTP does.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		answer, ok := v.(client.SearchAnswer)
		if !ok {
			return huma.DefaultJSONFormat.Marshal(w, v)
		}
		j := writers.Get().(*jsonWriter)
		defer writers.Put(j)
		j.b, j.err = j.b[:0], nil
		j.answer(answer)
		if j.err != nil {
			return j.err
		}
		_, err := w.Write(append(j.b, '\n'))
		return err
	},
	Unmarshal: huma.DefaultJSONFormat.Unmarshal,
}

var writers = sync.Pool{New: func() any { return new(jsonWriter) }}

// jsonWriter writes fields in the order of calls. Those called maybe leave out what
// is empty.
type jsonWriter struct {
	b   []byte
	err error // the first
}

func (j *jsonWriter) answer(a client.SearchAnswer) {
	j.b = append(j.b, `{"hits":[`...)
	for i := range a.Hits {
		if i > 0 {
			j.b = append(j.b, ',')
		}
		j.hit(&a.Hits[i])
	}
	j.b = append(j.b, ']')
	j.text("trace", a.Trace)
	if len(a.Degraded) > 0 {
		j.value("degraded", a.Degraded)
	}
	if len(a.Misspelt) > 0 {
		j.value("misspelt", a.Misspelt)
	}
	j.maybeText("block", a.Block)
	j.maybeText("pause", a.Pause)
	j.b = append(j.b, '}')
}

func (j *jsonWriter) hit(h *client.Hit) {
	j.b = append(j.b, `{"id":`...)
	j.b = appendText(j.b, h.ID)
	j.text("kind", string(h.Kind))
	j.text("content", h.Content)
	j.text("status", string(h.Status))
	j.maybeText("category", h.Category)
	if len(h.Tags) > 0 {
		j.value("tags", h.Tags)
	}
	j.maybeText("subject", h.Subject)
	j.maybeText("attribute", h.Attribute)
	if h.Confidence != 0 {
		j.number("confidence", h.Confidence)
	}
	j.maybeText("source", string(h.Source))
	j.maybeText("trust", string(h.Trust))
	if h.Pinned {
		j.value("pinned", true)
	}
	j.maybeText("project", h.Project)
	j.maybeText("agent", h.Agent)
	j.maybeText("conversation", h.Conversation)
	if h.Provenance != nil {
		j.value("provenance", h.Provenance)
	}
	j.maybeText("role", string(h.Role))
	j.maybeText("name", h.Name)
	j.maybeText("ref", h.Ref)
	if h.Messages != 0 {
		j.value("message_count", h.Messages)
	}
	j.maybeText("model", h.Model)
	j.maybeTime("observed_at", h.ObservedAt)
	j.maybeTime("valid_from", h.ValidFrom)
	j.maybeTime("valid_to", h.ValidTo)
	j.time("created_at", h.CreatedAt)
	j.maybeTime("updated_at", h.UpdatedAt)
	j.maybeTime("learned_at", h.LearnedAt)
	j.maybeTime("expires_at", h.ExpiresAt)
	j.maybeText("superseded_by", h.SupersededBy)
	j.maybeText("home", h.Home)
	if len(h.Metadata) > 0 {
		j.value("metadata", h.Metadata)
	}
	j.number("score", h.Score)
	if h.Why != nil {
		j.value("why", h.Why)
	}
	if len(h.Now) > 0 {
		j.value("now", h.Now)
	}
	if len(h.Was) > 0 {
		j.value("was", h.Was)
	}
	if h.Core {
		j.value("core", true)
	}
	j.b = append(j.b, '}')
}

// field begins one. Names are plain.
func (j *jsonWriter) field(name string) {
	j.b = append(append(append(j.b, `,"`...), name...), `":`...)
}

func (j *jsonWriter) text(name, s string) {
	j.field(name)
	j.b = appendText(j.b, s)
}

func (j *jsonWriter) maybeText(name, s string) {
	if s != "" {
		j.text(name, s)
	}
}

func (j *jsonWriter) time(name string, t time.Time) {
	j.field(name)
	b, err := t.AppendText(append(j.b, '"'))
	if err != nil {
		j.fail(name, err)
		return
	}
	j.b = append(b, '"')
}

func (j *jsonWriter) maybeTime(name string, t time.Time) {
	if !t.IsZero() {
		j.time(name, t)
	}
}

func (j *jsonWriter) number(name string, x float64) {
	if abs := math.Abs(x); x != 0 && !(1e-6 <= abs && abs < 1e21) {
		j.value(name, x)
		return
	}
	j.field(name)
	j.b = strconv.AppendFloat(j.b, x, 'f', -1, 64)
}

// value writes any value, slowly.
func (j *jsonWriter) value(name string, v any) {
	j.field(name)
	enc := json.NewEncoder(j)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		j.fail(name, err)
		return
	}
	j.b = j.b[:len(j.b)-1] // the encoder ends a line
}

// Write implements io.Writer.
func (j *jsonWriter) Write(p []byte) (int, error) {
	j.b = append(j.b, p...)
	return len(p), nil
}

func (j *jsonWriter) fail(name string, err error) {
	if j.err == nil {
		j.err = fmt.Errorf("encode %s: %w", name, err)
	}
}

// escapes are the short ones.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendText adds a text as JSON writes it, letting the letters of HTML be.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch short := escapes[c]; {
		case short != 0:
			b = append(append(b, s[start:i]...), '\\', short)
		case c < ' ':
			b = append(append(b, s[start:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
		case r == '\u2028', r == '\u2029': // end lines in JavaScript
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, hex[r&15])
		default:
			i += n
			continue
		}
		i += n
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

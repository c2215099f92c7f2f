package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// printer is what people read: lines of text, in colour on a terminal unless NO_COLOR
// is set.
type printer struct {
	io.Writer
	colour bool
}

func newPrinter(w io.Writer) printer {
	within := w
	if p, ok := w.(*printed); ok {
		within = p.Writer
	}
	f, ok := within.(*os.File)
	return printer{w, ok && isTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// printed is what is written for people, and why not all of it could be.
type printed struct {
	io.Writer
	err error
}

func (p *printed) Write(text []byte) (int, error) {
	n, err := p.Writer.Write(text)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// styles of a terminal (ECMA-48, select graphic rendition).
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

func (s printer) in(style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// line writes one line; what a format leaves at its end is cut off.
func (s printer) line(format string, args ...any) {
	fmt.Fprintln(s, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// harmless returns text without control characters, which could move a terminal's
// cursor or change what it shows: memory holds what others wrote.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '�'
		}
		return r
	}, text)
}

// brief returns a text on one line of at most n characters.
func brief(text string, n int) string { return oneLine(harmless(text), n) }

// when returns a time as people of this machine read it.
func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// whenever is when, or never for the zero time.
func whenever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return when(t)
}

// by says who or what decided something.
func by(a memory.Author) string {
	name := brief(a.Name, 60)
	who := string(a.Kind) + " " + name
	switch {
	case a.Kind == "":
		return "by nobody known"
	case a.Kind == memory.ByRule && name == "rules":
		who = name
	case a.Kind == memory.ByModel && a.Prompt != "":
		who += ", prompt " + a.Prompt
	case a.Kind == memory.ByPerson && a.Admin:
		who = strings.TrimSuffix("whoever runs the server, as "+name, ", as ")
	}
	return "by " + strings.TrimSpace(who)
}

// around is how many characters of a turn are shown on each side of a quote.
const around = 60

// quote returns the words of a quote marked in what is around them in their turn.
func (s printer) quote(q client.Quote) string {
	if q.Words == "" {
		return brief(q.Before, 2*around)
	}
	before, after := brief(q.Before, len(q.Before)+1), brief(q.After, len(q.After)+1)
	if r := []rune(before); len(r) > around {
		before = "…" + string(r[len(r)-around+1:])
	}
	after = oneLine(after, around)
	out := "«" + s.in(bold, brief(q.Words, 4*around)) + "»"
	if before != "" {
		out = before + " " + out
	}
	if after != "" && unicode.IsPunct([]rune(after)[0]) {
		return out + after
	}
	return strings.TrimRight(out+" "+after, " ")
}

// place says where and when a quote was said.
func place(q client.Quote) string {
	out := string(q.Role) + ", " + when(q.SaidAt)
	if q.Conversation != "" {
		out += ", conversation " + brief(q.Conversation, 60)
	}
	return out
}

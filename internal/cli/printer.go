package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/text"
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

// isTerminal reports whether a person sits at the other end of f. It takes the null device for
// one as well, where nobody sees the colours.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

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

// timeFlag is a flag that names a time as people write it.
type timeFlag struct {
	at  *time.Time
	end bool // of a day or longer the end is meant, not the beginning
}

// Set implements pflag.Value.
func (m timeFlag) Set(s string) (err error) {
	*m.at, err = readTime(s, time.Now(), m.end)
	return err
}

// Type implements pflag.Value.
func (m timeFlag) Type() string { return "time" }

// String implements pflag.Value.
func (m timeFlag) String() string {
	if m.at == nil || m.at.IsZero() {
		return ""
	}
	return m.at.Format(time.RFC3339)
}

// clocks are the ways to write a time of a day.
var clocks = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"}

// readTime reads a time in now's zone: RFC 3339, "2026-05-03 14:00", "14:00" of
// today, "90m" ago, "now", and days or longer as people say them ("2026-05-03",
// "yesterday", "last week", "in May"), of which it returns the beginning or the end.
func readTime(s string, now time.Time, end bool) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "now" {
		return now, nil
	}
	for _, layout := range clocks {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	day := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, now.Location())
	}
	if t, err := time.Parse("15:04", s); err == nil {
		return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location()), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if dates := text.Resolve(s, now); len(dates) == 1 && dates[0].Of(s) == s {
		if end {
			return day(dates[0].To).Add(-time.Microsecond), nil
		}
		return day(dates[0].From), nil
	}
	return time.Time{}, memory.Errorf(memory.Invalid, `%q is not a valid time; write 2026-05-03, "2026-05-03 14:00", yesterday, "last week", 90m (ago) or RFC 3339`, s)
}

// timeFlags are the flags of a read of another time.
func timeFlags(cmd *cobra.Command, at *memory.At) {
	cmd.Flags().Var(timeFlag{at: &at.AsOf, end: true}, "as-of", "what was known then: 2026-05-03, yesterday, 90m (ago), …")
	cmd.Flags().Var(timeFlag{at: &at.ValidAt, end: true}, "valid-at", "what was true then")
}

// reading makes a read one of the time that its flags name.
func (g *global) reading(cmd *cobra.Command) *cobra.Command {
	timeFlags(cmd, &g.at)
	return onMemory(g, cmd)
}

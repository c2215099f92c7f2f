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

// printer writes text for people, in colour on a terminal unless NO_COLOR is set.
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

// printed is an io.Writer that remembers its first error.
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

// Text styles of a terminal (ECMA-48, select graphic rendition).
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

// line writes one line without trailing spaces.
func (s printer) line(format string, args ...any) {
	fmt.Fprintln(s, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// harmless replaces control characters, which could move a terminal's cursor or change its display.
// Memory can hold text of other people.
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

// oneLine shortens s to one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// when formats a time in this machine's time zone.
func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// whenever is like when, but returns "never" for the zero time.
func whenever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return when(t)
}

// by formats the author of a change.
func by(a memory.Author) string {
	name := brief(a.Name, 60)
	who := string(a.Kind) + " " + name
	switch {
	case a.Kind == "":
		return "by unknown"
	case a.Kind == memory.ByRule && name == "rules":
		who = name
	case a.Kind == memory.ByModel && a.Prompt != "":
		who += ", prompt " + a.Prompt
	case a.Kind == memory.ByPerson && a.Admin:
		who = strings.TrimSuffix("administrator, as "+name, ", as ")
	}
	return "by " + strings.TrimSpace(who)
}

// around is how many characters of a turn are shown on each side of a quote.
const around = 60

// quote returns the words of a quote, marked, with the text around them in their turn.
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

// place formats the speaker, the time and the conversation of a quote.
func place(q client.Quote) string {
	out := string(q.Role) + ", " + when(q.SaidAt)
	if q.Conversation != "" {
		out += ", conversation " + brief(q.Conversation, 60)
	}
	return out
}

// isTerminal reports whether f is a terminal. It is also true for the null device, where colours do no harm.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progress shows the progress of long work: as a changing line on a terminal, otherwise not at all.
type progress struct {
	w    io.Writer // nil: not a terminal
	read int64
	next time.Time
}

// tick is the interval at which the line is updated.
const tick = 200 * time.Millisecond

func progressOn(w io.Writer) *progress {
	p := &progress{next: time.Now().Add(tick)}
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		p.w = w
	}
	return p
}

// bytes shows how many bytes are done; of is their total number, 0 if unknown.
func (p *progress) bytes(name string, done, of int64) { p.at(name, done, of, size) }

// of returns bytes with the given name.
func (p *progress) of(name string) func(done, of int64) {
	return func(done, of int64) { p.bytes(name, done, of) }
}

// count is like bytes, but for a number of items.
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

// end clears the line.
func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// reading returns a reader that shows how much was read.
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

// timeFlag is a flag whose value is a time in one of the notations of readTime.
type timeFlag struct {
	at  *time.Time
	end bool // a day or a longer period means its end, not its beginning
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

// clocks are the layouts of a date with a time of day.
var clocks = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"}

// readTime parses a time in now's zone: RFC 3339, "2026-05-03 14:00", "14:00" of today, "90m" ago,
// "now", or a period of days ("2026-05-03", "yesterday", "last week", "in May"). For a period it
// returns the beginning or, if end is set, the end.
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

// timeFlags adds the flags that read memory as of another time.
func timeFlags(cmd *cobra.Command, at *memory.At) {
	cmd.Flags().Var(timeFlag{at: &at.AsOf, end: true}, "as-of", "memory as it was known at this time: 2026-05-03, yesterday, 90m (ago), …")
	cmd.Flags().Var(timeFlag{at: &at.ValidAt, end: true}, "valid-at", "facts that were true at this time")
}

// reading adds the flags of a command that reads memory.
func (g *global) reading(cmd *cobra.Command) *cobra.Command {
	timeFlags(cmd, &g.at)
	return onMemory(g, cmd)
}

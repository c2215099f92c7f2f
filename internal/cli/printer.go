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
	underlying := w
	if p, ok := w.(*errorWriter); ok {
		underlying = p.Writer
	}
	f, ok := underlying.(*os.File)
	return printer{w, ok && isTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// errorWriter is an io.Writer that remembers its first error in err.
type errorWriter struct {
	io.Writer
	err error
}

func (p *errorWriter) Write(text []byte) (int, error) {
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

func (s printer) styled(style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// line writes one line without spaces at the end.
func (s printer) line(format string, args ...any) {
	fmt.Fprintln(s, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// sanitize replaces control characters, which could move a terminal's cursor or change its display.
// Memory can contain text of other people.
func sanitize(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '�'
		}
		return r
	}, text)
}

// shorten cuts a text to one line of at most n characters, without control characters.
func shorten(text string, n int) string { return oneLine(sanitize(text), n) }

// oneLine shortens s to one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// formatTime formats a time in this machine's time zone.
func formatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// timeOrNever is like formatTime, but returns "never" for the zero time.
func timeOrNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return formatTime(t)
}

// authorText describes the author of a change.
func authorText(author memory.Author) string {
	name := shorten(author.Name, 60)
	label := string(author.Kind) + " " + name
	switch {
	case author.Kind == "":
		return "by unknown"
	case author.Kind == memory.ByRule && name == "rules":
		label = name
	case author.Kind == memory.ByModel && author.Prompt != "":
		label += ", prompt " + author.Prompt
	case author.Kind == memory.ByPerson && author.Admin:
		label = strings.TrimSuffix("administrator, as "+name, ", as ")
	}
	return "by " + strings.TrimSpace(label)
}

// quoteContextLength is the number of characters shown on each side of a quote.
const quoteContextLength = 60

// quoteText returns a quote in «», with some text before and after it in its turn.
func (s printer) quoteText(q client.Quote) string {
	if q.Words == "" {
		return shorten(q.Before, 2*quoteContextLength)
	}
	before, after := shorten(q.Before, len(q.Before)+1), shorten(q.After, len(q.After)+1)
	if r := []rune(before); len(r) > quoteContextLength {
		before = "…" + string(r[len(r)-quoteContextLength+1:])
	}
	after = oneLine(after, quoteContextLength)
	out := "«" + s.styled(bold, shorten(q.Words, 4*quoteContextLength)) + "»"
	if before != "" {
		out = before + " " + out
	}
	if after != "" && unicode.IsPunct([]rune(after)[0]) {
		return out + after
	}
	return strings.TrimRight(out+" "+after, " ")
}

// quoteSource describes the speaker, the time and the conversation of a quote.
func quoteSource(q client.Quote) string {
	out := string(q.Role) + ", " + formatTime(q.SaidAt)
	if q.Conversation != "" {
		out += ", conversation " + shorten(q.Conversation, 60)
	}
	return out
}

// isTerminal reports whether f is a terminal or another character device, such as the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progressLine shows the progress of long work as one changing line of a terminal. Without a terminal it shows nothing.
type progressLine struct {
	w          io.Writer // nil if not a terminal
	bytesRead  int64
	nextUpdate time.Time
}

// progressInterval is the minimum interval between updates of a progress line.
const progressInterval = 200 * time.Millisecond

func newProgressLine(w io.Writer) *progressLine {
	p := &progressLine{nextUpdate: time.Now().Add(progressInterval)}
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		p.w = w
	}
	return p
}

// showBytes shows how many of total bytes are done; a total of 0 means that it is unknown.
func (p *progressLine) showBytes(label string, done, total int64) {
	p.update(label, done, total, formatSize)
}

// bytesReporter returns a function that calls showBytes with the label.
func (p *progressLine) bytesReporter(label string) func(done, total int64) {
	return func(done, total int64) { p.showBytes(label, done, total) }
}

// showCount is like showBytes, but for a number of items.
func (p *progressLine) showCount(label string, done, total int64) {
	p.update(label, done, total, func(n int64) string { return fmt.Sprint(n) })
}

func (p *progressLine) update(label string, done, total int64, format func(int64) string) {
	if p.w == nil || time.Now().Before(p.nextUpdate) {
		return
	}
	p.nextUpdate = time.Now().Add(progressInterval)
	if total <= 0 {
		fmt.Fprintf(p.w, "\r%s %s\x1b[K", label, format(done))
		return
	}
	const width = 30
	full := int(min(done, total) * width / total)
	fmt.Fprintf(p.w, "\r%s [%s%s] %s of %s\x1b[K", label, strings.Repeat("#", full), strings.Repeat(".", width-full), format(done), format(total))
}

// clear clears the line.
func (p *progressLine) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// countReads returns a reader of r that shows, with the label, how many of total bytes all readers have read.
func (p *progressLine) countReads(r io.Reader, label string, total int64) io.Reader {
	return readerFunc(func(b []byte) (int, error) {
		n, err := r.Read(b)
		p.bytesRead += int64(n)
		p.showBytes(label, p.bytesRead, total)
		return n, err
	})
}

type readerFunc func(b []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// timeFlag is the value of a flag for a time, in any notation of parseTime.
type timeFlag struct {
	target *time.Time
	atEnd  bool // whether a day or a longer period means its end, not its beginning
}

// Set implements pflag.Value.
func (m timeFlag) Set(s string) (err error) {
	*m.target, err = parseTime(s, time.Now(), m.atEnd)
	return err
}

// Type implements pflag.Value.
func (m timeFlag) Type() string { return "time" }

// String implements pflag.Value.
func (m timeFlag) String() string {
	if m.target == nil || m.target.IsZero() {
		return ""
	}
	return m.target.Format(time.RFC3339)
}

// dateTimeLayouts are the layouts of a date with a time of day.
var dateTimeLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"}

// parseTime parses a time in now's zone: RFC 3339, "2026-05-03 14:00", "14:00" of today, "90m" ago,
// "now", or a period of days ("2026-05-03", "yesterday", "last week", "in May"). For a period it
// returns the beginning or, if atEnd is set, the end.
func parseTime(s string, now time.Time, atEnd bool) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "now" {
		return now, nil
	}
	for _, layout := range dateTimeLayouts {
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
	if dates := text.ResolveDates(s, now); len(dates) == 1 && dates[0].Slice(s) == s {
		if atEnd {
			return day(dates[0].To).Add(-time.Microsecond), nil
		}
		return day(dates[0].From), nil
	}
	return time.Time{}, memory.Errorf(memory.Invalid, `%q is not a valid time; write 2026-05-03, "2026-05-03 14:00", yesterday, "last week", 90m (ago) or RFC 3339`, s)
}

// addTimeFlags adds the flags for reading memory as of another time.
func addTimeFlags(cmd *cobra.Command, at *memory.At) {
	cmd.Flags().Var(timeFlag{target: &at.AsOf, atEnd: true}, "as-of", "memory as it was recorded at this time: 2026-05-03, yesterday, 90m (ago), …")
	cmd.Flags().Var(timeFlag{target: &at.ValidAt, atEnd: true}, "valid-at", "facts that were true at this time")
}

// withReadFlags adds the flags of a command that reads memory.
func (g *sharedState) withReadFlags(cmd *cobra.Command) *cobra.Command {
	addTimeFlags(cmd, &g.readAt)
	return withMemoryFlags(g, cmd)
}

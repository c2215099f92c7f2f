package cli

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func imports(g *global) *cobra.Command {
	b := &bringing{}
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Bring memory back, or from elsewhere",
		Long: "Bring memory back that was exported (.jsonl, .md, .zip, a folder of them), or facts and chats from elsewhere: a list of facts\n" +
			"(.md, .txt), what ChatGPT and Claude export (the zip as it is, or its conversations.json), a chat as JSON lines, a JSON list of\n" +
			"mem0, notes of basic-memory, memories of agent-cli. What was said keeps its time. - is the standard input.\n" +
			"What is there already is passed over, so an import that was cut off goes on when it is run again. With --learn a server\n" +
			"learns in the background (loci jobs); without one this learns before it ends.",
		Example: "  loci import memory.jsonl\n  loci import --dry-run facts.txt\n  loci import --from chatgpt conversations.json --learn\n  loci import --dry-run data-2026-01-02.zip",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.q.Format != "" && importFormats[b.q.Format] == nil {
				return memory.Errorf(memory.Invalid, "--from %s: it is none of jsonl, markdown, list, chatgpt, claude, mem0, basic-memory, agent-cli", b.q.Format)
			}
			for _, path := range args {
				if err := readable(path); err != nil {
					return err
				}
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				b.client, b.gauge = c, gaugeOn(cmd.ErrOrStderr(), "imported", sizeOf(args))
				b.alone = g.alone
				if err := b.noteWork(ctx); err != nil {
					return err
				}
				err := b.paths(ctx, args)
				b.gauge.done()
				b.out.DryRun = b.q.DryRun
				if b.alone && b.out.Jobs > 0 {
					err = errors.Join(err, b.learned(ctx, cmd.ErrOrStderr()))
				}
				if told := g.print(cmd.OutOrStdout(), b.out, func(w io.Writer) { onSheet(w).imported(b) }); told != nil || err != nil {
					return errors.Join(err, told)
				}
				if b.out.Broken > 0 {
					return fmt.Errorf("%s could not be read", many(b.out.Broken, "line"))
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&b.q.Format, "from", "", "what it is: jsonl, markdown, list, chatgpt, claude, mem0, basic-memory, agent-cli; found out unless given")
	f.BoolVar(&b.q.DryRun, "dry-run", false, "only show what would be added")
	f.BoolVar(&b.q.Strict, "strict", false, "end at the first line that cannot be read")
	f.BoolVar(&b.q.Learn, "learn", false, "learn from turns that wait for it")
	f.StringVar(&b.q.Project, "project", "", "project of facts and chats from elsewhere")
	return onMemory(g, cmd)
}

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
	sniffed   = 64 << 10 // of a file, to find out what it is
	mostFiles = 200_000
	mostShown = 20 // troubles
)

// bringing is an import under way.
type bringing struct {
	q        client.ImportQuery
	client   *client.Client
	gauge    *gauge
	out      client.Imported
	troubles []string // named by file and line

	alone  bool            // no server learns from what is imported
	others map[string]bool // ids of jobs that were there before
	behind int             // chats that could not be learned from, which are tried again
}

func readable(path string) error {
	if path == "-" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return memory.Errorf(memory.Invalid, "%w", err)
	}
	return nil
}

// sizeOf is how many bytes files have, those in archives included; folders do not
// count, so that it may be 0.
func sizeOf(paths []string) (total int64) {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil || !info.Mode().IsRegular():
		case isZip(path):
			total += sizeIn(path)
		default:
			total += info.Size()
		}
	}
	return total
}

func isZip(path string) bool { return strings.EqualFold(filepath.Ext(path), ".zip") }

// sizeIn is how many bytes an archive says that those of its files have which are read.
func sizeIn(archive string) (total int64) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return 0 // it is told when it is read
	}
	for _, f := range z.File {
		if wanted(f.Name) {
			total += int64(min(f.UncompressedSize64, 1<<40)) // what it says may not be so
		}
	}
	_ = z.Close() // it was only looked at
	return total
}

func (b *bringing) paths(ctx context.Context, paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "-":
			err = b.file(ctx, "standard input", os.Stdin)
		case err != nil:
		case info.IsDir():
			err = b.folder(ctx, path)
		case isZip(path):
			err = b.archive(ctx, path)
		default:
			err = b.open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wanted are the files that are looked for in folders and archives.
func wanted(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md", ".markdown", ".jsonl", ".ndjson":
		return !strings.HasPrefix(filepath.Base(name), ".")
	}
	return othersChats.MatchString(filepath.Base(name))
}

// othersChats are the names that ChatGPT, by the part, and Claude give to what was said.
var othersChats = regexp.MustCompile(`^conversations(-\d+)?\.json$`)

// nothingIn says that none of the files under a path are read.
func nothingIn(path string) error {
	return memory.Errorf(memory.Invalid, "%s: nothing in it is read: neither .md, nor .jsonl, nor conversations.json", path)
}

// folder reads the files under a folder. Links are not followed, and folders whose
// name begins with a dot are left out.
func (b *bringing) folder(ctx context.Context, dir string) error {
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular() || !wanted(path):
			return nil
		}
		if files++; files > mostFiles {
			return memory.Errorf(memory.TooLarge, "more than %d files in %s", mostFiles, dir)
		}
		return b.open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
	})
	if err == nil && files == 0 {
		return nothingIn(dir)
	}
	return err
}

// archive reads the files of a zip. Nothing is unpacked: their names only name them.
func (b *bringing) archive(ctx context.Context, path string) (err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return memory.Errorf(memory.Invalid, "%s: %w", path, err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	if len(z.File) > mostFiles {
		return memory.Errorf(memory.TooLarge, "more than %d files in %s", mostFiles, path)
	}
	files := 0
	for _, f := range z.File {
		if f.FileInfo().IsDir() || !wanted(f.Name) {
			continue
		}
		files++
		if err := b.open(ctx, path+": "+f.Name, f.Open); err != nil {
			return err
		}
	}
	if files == 0 {
		return nothingIn(path)
	}
	return nil
}

func (b *bringing) open(ctx context.Context, name string, open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	return errors.Join(b.file(ctx, name, in), in.Close())
}

// file sends a file part by part.
func (b *bringing) file(ctx context.Context, name string, in io.Reader) error {
	buffered := bufio.NewReaderSize(in, sniffed)
	format := b.q.Format
	if format == "" {
		head, err := buffered.Peek(sniffed)
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", name, err)
		}
		format = formatOf(name, head)
	}
	at := placeIn(name, format)
	c := &cutter{send: func(part []byte, first int) error {
		q := b.q
		q.Format, q.First = format, first
		out, err := b.client.Import(ctx, q, bytes.NewReader(part), "")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.add(at, out)
		b.gauge.add(int64(len(part)))
		return nil
	}, bad: func(line int, reason string) error {
		b.add(at, client.Imported{Broken: 1, Problems: []client.ImportTrouble{{Line: line, Reason: reason}}})
		if b.q.Strict {
			return memory.Errorf(memory.Invalid, "%s: %s", at(line), reason)
		}
		return nil
	}}
	return importFormats[format](c, buffered)
}

var frontMatterOf = regexp.MustCompile(`(?m)^conversation_id:`)

// formatOf finds out what a file is by its beginning.
func formatOf(name string, head []byte) string {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n")
	isJSON := len(head) > 0 && (head[0] == '[' || head[0] == '{')
	switch {
	case bytes.HasPrefix(head, []byte(`{"type":`)), strings.HasSuffix(name, ".jsonl"), strings.HasSuffix(name, ".ndjson"):
		return "jsonl"
	case isJSON && bytes.Contains(head, []byte(`"mapping"`)):
		return "chatgpt"
	case isJSON && bytes.Contains(head, []byte(`"chat_messages"`)):
		return "claude"
	case isJSON:
		return "mem0"
	case bytes.Contains(head, []byte("<!-- loci {")):
		return "markdown"
	case bytes.HasPrefix(head, []byte("---")) && frontMatterOf.Match(head):
		return "agent-cli"
	case bytes.HasPrefix(head, []byte("---")):
		return "basic-memory"
	}
	return "list"
}

// placeIn names places in a file: lines, or items where it is a list of JSON.
func placeIn(name, format string) func(n int) string {
	switch format {
	case "chatgpt", "claude", "mem0":
		return func(n int) string { return fmt.Sprintf("%s, item %d", name, n) }
	}
	return func(n int) string { return fmt.Sprintf("%s:%d", name, n) }
}

// add puts the counts of a part to those of all; at names its places.
func (b *bringing) add(at func(n int) string, part client.Imported) {
	o := &b.out
	o.Read += part.Read
	for _, t := range []struct {
		to   *client.Tally
		from client.Tally
	}{{&o.Added, part.Added}, {&o.There, part.There}} {
		t.to.Conversations += t.from.Conversations
		t.to.Turns += t.from.Turns
		t.to.Facts += t.from.Facts
		t.to.Summaries += t.from.Summaries
		t.to.Profile += t.from.Profile
		t.to.Relations += t.from.Relations
		t.to.Contexts += t.from.Contexts
	}
	o.Duplicates += part.Duplicates
	o.Waiting += part.Waiting
	o.Redacted += part.Redacted
	o.Conflicting += part.Conflicting
	o.Broken += part.Broken
	o.Jobs += part.Jobs
	o.Conflicts = first(append(o.Conflicts, part.Conflicts...), 100)
	o.Problems = first(append(o.Problems, part.Problems...), 100)
	o.Sample = first(append(o.Sample, part.Sample...), mostShown)
	o.Runs = first(append(o.Runs, part.Runs...), 100)
	for _, t := range part.Problems {
		b.troubles = append(b.troubles, at(t.Line)+": "+t.Reason)
	}
	for _, t := range part.Conflicts {
		b.troubles = append(b.troubles, fmt.Sprintf("%s: kept as it is: %s %s", at(t.Line), t.Target, t.Reason))
	}
	b.troubles = first(b.troubles, mostShown)
}

func first[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// imported writes what came of an import.
func (s sheet) imported(b *bringing) {
	o := b.out
	if o.DryRun {
		for _, m := range o.Sample {
			s.line("%s", s.in(green, "+ "+kindOf(m.Target)+"  "+said(m.Content, 160)))
		}
		if n := o.Added.Sum() - len(o.Sample); n > 0 && len(o.Sample) > 0 {
			s.line("  … and %d more", n)
		}
	}
	for _, t := range b.troubles {
		s.line("%s", s.in(red, harmless(t)))
	}
	if n := o.Broken + o.Conflicting - len(b.troubles); n > 0 {
		s.line("  … and %d more", n)
	}
	verb := "added"
	if o.DryRun {
		verb = "would add"
	}
	s.line("%s %s", verb, tallied(o.Added))
	if o.There.Sum() > 0 {
		s.line("there already: %s", tallied(o.There))
	}
	for _, c := range []struct {
		n    int
		what string
	}{
		{o.Duplicates, "left out, since others say the same"},
		{o.Conflicting, "kept as they are here, other than in the file"},
		{o.Broken, "could not be read"},
		{o.Redacted, "had secrets blanked"},
		{o.Waiting, "wait for you: loci review"},
	} {
		if c.n > 0 {
			s.line("%d %s", c.n, c.what)
		}
	}
	switch {
	case o.Jobs == 0:
	case !b.alone:
		s.line("%s will be learned from: loci jobs", many(o.Jobs, "chat"))
	case b.behind > 0:
		s.line("%s could not be learned from yet: loci jobs", many(b.behind, "chat"))
	default:
		s.line("learned from %s", many(o.Jobs, "chat"))
	}
}

// noteWork notes what is to be learned from anyway, which is none of this import's, if it is
// to be waited for at the end.
func (b *bringing) noteWork(ctx context.Context) error {
	if !b.alone || !b.q.Learn {
		return nil
	}
	now, err := b.client.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("read what is to be learned from: %w", err)
	}
	b.others = map[string]bool{}
	for _, j := range now.Jobs {
		b.others[j.ID] = true
	}
	return nil
}

// learned waits until all was learned from that was imported: without a server nobody
// else would. What failed, and what is put off until later, is not waited for.
func (b *bringing) learned(ctx context.Context, w io.Writer) error {
	bar := &progress{w: w, live: w == os.Stderr && isTerminal(os.Stderr)}
	defer bar.end()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for most := 0; ; {
		now, err := b.client.Jobs(ctx)
		if err != nil {
			return fmt.Errorf("learn from what was imported: %w", err)
		}
		left := 0
		b.behind = 0
		for _, j := range now.Jobs {
			switch {
			case j.Kind != memory.JobLearn, b.others[j.ID]:
			case j.State == memory.JobParked, j.State == memory.JobQueued && (j.Attempts > 0 || j.RunAt.After(time.Now())):
				b.behind++
			default:
				left++
			}
		}
		if left == 0 {
			return nil
		}
		most = max(most, left)
		bar.at("learned from", int64(most-left), int64(most), func(n int64) string { return fmt.Sprint(n) })
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func kindOf(target string) string {
	kind, _, _ := strings.Cut(target, ":")
	return kind
}

func tallied(t client.Tally) string {
	var out []string
	for _, c := range []struct {
		n        int
		one, all string
	}{
		{t.Facts, "fact", "facts"},
		{t.Turns, "turn", "turns"},
		{t.Conversations, "conversation", "conversations"},
		{t.Summaries, "summary", "summaries"},
		{t.Profile, "profile entry", "profile entries"},
		{t.Relations, "relation", "relations"},
		{t.Contexts, "context", "contexts"},
	} {
		switch {
		case c.n == 1:
			out = append(out, "1 "+c.one)
		case c.n > 1:
			out = append(out, fmt.Sprintf("%d %s", c.n, c.all))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// cutter cuts a file into parts that can be read alone.
type cutter struct {
	send func(part []byte, first int) error // first is the number of its first line
	bad  func(line int, reason string) error

	part  []byte
	first int
}

// add puts a piece to the part; a piece that would make it too large begins another
// if it may, with what must stand before it.
func (c *cutter) add(line []byte, n int, mayBegin bool, before func() [][]byte) error {
	if mayBegin && len(c.part) > 0 && len(c.part)+len(line) > partBytes {
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
	c.part = append(append(c.part, line...), '\n')
	return nil
}

func (c *cutter) flush() error {
	if len(c.part) == 0 {
		return nil
	}
	err := c.send(c.part, c.first)
	c.part = c.part[:0]
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
		mayBegin := isHeading || bytes.Contains(line, []byte("<!-- loci {")) && !bytes.HasPrefix(line, []byte(">"))
		err := c.add(line, n, mayBegin, func() (before [][]byte) {
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

var listItem = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,4}[.)])\s`)

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

// items cuts a JSON list between its elements. What is no list is sent as it is.
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
	dec := json.NewDecoder(r)
	if _, err := dec.Token(); err != nil { // the bracket
		return err
	}
	n := 1
	for ; dec.More(); n++ {
		var item json.RawMessage
		if err := dec.Decode(&item); err != nil {
			if flushed := c.closeList(); flushed != nil {
				return flushed
			}
			return c.bad(n, "is not JSON, and all that follows is left out: "+brokenOff(err))
		}
		if len(item) > partLong {
			if err := c.bad(n, fmt.Sprintf("is longer than %d bytes", partLong)); err != nil {
				return err
			}
			continue
		}
		if len(c.part) > 0 && len(c.part)+len(item) > partBytes {
			if err := c.closeList(); err != nil {
				return err
			}
		}
		lead := byte(',')
		if len(c.part) == 0 {
			lead, c.first = '[', n
		}
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

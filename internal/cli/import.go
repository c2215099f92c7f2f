package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// errBrokenOff is the end of an import that was stopped.
var errBrokenOff = errors.New("broken off; what was read so far may be in memory, and the same command goes on from there")

func imports(g *global) *cobra.Command {
	b := &importer{}
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Bring memory back, or from elsewhere",
		Long: "Bring memory back that was exported (.jsonl, .md, .zip, a folder of them), or facts and chats from elsewhere: a list of facts\n" +
			"(.md, .txt), what ChatGPT and Claude export (the zip as it is, or its conversations.json), a chat as JSON lines, a JSON list of\n" +
			"mem0, notes of basic-memory, memories of agent-cli. A file of another name is not taken for facts unless --from says so. What was said keeps its time. - is the standard input.\n" +
			"What is there already is passed over, so an import that was cut off goes on when it is run again. With --learn a server\n" +
			"learns in the background (loci jobs); without one this learns before it ends.",
		Example: "  loci import memory.jsonl\n  loci import --dry-run facts.txt\n  loci import --from chatgpt conversations.json --learn\n  loci import --dry-run data-2026-01-02.zip",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.q.Format != "" && !slices.Contains(portable.Formats, portable.Format(b.q.Format)) {
				return memory.Errorf(memory.Invalid, "--from %s: it is none of %v", b.q.Format, portable.Formats)
			}
			for _, path := range args {
				if err := b.readable(path); err != nil {
					return err
				}
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				b.client, b.progress = c, progressOn(cmd.ErrOrStderr())
				b.alone = g.alone
				var err error
				for _, path := range args {
					if err == nil {
						err = b.path(ctx, path)
					}
				}
				b.progress.end()
				if err != nil && ctx.Err() != nil { // what the last part brought nobody has said
					return errBrokenOff
				}
				if err != nil && !errors.Is(err, memory.Invalid) && !b.q.DryRun {
					return fmt.Errorf("%w; what was imported by then, if anything, stays, and the same command goes on from there", err)
				}
				b.out.DryRun = b.q.DryRun
				if b.alone && b.out.Jobs > 0 {
					err = errors.Join(err, b.learned(ctx, g.settle))
				}
				if told := g.print(cmd.OutOrStdout(), b.out, func(out printer) { out.imported(b) }); told != nil || err != nil {
					return errors.Join(err, told)
				}
				if b.out.Broken > 0 {
					return fmt.Errorf("%s could not be read", many(b.out.Broken, "lines"))
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&b.q.Format, "from", "", fmt.Sprintf("what it is, of %v; found out unless given", portable.Formats))
	f.BoolVar(&b.q.DryRun, "dry-run", false, "only show what would be added")
	f.BoolVar(&b.q.Strict, "strict", false, "end at the first line that cannot be read")
	f.BoolVar(&b.q.Learn, "learn", false, "learn from turns that wait for it")
	f.StringVar(&b.q.Project, "project", "", "project of facts and chats from elsewhere")
	return onMemory(g, cmd)
}

const mostShown = 20 // troubles, and samples of what would be added

// importer is an import under way.
type importer struct {
	q        client.ImportQuery
	client   *client.Client
	progress *progress
	out      client.Imported
	troubles []string // named by file and line

	alone  bool // no server learns from what is imported
	behind int  // chats that could not be learned from, which are tried again
}

// learned waits until all was learned from that was imported: without a server nobody else would.
func (b *importer) learned(ctx context.Context, settle func(context.Context) error) error {
	if err := settle(ctx); err != nil {
		return fmt.Errorf("learn from what was imported: %w", err)
	}
	left, err := b.client.Jobs(ctx)
	for _, j := range left.Jobs {
		if j.Kind == memory.JobLearn && b.behind < b.out.Jobs {
			b.behind++
		}
	}
	return err
}

// add puts the report on a file to that on all.
func (b *importer) add(file string, format portable.Format, part client.Imported) {
	merge(reflect.ValueOf(&b.out).Elem(), reflect.ValueOf(part))
	at := file + ":%d: "
	if format.Unit() == "item" {
		at = file + ", item %d: "
	}
	for _, t := range part.Problems {
		b.troubles = append(b.troubles, fmt.Sprintf(at+"%s", t.Line, t.Reason))
	}
	for _, t := range part.Conflicts {
		b.troubles = append(b.troubles, fmt.Sprintf(at+"kept as it is: %s %s", t.Line, t.Target, t.Reason))
	}
}

// merge adds the numbers of a report to those of another, and its lists to theirs.
func merge(to, from reflect.Value) {
	for i := range to.NumField() {
		switch f := to.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(f.Int() + from.Field(i).Int())
		case reflect.Slice:
			f.Set(reflect.AppendSlice(f, from.Field(i)))
		case reflect.Struct:
			merge(f, from.Field(i))
		}
	}
}

// imported writes what came of an import.
func (s printer) imported(b *importer) {
	o := b.out
	if o.DryRun {
		s.some(len(o.Sample), o.Added.Sum(), func(i int) {
			kind, _, _ := strings.Cut(o.Sample[i].Target, ":")
			s.line("%s", s.in(green, "+ "+kind+"  "+brief(o.Sample[i].Content, 160)))
		})
	}
	s.some(len(b.troubles), o.Broken+o.Conflicting, func(i int) { s.line("%s", s.in(red, harmless(b.troubles[i]))) })
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
		s.line("%s will be learned from: loci jobs", many(o.Jobs, "chats"))
	case b.behind > 0:
		s.line("%s could not be learned from yet: loci jobs", many(b.behind, "chats"))
	default:
		s.line("learned from %s", many(o.Jobs, "chats"))
	}
}

// tallied says how many of each kind there are.
func tallied(t client.Tally) string {
	counts := map[string]int64{}
	for kind, n := range reflect.ValueOf(t).Fields() {
		counts[strings.ToLower(kind.Name)] = n.Int()
	}
	return tallyOf(counts)
}

// some writes the first of the things at hand, and how many more there are of all.
func (s printer) some(have, all int, write func(i int)) {
	have = min(have, mostShown)
	for i := range have {
		write(i)
	}
	if have > 0 && all > have {
		s.line("  … and %d more", all-have)
	}
}

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

// errInterrupted is the error of an interrupted import.
var errBrokenOff = errors.New("interrupted; some records may be stored already, and the same command continues the import")

func imports(g *global) *cobra.Command {
	b := &importer{}
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Import exported memory, or facts and chats of other programs",
		Long: "Import the files of loci export (.jsonl, .md, .zip, or a folder of such files), or facts and chats of other programs:\n" +
			"a list of facts (.md, .txt), the exports of ChatGPT and Claude (the zip file, or its conversations.json), a chat as JSON lines,\n" +
			"a JSON list of mem0, notes of basic-memory, memories of agent-cli. Other extensions need --from. Messages keep their times. - reads standard input.\n" +
			"Existing records are skipped, so the same command continues an interrupted import. With --learn a server learns from the\n" +
			"messages in the background (loci jobs shows it); without a server this command learns before it exits.",
		Example: "  loci import memory.jsonl\n  loci import --dry-run facts.txt\n  loci import --from chatgpt conversations.json --learn\n  loci import --dry-run data-2026-01-02.zip",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.q.Format != "" && !slices.Contains(portable.Formats, portable.Format(b.q.Format)) {
				return memory.Errorf(memory.Invalid, "--from %s: unknown format; valid: %v", b.q.Format, portable.Formats)
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
				if err != nil && ctx.Err() != nil { // the last request may have stored records
					return errBrokenOff
				}
				if err != nil && !errors.Is(err, memory.Invalid) && !b.q.DryRun {
					return fmt.Errorf("%w; records imported before the error are kept, and the same command continues the import", err)
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
	f.StringVar(&b.q.Format, "from", "", fmt.Sprintf("format, one of %v (default: detected)", portable.Formats))
	f.BoolVar(&b.q.DryRun, "dry-run", false, "only show what would be added")
	f.BoolVar(&b.q.Strict, "strict", false, "stop at the first line that cannot be read")
	f.BoolVar(&b.q.Learn, "learn", false, "learn facts from the imported messages")
	f.StringVar(&b.q.Project, "project", "", "project of imported facts and chats that have none")
	return onMemory(g, cmd)
}

const mostShown = 20 // maximum number of printed problems, and of printed sample records

// importer is the state of an import.
type importer struct {
	q        client.ImportQuery
	client   *client.Client
	progress *progress
	out      client.Imported
	troubles []string // texts of problems, each with file and line

	alone  bool // no server runs, so this command learns from the imported messages
	behind int  // number of chats from which learning failed; a later try follows
}

// learn runs the learning jobs of the import, for a command without a server.
func (b *importer) learned(ctx context.Context, settle func(context.Context) error) error {
	if err := settle(ctx); err != nil {
		return fmt.Errorf("learn from the imported chats: %w", err)
	}
	left, err := b.client.Jobs(ctx)
	for _, j := range left.Jobs {
		if j.Kind == memory.JobLearn && b.behind < b.out.Jobs {
			b.behind++
		}
	}
	return err
}

// addReport adds the report of one file to the total.
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
		b.troubles = append(b.troubles, fmt.Sprintf(at+"not changed: %s %s", t.Line, t.Target, t.Reason))
	}
}

// mergeReport adds the numbers of one report to another report, and appends the lists.
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

// printImport prints the result of an import.
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
		s.line("already in memory: %s", tallied(o.There))
	}
	for _, c := range []struct {
		n    int
		what string
	}{
		{o.Duplicates, "skipped, because another fact says the same"},
		{o.Conflicting, "differ from the file and were not changed"},
		{o.Broken, "could not be read"},
		{o.Redacted, "had secrets removed"},
		{o.Waiting, "are pending; to decide on them: loci review"},
	} {
		if c.n > 0 {
			s.line("%d %s", c.n, c.what)
		}
	}
	switch {
	case o.Jobs == 0:
	case !b.alone:
		s.line("%s will be learned from; loci jobs shows the progress", many(o.Jobs, "chats"))
	case b.behind > 0:
		s.line("%s could not be learned from yet; loci jobs shows the errors", many(b.behind, "chats"))
	default:
		s.line("learned from %s", many(o.Jobs, "chats"))
	}
}

// tallyText lists the count of each kind.
func tallied(t client.Tally) string {
	counts := map[string]int64{}
	for kind, n := range reflect.ValueOf(t).Fields() {
		counts[strings.ToLower(kind.Name)] = n.Int()
	}
	return tallyOf(counts)
}

// printFirst prints the first maxPrinted of the available items, and the number of all other items.
func (s printer) some(have, all int, write func(i int)) {
	have = min(have, mostShown)
	for i := range have {
		write(i)
	}
	if have > 0 && all > have {
		s.line("  … and %d more", all-have)
	}
}

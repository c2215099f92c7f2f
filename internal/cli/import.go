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
var errInterrupted = errors.New("interrupted; some records may be stored already, and the same command continues the import")

func newImportCommand(g *sharedState) *cobra.Command {
	imp := &importer{}
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
			if imp.query.Format != "" && !slices.Contains(portable.Formats, portable.Format(imp.query.Format)) {
				return memory.Errorf(memory.Invalid, "--from %s: unknown format; valid: %v", imp.query.Format, portable.Formats)
			}
			for _, path := range args {
				if err := imp.checkReadable(path); err != nil {
					return err
				}
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				imp.client, imp.progress = c, newProgressLine(cmd.ErrOrStderr())
				imp.standalone = g.standalone
				var err error
				for _, path := range args {
					if err == nil {
						err = imp.importPath(ctx, path)
					}
				}
				imp.progress.clear()
				if err != nil && ctx.Err() != nil { // the last request may have stored records
					return errInterrupted
				}
				if err != nil && !errors.Is(err, memory.Invalid) && !imp.query.DryRun {
					return fmt.Errorf("%w; records imported before the error are kept, and the same command continues the import", err)
				}
				imp.total.DryRun = imp.query.DryRun
				if imp.standalone && imp.total.Jobs > 0 {
					err = errors.Join(err, imp.learn(ctx, g.runLearningJobs))
				}
				if printErr := g.print(cmd.OutOrStdout(), imp.total, func(out printer) { out.printImport(imp) }); printErr != nil || err != nil {
					return errors.Join(err, printErr)
				}
				if imp.total.Broken > 0 {
					return fmt.Errorf("%s could not be read", countText(imp.total.Broken, "lines"))
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&imp.query.Format, "from", "", fmt.Sprintf("format, one of %v (default: detected)", portable.Formats))
	f.BoolVar(&imp.query.DryRun, "dry-run", false, "only show what would be added")
	f.BoolVar(&imp.query.Strict, "strict", false, "stop at the first line that cannot be read")
	f.BoolVar(&imp.query.Learn, "learn", false, "learn facts from the imported messages")
	f.StringVar(&imp.query.Project, "project", "", "project of the imported facts and chats that have no project")
	return withMemoryFlags(g, cmd)
}

const maxPrinted = 20 // maximum number of printed problems, and of printed sample records

// importer is the state of an import.
type importer struct {
	query    client.ImportQuery
	client   *client.Client
	progress *progressLine
	total    client.Imported
	problems []string // texts of problems, each with file and line

	standalone  bool // no server runs, so this command learns from the imported messages
	failedChats int  // number of chats whose learning job failed; the job runs again later
}

// learn runs the learning jobs of the import, for a command without a server.
func (b *importer) learn(ctx context.Context, runLearningJobs func(context.Context) error) error {
	if err := runLearningJobs(ctx); err != nil {
		return fmt.Errorf("learn from the imported chats: %w", err)
	}
	remaining, err := b.client.Jobs(ctx)
	for _, j := range remaining.Jobs {
		if j.Kind == memory.JobLearn && b.failedChats < b.total.Jobs {
			b.failedChats++
		}
	}
	return err
}

// addReport adds the report of one file to the total.
func (b *importer) addReport(file string, format portable.Format, report client.Imported) {
	mergeReport(reflect.ValueOf(&b.total).Elem(), reflect.ValueOf(report))
	at := file + ":%d: "
	if format.Unit() == "item" {
		at = file + ", item %d: "
	}
	for _, t := range report.Problems {
		b.problems = append(b.problems, fmt.Sprintf(at+"%s", t.Line, t.Reason))
	}
	for _, t := range report.Conflicts {
		b.problems = append(b.problems, fmt.Sprintf(at+"not changed: %s %s", t.Line, t.Target, t.Reason))
	}
}

// mergeReport adds the numbers of report to total, and appends the lists of report to those of total.
func mergeReport(total, report reflect.Value) {
	for i := range total.NumField() {
		switch f := total.Field(i); f.Kind() {
		case reflect.Int:
			f.SetInt(f.Int() + report.Field(i).Int())
		case reflect.Slice:
			f.Set(reflect.AppendSlice(f, report.Field(i)))
		case reflect.Struct:
			mergeReport(f, report.Field(i))
		}
	}
}

// printImport prints the result of an import.
func (s printer) printImport(imp *importer) {
	total := imp.total
	if total.DryRun {
		s.printFirst(len(total.Sample), total.Added.Sum(), func(i int) {
			kind, _, _ := strings.Cut(total.Sample[i].Target, ":")
			s.line("%s", s.styled(green, "+ "+kind+"  "+shorten(total.Sample[i].Content, 160)))
		})
	}
	s.printFirst(len(imp.problems), total.Broken+total.Conflicting, func(i int) { s.line("%s", s.styled(red, sanitize(imp.problems[i]))) })
	verb := "added"
	if total.DryRun {
		verb = "would add"
	}
	s.line("%s %s", verb, tallyText(total.Added))
	if total.AlreadyStored.Sum() > 0 {
		s.line("already in memory: %s", tallyText(total.AlreadyStored))
	}
	for _, c := range []struct {
		n    int
		text string
	}{
		{total.Duplicates, "skipped, because another fact says the same"},
		{total.Conflicting, "differ from the file and were not changed"},
		{total.Broken, "could not be read"},
		{total.Redacted, "had secrets removed"},
		{total.Waiting, "are pending; to decide on them: loci review"},
	} {
		if c.n > 0 {
			s.line("%d %s", c.n, c.text)
		}
	}
	switch {
	case total.Jobs == 0:
	case !imp.standalone:
		s.line("the server learns from %s in the background; loci jobs shows the progress", countText(total.Jobs, "chats"))
	case imp.failedChats > 0:
		s.line("learning from %s failed and is tried again later; loci jobs shows the errors", countText(imp.failedChats, "chats"))
	default:
		s.line("learned from %s", countText(total.Jobs, "chats"))
	}
}

// tallyText lists the number of records of each kind.
func tallyText(tally client.Tally) string {
	counts := map[string]int64{}
	for kind, n := range reflect.ValueOf(tally).Fields() {
		counts[strings.ToLower(kind.Name)] = n.Int()
	}
	return formatCounts(counts)
}

// printFirst prints at most maxPrinted of the available items, and how many of the total items it did not print.
func (s printer) printFirst(available, total int, printItem func(i int)) {
	available = min(available, maxPrinted)
	for i := range available {
		printItem(i)
	}
	if available > 0 && total > available {
		s.line("  … and %d more", total-available)
	}
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/bench"
)

func benchLoad(g *global) *cobra.Command {
	var o bench.LoadOptions
	var jsonFile, svgFile string
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure latency, throughput, start and size, beside others in the same run",
		Long: "Start this program as a server on a data folder of its own, put made-up talk into it and measure it over HTTP: " + strings.Join(bench.Parts, ", ") + ".\n" +
			"Clients ask again when they were answered (a closed loop); what is compared takes turns. Settings given by --set go to that server;\n" +
			"LOCI_ variables do not. Nothing of your own memory is touched.",
		Example: "  loci bench load\n  loci bench load --memories 100000 --only start,memory,disk,recall\n" +
			"  loci bench load --only rivals --svg recall.svg --json load.jsonl\n  loci bench load --only zipf --owners 10000 --each 100\n" +
			"  loci bench load --only recall,add,learn --store postgres://loci@localhost/empty",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := g.noServer(cmd); err != nil {
				return err
			}
			if o.Program.Path, err = os.Executable(); err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			if o.Program.Settings, err = cmd.Flags().GetStringArray("set"); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			heading(out)
			var rows []bench.Row
			err = bench.Load(cmd.Context(), o, func(r bench.Row) {
				if len(rows) == 0 || rows[len(rows)-1].Subject != r.Subject {
					fmt.Fprintf(out, "\n%s\n", r.Subject)
				}
				fmt.Fprintln(out, r)
				rows = append(rows, r)
			})
			return errors.Join(err,
				toFile(jsonFile, func(w io.Writer) error { return bench.WriteLoadJSON(w, rows, o, loci.Version()) }),
				toFile(svgFile, func(w io.Writer) error { return bench.WriteHistograms(w, "Recall of the 10 best", rows) }))
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Memories, "memories", 0, "turns of one user (10000 unless given)")
	f.IntVar(&o.Requests, "requests", 0, "requests of each measure (1000 unless given)")
	f.IntVar(&o.Clients, "clients", 0, "clients at once, where several are meant (8 unless given)")
	f.DurationVar(&o.Duration, "duration", 0, "longest of one measure, whatever --requests says (10s unless given)")
	f.IntVar(&o.Owners, "owners", 0, "users of the part zipf (1000 unless given)")
	f.IntVar(&o.Each, "each", 0, "turns of each of them (100 unless given)")
	f.StringVar(&o.Store, "store", "", "measure beside SQLite on this `address` of an empty PostgreSQL database")
	f.StringSliceVar(&o.Only, "only", nil, "parts to measure, with commas (all unless given; servers only with --store)")
	f.StringVar(&jsonFile, "json", "", "write the rows as JSON lines to this `file`")
	f.StringVar(&svgFile, "svg", "", "draw histograms of recall into this `file`")
	return cmd
}

// heading says what measures and where, and what the columns are.
func heading(w io.Writer) {
	m := bench.ThisMachine()
	fmt.Fprintf(w, "loci %s, %s/%s, %s, GOMAXPROCS %d\n%s\n", loci.Version(), m.OS, m.Arch, m.CPU, m.Procs, bench.LoadHead)
}

// toFile writes a file, none where path is "".
func toFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

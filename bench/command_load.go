package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
)

func loadCommand() *cobra.Command {
	var o LoadOptions
	var jsonFile string
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure latency, throughput, start and size, beside others in the same run",
		Long: "Start loci as a server on a data folder of its own, put made-up talk into it and measure it over HTTP: " + strings.Join(Parts, ", ") + ".\n" +
			"Clients ask again when they were answered (a closed loop); what is compared takes turns. Settings given by --set go to that server;\n" +
			"LOCI_ variables do not. Nothing of your own memory is touched.",
		Example: "  locibench load\n  locibench load --memories 100000 --only start,memory,disk,recall\n" +
			"  locibench load --only rivals --json load.jsonl\n  locibench load --only zipf --owners 10000 --each 100\n" +
			"  locibench load --only recall,add,learn --store postgres://loci@localhost/empty",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Program.Path == "" {
				dir, err := os.MkdirTemp("", "locibench-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir) //nolint:errcheck // it is in the folder for temporary files
				if o.Program.Path, err = buildLoci(cmd.Context(), dir); err != nil {
					return err
				}
			}
			out := cmd.OutOrStdout()
			heading(out)
			var rows []Row
			err = Load(cmd.Context(), o, func(r Row) {
				if len(rows) == 0 || rows[len(rows)-1].Subject != r.Subject {
					fmt.Fprintf(out, "\n%s\n", r.Subject)
				}
				fmt.Fprintln(out, r)
				rows = append(rows, r)
			})
			return errors.Join(err,
				toFile(jsonFile, func(w io.Writer) error { return WriteLoadJSON(w, rows, o, loci.Version()) }))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Program.Path, "loci", "", "the `program` to measure (built from the source unless given)")
	f.StringArrayVar(&o.Program.Settings, "set", nil, "a setting of the server, as key=value; may be repeated")
	f.IntVar(&o.Memories, "memories", 0, "turns of one user (10000 unless given)")
	f.IntVar(&o.Requests, "requests", 0, "requests of each measure (1000 unless given)")
	f.IntVar(&o.Clients, "clients", 0, "clients at once, where several are meant (8 unless given)")
	f.DurationVar(&o.Duration, "duration", 0, "longest of one measure, whatever --requests says (10s unless given)")
	f.IntVar(&o.Owners, "owners", 0, "users of the part zipf (1000 unless given)")
	f.IntVar(&o.Each, "each", 0, "turns of each of them (100 unless given)")
	f.StringVar(&o.Store, "store", "", "measure beside SQLite on this `address` of an empty PostgreSQL database")
	f.StringSliceVar(&o.Only, "only", nil, "parts to measure, with commas (all unless given; servers only with --store)")
	f.StringVar(&jsonFile, "json", "", "write the rows as JSON lines to this `file`")
	return cmd
}

// buildLoci builds the loci command of the source that this program is run in.
func buildLoci(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "loci")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "github.com/loci-memory/loci/cmd/loci")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build loci: %w: %s; run locibench in its source folder, or name a program with --loci", err, strings.TrimSpace(string(said)))
	}
	return program, nil
}

// heading says what measures and where, and what the columns are.
func heading(w io.Writer) {
	m := ThisMachine()
	fmt.Fprintf(w, "loci %s, %s/%s, %s, GOMAXPROCS %d\n%s\n", loci.Version(), m.OS, m.Arch, m.CPU, m.Procs, LoadHead)
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

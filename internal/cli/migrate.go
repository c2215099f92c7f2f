package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// databaseFile is the database in a data folder.
const databaseFile = "loci.db"

func migrate(g *global) *cobra.Command {
	var from, to string
	var check, schema bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Copy the memory of all users into another database, or look at its schema",
		Long: "Copy everything from one database into an empty one: between SQLite, PostgreSQL and MongoDB, either way, or between two of a kind. Ids, versions,\n" +
			"history, vectors and jobs stay as they are. Stop every server of both first. Broken off, however it was, the same command\n" +
			"goes on; Loci does not open the target before it is whole. Each user is read again at both ends and compared by a\n" +
			"checksum. The source stays as it is.\n\n" +
			"An address is sqlite:PATH, of a file or a data folder, postgres://user@host:5432/database or mongodb://host/database. A password is better not on\n" +
			"the command line: PGPASSWORD and ~/.pgpass are read, or leave --to (or --from) away: it is the setting store then, as from LOCI_STORE.",
		Example: "  loci migrate --from sqlite:~/.loci --to postgres://loci@db.example.com/loci\n" +
			"  loci migrate --from postgres://loci@db.example.com/loci --to sqlite:/var/lib/loci/loci.db\n" +
			"  loci migrate --from sqlite:~/.loci --to mongodb://db.example.com/loci",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.load(cmd)
			if err != nil {
				return err
			}
			if check || schema {
				return schemaOf(cmd, config, schema)
			}
			if from == "" && to == "" {
				return memory.Errorf(memory.Invalid, "give --from, --to, or both")
			}
			bar := progressOn(cmd.ErrOrStderr())
			var ends [2]string
			for i, address := range []string{from, to} {
				if ends[i], err = databaseAddress(config, cmp.Or(address, string(config.Store))); err != nil {
					return fmt.Errorf("%s: %w", []string{"from", "to"}[i], err)
				}
			}
			moved, err := backup.Migrate(cmd.Context(), ends[0], ends[1], func(m backup.Moving) {
				bar.count("users copied", int64(m.Users), int64(m.Of))
			})
			bar.end()
			return show(g, cmd, func(out printer, moved backup.Moved) {
				fmt.Fprintf(out, "%d users, %d rows: both hold the same\n", moved.Owners, moved.Rows)
				if moved.Before > 0 {
					fmt.Fprintf(out, "%d rows were there from before\n", moved.Before)
				}
			})(moved, err)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "database that is copied; the setting store unless given")
	cmd.Flags().StringVar(&to, "to", "", "database that it goes into; the setting store unless given")
	cmd.Flags().BoolVar(&check, "check", false, "say whether a start would change the schema of the database that is the setting store; 1 if it would")
	cmd.Flags().BoolVar(&schema, "schema", false, "bring that schema up to date and end, as before servers of a new version start")
	return g.withJSON(cmd)
}

// schemaOf says how the schema of the database is, after it was brought up to date where that is
// asked for.
func schemaOf(cmd *cobra.Command, c config.Config, upgrade bool) error {
	at, err := databaseAddress(c, string(c.Store))
	if err != nil {
		return err
	}
	is, newest, err := backup.Schema(cmd.Context(), at, upgrade)
	switch {
	case err != nil:
		return err
	case is < newest:
		return memory.Errorf(memory.Conflict, "the database's schema is of version %d; the next start, or loci migrate --schema, brings it to %d", is, newest)
	case is > newest:
		return memory.Errorf(memory.Unavailable, "the database's schema is of version %d, this program knows up to %d: use a newer loci", is, newest)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "the database's schema is up to date: version %d\n", is)
	return err
}

// databaseAddress returns an address with the whole path of a database file.
func databaseAddress(config config.Config, address string) (string, error) {
	if address == "sqlite" {
		dir, err := config.DataDir()
		return "sqlite:" + filepath.Join(dir, databaseFile), err
	}
	path, isFile := strings.CutPrefix(address, "sqlite:")
	if !isFile {
		return address, nil
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(home, rest)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() || path != "" && os.IsPathSeparator(path[len(path)-1]) {
		path = filepath.Join(path, databaseFile)
	}
	return "sqlite:" + path, nil
}

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
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Copy the memory of all users into another database",
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
	return g.withJSON(cmd)
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

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

func backups(g *global) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the memory of all users into one file, also while a server runs",
		Long: "Copy the memory of all users, as it is at one moment, into one file: the database and the vault, with the\n" +
			"settings that were set, but no secrets. The server goes on meanwhile. FILE is there whole and checked or not at all.\n" +
			"Keep it as safe as the memory itself: it is not encrypted. A receipt of loci users erase names the backups that still hold the words.\n\n" +
			"Memory on a PostgreSQL server is backed up by that: pg_dump --format=custom --file=loci.dump ADDRESS.",
		Example: "  loci backup memory.zip\n  loci backup /backup/loci-$(date +%F).zip --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return memory.Errorf(memory.Invalid, "%s is a folder: name a file", path)
			}
			if err := writable(path, force); err != nil {
				return err
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				return show(g, cmd, func(out printer, done backedUp) {
					fmt.Fprintf(out, "%s  %s, of %s\n", done.Path, size(done.Bytes), when(done.At))
					held(out, done.Manifest)
				})(g.backUp(ctx, c, path, cmd.ErrOrStderr()))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write over what is at FILE")
	return g.withJSON(cmd)
}

// backedUp is what a backup says of itself.
type backedUp struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	backup.Manifest
}

// backUp has a backup made and keeps it at a path, once it is whole and what it says. One of
// nothing, from a folder that no server has open, takes no earlier one's place: that is how a
// job by the clock would find it that names another folder or address than the server.
func (g *global) backUp(ctx context.Context, c *client.Client, path string, progress io.Writer) (out backedUp, err error) {
	half := path + ".half"
	f, err := fresh(half)
	if err != nil {
		return out, fmt.Errorf("nothing can be written into %s: %w", filepath.Dir(path), cause(err))
	}
	defer func() {
		if err != nil {
			_ = os.Remove(half) // the first error says what is wrong
		}
	}()
	stream, size, err := c.Backup(ctx, client.BackupQuery{To: path})
	if err != nil {
		return out, errors.Join(err, f.Close())
	}
	shown := progressOn(progress)
	defer shown.end()
	n, err := io.Copy(f, shown.reading(stream, "backed up", size))
	err = errors.Join(err, stream.Close(), f.Sync(), f.Close())
	if err == nil && size >= 0 && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return out, fmt.Errorf("take the backup: %w", err)
	}
	m, err := backup.Check(ctx, half, "", shown.of("checked"))
	if err != nil {
		return out, fmt.Errorf("check what came: %w", err)
	}
	if g.alone && tallyOf(m.Counts) == "nothing" {
		return out, memory.Errorf(memory.NotFound, "no server answers, and there is no memory in the data folder: name the server with --addr, or the folder with --data")
	}
	if err := os.Rename(half, path); err != nil {
		return out, err
	}
	return backedUp{path, n, m}, disk.SyncFolder(filepath.Dir(path))
}

// fresh makes a file for its owner alone, in place of one that was left there.
func fresh(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// held writes what a backup holds.
func held(w io.Writer, m backup.Manifest) { fmt.Fprintf(w, "  it holds %s\n", tallyOf(m.Counts)) }

// tallyOf says how many there are of each kind, kinds in order.
func tallyOf[N int | int64](counts map[string]N) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[kind]; n > 0 {
			parts = append(parts, many(int(n), kind))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// many says how many there are of a kind, which is named in the plural.
func many(n int, kinds string) string {
	if kinds == "profile" {
		kinds = "profile entries"
	}
	if stem, ok := strings.CutSuffix(kinds, "ies"); ok && n == 1 {
		kinds = stem + "y"
	}
	if n == 1 {
		kinds = strings.TrimSuffix(kinds, "s")
	}
	return fmt.Sprintf("%d %s", n, kinds)
}

func restore(g *global) *cobra.Command {
	var check, replace bool
	var identity string
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put the memory of a backup into the data folder",
		Long: "Put the memory of a backup into the data folder, and into the vault if it has one. FILE is read whole and checked before anything is\n" +
			"changed; broken off, it is brought to its end at the next start, or nothing has changed. No server may run on the folder.\n" +
			"FILE may be encrypted (--identity). From S3 copy it first.\n" +
			"A folder that holds memory is refused; with --replace that is moved into a folder of its own, named in the end, and never deleted.\n" +
			"Whoever was erased since the backup is back: erase them again. API keys are those of the backup, also such as were removed since.",
		Example: "  loci restore memory.zip\n  loci restore memory.zip --data /var/lib/loci --replace\n  loci restore --check memory.zip\n" +
			"  loci restore /backup/loci-2026-11-22T02-14-36Z.zip.age --identity key.txt",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shown := progressOn(cmd.ErrOrStderr())
			if check {
				m, err := backup.Check(cmd.Context(), args[0], identity, shown.of("checked"))
				shown.end()
				return show(g, cmd, func(out printer, m backup.Manifest) {
					fmt.Fprintf(out, "%s is whole: a backup of %s, by loci %s\n", args[0], when(m.At), m.Loci)
					held(out, m)
				})(m, err)
			}
			c, err := g.load(cmd)
			if err != nil {
				return err
			}
			done, err := backup.Restore(cmd.Context(), c, args[0], backup.RestoreOptions{Replace: replace, Identity: identity, Report: shown.of("restored")})
			shown.end()
			return show(g, cmd, printer.restored)(done, err)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say whether FILE is whole, and what is in it")
	cmd.Flags().BoolVar(&replace, "replace", false, "set aside what is there")
	cmd.Flags().StringVar(&identity, "identity", "", "file of age identities, for an encrypted backup")
	cmd.MarkFlagsMutuallyExclusive("check", "replace")
	return g.withJSON(cmd)
}

func (s printer) restored(done backup.Restored) {
	fmt.Fprintf(s, "restored into %s: a backup of %s\n", done.Data, when(done.At))
	held(s, done.Manifest)
	if done.Vault != "" {
		fmt.Fprintf(s, "  vault      %s\n", done.Vault)
	}
	for _, path := range done.Aside {
		fmt.Fprintf(s, "  set aside  %s\n", path)
	}
	fmt.Fprintf(s, "  settings   %s, as they were, without secrets; they are not read from there\n", filepath.Join(done.Data, archive.Settings))
}

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

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

func newBackupCommand(g *sharedState) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the memory of all users into one file; a server may be running",
		Long: "Write a consistent copy of the database, the vault and the changed settings, without secrets, to one file. The file has the memory of all users.\n" +
			"A running server keeps working. FILE appears only when it is complete and verified.\n" +
			"FILE is not encrypted: protect it like the data folder. loci users erase lists the backups that still contain the erased text.\n\n" +
			"Back up memory on a PostgreSQL server with its own tool: pg_dump --format=custom --file=loci.dump ADDRESS.",
		Example: "  loci backup memory.zip\n  loci backup /backup/loci-$(date +%F).zip --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return memory.Errorf(memory.Invalid, "%s is a folder; give a file name", path)
			}
			if err := checkWritable(path, force); err != nil {
				return err
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				return printAnswer(g, cmd, func(out printer, result backupResult) {
					fmt.Fprintf(out, "%s  %s, created %s\n", result.Path, formatSize(result.Bytes), formatTime(result.ContentAt))
					printContents(out, result.Manifest)
				})(g.writeBackup(ctx, c, path, cmd.ErrOrStderr()))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE if it exists")
	return g.withJSONFlag(cmd)
}

type backupResult struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	backup.Manifest
}

// writeBackup requests a backup and stores it at path once the backup is complete and verified. Without a
// server it refuses to back up an empty data folder: a scheduled job with a wrong folder or address must
// not overwrite a good backup.
func (g *sharedState) writeBackup(ctx context.Context, c *client.Client, path string, progressOut io.Writer) (result backupResult, err error) {
	partial := path + ".half"
	f, err := createPrivate(partial)
	if err != nil {
		return result, fmt.Errorf("cannot write to %s: %w", filepath.Dir(path), withoutPath(err))
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial) // the function returns the first error
		}
	}()
	stream, size, err := c.Backup(ctx, client.BackupQuery{To: path})
	if err != nil {
		return result, errors.Join(err, f.Close())
	}
	bar := newProgressLine(progressOut)
	defer bar.clear()
	written, err := io.Copy(f, bar.countReads(stream, "backed up", size))
	err = errors.Join(err, stream.Close(), f.Sync(), f.Close())
	if err == nil && size >= 0 && written != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return result, fmt.Errorf("write the backup: %w", err)
	}
	manifest, err := backup.Check(ctx, partial, "", bar.bytesReporter("checked"))
	if err != nil {
		return result, fmt.Errorf("check the backup: %w", err)
	}
	if g.standalone && formatCounts(manifest.Counts) == "nothing" {
		return result, memory.Errorf(memory.NotFound, "no server answers, and the data folder has no memory; choose the server with --addr or the folder with --data")
	}
	if err := os.Rename(partial, path); err != nil {
		return result, err
	}
	return backupResult{path, written, manifest}, disk.SyncFolder(filepath.Dir(path))
}

// createPrivate creates a file that only its owner can read, and replaces an earlier file at path.
func createPrivate(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// printContents writes how many records of each kind a backup has.
func printContents(w io.Writer, manifest backup.Manifest) {
	fmt.Fprintf(w, "  contents   %s\n", formatCounts(manifest.Counts))
}

// formatCounts lists the number of records of each kind, sorted by kind.
func formatCounts[N int | int64](counts map[string]N) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[kind]; n > 0 {
			parts = append(parts, countText(int(n), kind))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// countText returns a number with its noun, such as "2 facts"; plural is the noun's plural.
func countText(n int, plural string) string {
	if plural == "profile" {
		plural = "profile entries"
	}
	if stem, ok := strings.CutSuffix(plural, "ies"); ok && n == 1 {
		plural = stem + "y"
	}
	if n == 1 {
		plural = strings.TrimSuffix(plural, "s")
	}
	return fmt.Sprintf("%d %s", n, plural)
}

func newRestoreCommand(g *sharedState) *cobra.Command {
	var check, replace bool
	var identity string
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore the memory of a backup into the data folder",
		Long: "Restore the memory of a backup into the data folder, and into the vault if the backup has one. Stop the server of the folder first.\n" +
			"FILE is checked completely before anything changes. If the restore is interrupted, either nothing has changed or the next start completes it.\n" +
			"FILE may be encrypted (--identity). Copy a backup from S3 to a local file first.\n" +
			"The command refuses a folder that already has memory. With --replace it moves the existing files to another folder, and prints its name.\n" +
			"Users who were erased after the backup exist again: erase them again. API keys that were removed after the backup are valid again.",
		Example: "  loci restore memory.zip\n  loci restore memory.zip --data /var/lib/loci --replace\n  loci restore --check memory.zip\n" +
			"  loci restore /backup/loci-2026-11-22T02-14-36Z.zip.age --identity key.txt",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bar := newProgressLine(cmd.ErrOrStderr())
			if check {
				manifest, err := backup.Check(cmd.Context(), args[0], identity, bar.bytesReporter("checked"))
				bar.clear()
				return printAnswer(g, cmd, func(out printer, manifest backup.Manifest) {
					fmt.Fprintf(out, "%s is complete and valid: a backup of %s, by loci %s\n", args[0], formatTime(manifest.ContentAt), manifest.LociVersion)
					printContents(out, manifest)
				})(manifest, err)
			}
			cfg, err := g.loadConfig(cmd)
			if err != nil {
				return err
			}
			result, err := backup.Restore(cmd.Context(), cfg, args[0], backup.RestoreOptions{Replace: replace, IdentityOrPath: identity, Report: bar.bytesReporter("restored")})
			bar.clear()
			return printAnswer(g, cmd, printer.printRestored)(result, err)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only check whether FILE is complete, and show its contents")
	cmd.Flags().BoolVar(&replace, "replace", false, "move existing memory to another folder instead of refusing")
	cmd.Flags().StringVar(&identity, "identity", "", "file with age identities (private keys), for an encrypted backup")
	cmd.MarkFlagsMutuallyExclusive("check", "replace")
	return g.withJSONFlag(cmd)
}

func (s printer) printRestored(result backup.RestoreResult) {
	fmt.Fprintf(s, "restored into %s: a backup of %s\n", result.DataFolder, formatTime(result.ContentAt))
	printContents(s, result.Manifest)
	if result.VaultFolder != "" {
		fmt.Fprintf(s, "  vault      %s\n", result.VaultFolder)
	}
	for _, path := range result.AsideFolders {
		fmt.Fprintf(s, "  set aside  %s\n", path)
	}
	fmt.Fprintf(s, "  settings   %s, the settings of the backup without secrets, for reference; Loci does not read this file\n", filepath.Join(result.DataFolder, archive.SettingsFile))
}

// databaseFile is the name of the database file in a data folder.
const databaseFile = "loci.db"

func newMigrateCommand(g *sharedState) *cobra.Command {
	var from, to string
	var check, schema bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Copy the memory of all users into another database, or check its schema",
		Long: "Copy everything from one database into an empty database. SQLite, PostgreSQL and MongoDB can be the source and the target.\n" +
			"Ids, versions, history, vectors and jobs are copied unchanged. Stop all servers of both databases first.\n" +
			"To continue an interrupted copy, run the same command again; Loci does not open an incomplete target.\n" +
			"After the copy, Loci reads the data of each user from both databases and compares checksums. The source is not changed.\n\n" +
			"An address is sqlite:PATH (a file or a data folder), postgres://user@host:5432/database or mongodb://host/database. Avoid passwords in\n" +
			"addresses: Loci reads PGPASSWORD and ~/.pgpass. Without --to (or --from) the address is the setting store, for example from LOCI_STORE.",
		Example: "  loci migrate --from sqlite:~/.loci --to postgres://loci@db.example.com/loci\n" +
			"  loci migrate --from postgres://loci@db.example.com/loci --to sqlite:/var/lib/loci/loci.db\n" +
			"  loci migrate --from sqlite:~/.loci --to mongodb://db.example.com/loci",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.loadConfig(cmd)
			if err != nil {
				return err
			}
			if check || schema {
				return checkSchema(cmd, config, schema)
			}
			if from == "" && to == "" {
				return memory.Errorf(memory.Invalid, "give --from, --to, or both")
			}
			bar := newProgressLine(cmd.ErrOrStderr())
			var addresses [2]string
			for i, address := range []string{from, to} {
				if addresses[i], err = databaseAddress(config, cmp.Or(address, string(config.Store))); err != nil {
					return fmt.Errorf("%s: %w", []string{"from", "to"}[i], err)
				}
			}
			result, err := backup.Migrate(cmd.Context(), addresses[0], addresses[1], func(progress backup.MigrateProgress) {
				bar.showCount("users copied", int64(progress.CopiedUsers), int64(progress.TotalUsers))
			})
			bar.clear()
			return printAnswer(g, cmd, func(out printer, result backup.MigrateResult) {
				fmt.Fprintf(out, "%d users, %d rows: source and target are equal\n", result.Owners, result.Rows)
				if result.RowsBefore > 0 {
					fmt.Fprintf(out, "%d rows were already in the target\n", result.RowsBefore)
				}
			})(result, err)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "address of the source database (default: the setting store)")
	cmd.Flags().StringVar(&to, "to", "", "address of the target database (default: the setting store)")
	cmd.Flags().BoolVar(&check, "check", false, "check whether a server start would change the schema of the database (setting store); exit status 1 if it would")
	cmd.Flags().BoolVar(&schema, "schema", false, "update the schema of the database (setting store) and exit; run it before servers of a new version start")
	return g.withJSONFlag(cmd)
}

// checkSchema prints the version of the database's schema, or returns an error if the version is not the
// newest. If upgrade is set, it updates the schema before the check.
func checkSchema(cmd *cobra.Command, cfg config.Config, upgrade bool) error {
	address, err := databaseAddress(cfg, string(cfg.Store))
	if err != nil {
		return err
	}
	current, newest, err := backup.SchemaVersions(cmd.Context(), address, upgrade)
	switch {
	case err != nil:
		return err
	case current < newest:
		return memory.Errorf(memory.Conflict, "the database schema has version %d; the next server start or loci migrate --schema updates it to version %d", current, newest)
	case current > newest:
		return memory.Errorf(memory.Unavailable, "the database schema has version %d, but this program supports only versions up to %d; use a newer version of loci", current, newest)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "the database schema is up to date: version %d\n", current)
	return err
}

// databaseAddress returns an address for [backup.Migrate]: an sqlite address gets the path of the database file.
func databaseAddress(cfg config.Config, address string) (string, error) {
	if address == "sqlite" {
		dir, err := cfg.DataDir()
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

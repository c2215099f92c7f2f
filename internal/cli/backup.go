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
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
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
	m, err := backup.Check(ctx, half, "", shown.bytes)
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
				m, err := backup.Check(cmd.Context(), args[0], identity, shown.bytes)
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
			done, err := backup.Restore(cmd.Context(), c, args[0], backup.RestoreOptions{Replace: replace, Identity: identity, Report: shown.bytes})
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

package cli

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func export(g *global) *cobra.Command {
	var q client.ExportQuery
	var noTurns, force bool
	cmd := &cobra.Command{
		Use:   "export [PATH]",
		Short: "Take memory away, as JSON lines or Markdown",
		Long: "Take memory away. PATH says how by its name: .jsonl (one JSON object a line), .md (one page), .zip (Markdown files), or a folder\n" +
			"of Markdown files; or --format says it, whatever the name. Without PATH, JSON lines are written to the standard output. loci import brings all of them back.",
		Example: "  loci export memory.jsonl\n  loci export my-memory/\n  loci export --as-of \"last week\" --no-turns facts.md",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if noTurns {
				q.Parts = "facts,summaries,profile,relations"
			}
			path := ""
			if len(args) == 1 && args[0] != "-" {
				path = args[0]
			}
			var err error
			if q.Format == "" {
				q.Format, err = formatOfPath(path)
			}
			if err := cmp.Or(err, writable(path, force)); err != nil {
				return err
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				written, err := take(ctx, c, q, path, cmd)
				if err != nil || path == "" {
					return err
				}
				return g.print(cmd.OutOrStdout(), written, func(out printer) {
					fmt.Fprintf(out, "%s  %s\n", written.Path, size(written.Bytes))
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Format, "format", "", "jsonl, markdown, zip; by PATH unless given")
	f.StringVar(&q.Parts, "kinds", "", "turns, facts, summaries, profile, relations; several with commas, all unless given")
	f.BoolVar(&noTurns, "no-turns", false, "everything but what was said")
	f.StringVar(&q.Status, "status", "", "active, pending, superseded, retired, rejected, replaced; several with commas, all unless given")
	f.StringVar(&q.Project, "project", "", "only of this project; without the profile")
	f.Var(timeFlag{at: &q.AsOf, end: true}, "as-of", "what was known then: 2026-05-03, yesterday, 90m (ago), …")
	f.Var(timeFlag{at: &q.ValidAt, end: true}, "valid-at", "what was true then")
	f.BoolVar(&force, "force", false, "write over what is at PATH")
	cmd.MarkFlagsMutuallyExclusive("kinds", "no-turns")
	return onMemory(g, cmd)
}

// exported is what an export says of itself.
type exported struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// formatOfPath is what a path's name asks for; a name that asks for something else is
// Invalid.
func formatOfPath(path string) (string, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown":
		return "markdown", nil
	case ".zip":
		return "zip", nil
	case ".jsonl", ".ndjson":
		return "jsonl", nil
	}
	switch {
	case isFolder(path):
		return "zip", nil // which is unpacked there
	case filepath.Ext(path) == "":
		return "jsonl", nil
	}
	return "", memory.Errorf(memory.Invalid, "%s: a name says how memory is written: .jsonl (JSON lines), .md (one page), .zip (Markdown files), or a folder's, ending with %c; or --format does, jsonl, markdown or zip", path, filepath.Separator)
}

// isFolder reports whether a path is a folder, or is written as one.
func isFolder(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return os.IsPathSeparator(path[len(path)-1]) || err == nil && info.IsDir() || filepath.Ext(path) == "" && errors.Is(err, os.ErrNotExist)
}

// writable refuses to write over what is there, and in the place of a device at all.
func writable(path string, force bool) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return memory.Errorf(memory.Invalid, "%s is not a plain file", path)
	}
	if path == "" || force {
		return nil
	}
	if isFolder(path) {
		names, err := os.ReadDir(path)
		if err == nil && len(names) > 0 {
			return memory.Errorf(memory.Invalid, "%s is not empty; --force writes into it", path)
		}
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		return memory.Errorf(memory.Invalid, "%s is there already; --force writes over it", path)
	}
	return nil
}

// take writes an export to a path, "" for the standard output. A file is there whole
// or not at all.
func take(ctx context.Context, c *client.Client, q client.ExportQuery, path string, cmd *cobra.Command) (_ exported, err error) {
	shown := progressOn(cmd.ErrOrStderr())
	if path == "" {
		stream, err := c.Export(ctx, q)
		if err != nil {
			return exported{}, err
		}
		n, err := io.Copy(cmd.OutOrStdout(), shown.reading(stream, "exported", 0))
		return exported{Bytes: n}, errors.Join(err, stream.Close())
	}
	folder := isFolder(path) && q.Format == "zip"
	dir := filepath.Dir(path)
	if folder {
		dir = path
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return exported{}, err
		}
	}
	temp, err := os.CreateTemp(dir, ".loci-export-*") // before the server is asked for what could go nowhere
	if err != nil {
		return exported{}, fmt.Errorf("nothing can be written into %s: %w", dir, cause(err))
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already if all went well
	stream, err := c.Export(ctx, q)
	if err != nil {
		return exported{}, errors.Join(err, temp.Close())
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	n, err := io.Copy(temp, shown.reading(stream, "exported", 0))
	shown.end()
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return exported{}, fmt.Errorf("export: %w", err)
	}
	if folder {
		n, err = unpack(temp.Name(), dir)
		return exported{path, n}, err
	}
	return exported{path, n}, os.Rename(temp.Name(), path)
}

// cause is what is wrong without the name of a file that nobody asked for.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// unpack writes the files of a zip under a folder.
func unpack(archive, dir string) (total int64, err error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return 0, fmt.Errorf("read what the server sent: %w", err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	for _, f := range z.File {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return 0, fmt.Errorf("write %s: its name leads out of the folder", f.Name)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = fs.WalkDir(z, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, root.MkdirAll(filepath.FromSlash(name), 0o700))
		}
		data, err := z.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = data.Close() }() // it was read
		to, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		n, err := io.Copy(to, data)
		total += n
		return errors.Join(err, to.Close())
	})
	return total, err
}

// size says how large something is.
func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

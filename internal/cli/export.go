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

func newExportCommand(g *sharedState) *cobra.Command {
	var q client.ExportQuery
	var noTurns, force bool
	cmd := &cobra.Command{
		Use:   "export [PATH]",
		Short: "Export memory as JSON lines or Markdown",
		Long: "Export memory. PATH selects the format: .jsonl (one JSON object per line), .md (one page), .zip (Markdown files), or a folder (the same files).\n" +
			"--format overrides this choice. Without PATH the command writes JSON lines to standard output. loci import reads all formats.",
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
			if err := cmp.Or(err, checkWritable(path, force)); err != nil {
				return err
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				written, err := writeExport(ctx, c, q, path, cmd)
				if err != nil || path == "" {
					return err
				}
				return g.print(cmd.OutOrStdout(), written, func(out printer) {
					fmt.Fprintf(out, "%s  %s\n", written.Path, formatSize(written.Bytes))
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Format, "format", "", "format: jsonl, markdown or zip (default: the name of PATH decides)")
	f.StringVar(&q.Parts, "kinds", "", "comma-separated: turns, facts, summaries, profile, relations (default: all)")
	f.BoolVar(&noTurns, "no-turns", false, "export everything except messages")
	f.StringVar(&q.Status, "status", "", "comma-separated statuses: active, pending, superseded (by another fact), retired, rejected, replaced (a message on another branch) (default: all)")
	f.StringVar(&q.Project, "project", "", "only memory of this project, without the profile")
	f.Var(timeFlag{target: &q.AsOf, atEnd: true}, "as-of", "memory as it was recorded at this time: 2026-05-03, yesterday, 90m (ago), …")
	f.Var(timeFlag{target: &q.ValidAt, atEnd: true}, "valid-at", "facts that were true at this time")
	f.BoolVar(&force, "force", false, "overwrite PATH if it exists")
	cmd.MarkFlagsMutuallyExclusive("kinds", "no-turns")
	return withMemoryFlags(g, cmd)
}

type exportResult struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// formatOfPath returns the format that a path's extension selects. An unknown extension is [memory.Invalid].
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
		return "zip", nil // writeExport unpacks the zip into the folder
	case filepath.Ext(path) == "":
		return "jsonl", nil
	}
	return "", memory.Errorf(memory.Invalid, "%s: the name selects no format; use .jsonl (JSON lines), .md (one page), .zip (Markdown files) or a folder name ending with %c, or set --format to jsonl, markdown or zip", path, filepath.Separator)
}

// isFolder reports whether a path is a folder, or would be created as a folder.
func isFolder(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return os.IsPathSeparator(path[len(path)-1]) || err == nil && info.IsDir() || filepath.Ext(path) == "" && errors.Is(err, os.ErrNotExist)
}

// checkWritable refuses an existing path unless force is set, and always refuses a device.
func checkWritable(path string, force bool) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return memory.Errorf(memory.Invalid, "%s is not a regular file", path)
	}
	if path == "" || force {
		return nil
	}
	if isFolder(path) {
		names, err := os.ReadDir(path)
		if err == nil && len(names) > 0 {
			return memory.Errorf(memory.Invalid, "the folder %s is not empty; --force writes into it anyway", path)
		}
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		return memory.Errorf(memory.Invalid, "%s already exists; --force overwrites it", path)
	}
	return nil
}

// writeExport writes an export to path, or to standard output if path is empty. A file appears only when complete.
func writeExport(ctx context.Context, c *client.Client, q client.ExportQuery, path string, cmd *cobra.Command) (_ exportResult, err error) {
	bar := newProgressLine(cmd.ErrOrStderr())
	if path == "" {
		stream, err := c.Export(ctx, q)
		if err != nil {
			return exportResult{}, err
		}
		n, err := io.Copy(cmd.OutOrStdout(), bar.countReads(stream, "exported", 0))
		return exportResult{Bytes: n}, errors.Join(err, stream.Close())
	}
	toFolder := isFolder(path) && q.Format == "zip"
	dir := filepath.Dir(path)
	if toFolder {
		dir = path
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return exportResult{}, err
		}
	}
	temp, err := os.CreateTemp(dir, ".loci-export-*") // created before the export begins, to detect an unwritable folder
	if err != nil {
		return exportResult{}, fmt.Errorf("cannot write to %s: %w", dir, withoutPath(err))
	}
	defer func() { _ = os.Remove(temp.Name()) }() // after a successful rename, no file has this name
	stream, err := c.Export(ctx, q)
	if err != nil {
		return exportResult{}, errors.Join(err, temp.Close())
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	n, err := io.Copy(temp, bar.countReads(stream, "exported", 0))
	bar.clear()
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return exportResult{}, fmt.Errorf("export: %w", err)
	}
	if toFolder {
		n, err = unpack(temp.Name(), dir)
		return exportResult{path, n}, err
	}
	return exportResult{path, n}, os.Rename(temp.Name(), path)
}

// withoutPath returns a [fs.PathError] without its path, the temporary file, and any other error unchanged.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// unpack writes the files of a zip archive into a folder and returns their total size in bytes.
func unpack(archive, dir string) (total int64, err error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return 0, fmt.Errorf("read the server's answer: %w", err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	for _, f := range z.File {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return 0, fmt.Errorf("write %s: its name is a path outside of the folder", f.Name)
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
		defer func() { _ = data.Close() }() // the file was only read
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

// formatSize formats a number of bytes for people.
func formatSize(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

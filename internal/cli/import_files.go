package cli

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

const (
	stdinPath    = "-"
	sniffedBytes = 64 << 10 // number of bytes read to detect the format

	// Limits of an archive's unpacked size: maxUnpacked bytes, and maxExpansion times the packed size unless
	// that is less than smallUnpacked bytes. Packing typically reduces an export of chats to a tenth.
	maxUnpacked   = 4 << 30
	maxExpansion  = 100
	smallUnpacked = 64 << 20
)

// detectedExtensions are the extensions of files whose format is detected from their content.
var detectedExtensions = []string{".md", ".markdown", ".txt", ".json", ".jsonl", ".ndjson"}

func extensionOf(name string) string { return strings.ToLower(filepath.Ext(name)) }

func (b *importer) importPath(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case path == stdinPath:
		return b.importFile(ctx, path, os.Stdin)
	case err != nil:
		return err
	case info.IsDir():
		return b.importFolder(ctx, path)
	case extensionOf(path) == ".zip":
		return b.importArchive(ctx, path, info.Size())
	}
	return b.openAndImport(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
}

// isImportable reports whether an import of a folder or archive reads a file of this name.
func isImportable(name string) bool {
	switch extensionOf(name) {
	case ".md", ".markdown", ".jsonl", ".ndjson":
		return !strings.HasPrefix(filepath.Base(name), ".")
	}
	return exportedChatsPattern.MatchString(filepath.Base(name))
}

// exportedChatsPattern matches file names of chats in exports of ChatGPT and Claude; ChatGPT numbers the files.
var exportedChatsPattern = lazy.Compile(`^conversations(-\d+)?\.json$`)

// noFilesError returns the error for a folder or archive without a file to import.
func noFilesError(path string) error {
	return memory.Errorf(memory.Invalid, "%s has no file to import (.md, .jsonl or conversations.json)", path)
}

// importFolder imports the files under a folder. It does not follow links, and skips folders with names
// that begin with a dot.
func (b *importer) importFolder(ctx context.Context, dir string) error {
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular() || !isImportable(path):
			return nil
		}
		files++
		return b.openAndImport(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
	})
	if err == nil && files == 0 {
		return noFilesError(dir)
	}
	return err
}

// importArchive imports the files of a zip archive without unpacking to disk; size is the packed size in bytes.
func (b *importer) importArchive(ctx context.Context, path string, size int64) (err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return memory.Errorf(memory.Invalid, "%s: %w", path, err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	limit := min(maxUnpacked, max(smallUnpacked, maxExpansion*size))
	files, remaining := 0, limit
	for _, f := range z.File {
		if f.FileInfo().IsDir() || !isImportable(f.Name) {
			continue
		}
		files++
		if f.UncompressedSize64 > uint64(remaining) { // the zip reader fails if a file is larger than the header says
			return memory.Errorf(memory.TooLarge, "%s: unpacks to more than %d MiB", path, limit>>20)
		}
		remaining -= int64(f.UncompressedSize64)
		if err := b.openAndImport(ctx, path+": "+f.Name, f.Open); err != nil {
			return err
		}
	}
	if files == 0 {
		return noFilesError(path)
	}
	return nil
}

func (b *importer) openAndImport(ctx context.Context, name string, open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	return errors.Join(b.importFile(ctx, name, in), in.Close())
}

// checkReadable refuses a path that cannot be imported.
func (b *importer) checkReadable(path string) error {
	info, err := os.Stat(path)
	switch {
	case path == stdinPath:
		return nil
	case err != nil:
		return memory.Errorf(memory.Invalid, "%w", err)
	case !info.Mode().IsRegular() || extensionOf(path) == ".zip":
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = b.detectFormat(path, bufio.NewReaderSize(f, sniffedBytes))
	return errors.Join(err, f.Close())
}

// detectFormat detects the format of a file. If the file's extension is not among detectedExtensions, it
// refuses formats such as a list of facts, because any text can be parsed as a list of facts.
func (b *importer) detectFormat(name string, in *bufio.Reader) (portable.Format, error) {
	head, err := in.Peek(sniffedBytes)
	switch {
	case err != nil && err != io.EOF:
		return "", fmt.Errorf("%s: %w", name, err)
	case bytes.IndexByte(head, 0) >= 0:
		return "", memory.Errorf(memory.Invalid, "%s: not a text file in UTF-8", name)
	case b.query.Format != "":
		return portable.Format(b.query.Format), nil
	}
	format := portable.FormatOf(name, head)
	generic := format == portable.List || format == portable.Mem0 || format == portable.BasicMemory
	if generic && name != stdinPath && !slices.Contains(detectedExtensions, extensionOf(name)) {
		return "", memory.Errorf(memory.Invalid, "%s: unknown extension (known: %s); to import the file anyway, add --from %s", name, strings.Join(detectedExtensions, ", "), format)
	}
	return format, nil
}

// importFile sends a file to the server.
func (b *importer) importFile(ctx context.Context, name string, in io.Reader) error {
	buffered := bufio.NewReaderSize(in, sniffedBytes)
	format, err := b.detectFormat(name, buffered)
	if err != nil {
		return err
	}
	q := b.query
	q.Format = string(format)
	out, err := b.client.Import(ctx, q, b.progress.countReads(buffered, "imported", 0), "")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.addReport(name, format, out)
	return nil
}

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
	stdin   = "-"
	sniffed = 64 << 10 // number of bytes read to detect the format

	// Limits of an archive's unpacked size: in bytes, and as a multiple of the packed size. The multiple
	// applies above smallUnpacked bytes. Packed exports of chats typically have a tenth of their size.
	mostUnpacked   = 4 << 30
	mostExpansion  = 100
	littleUnpacked = 64 << 20
)

// detectedExtensions are the extensions of files whose format is detected from their content.
var ownNames = []string{".md", ".markdown", ".txt", ".json", ".jsonl", ".ndjson"}

func extOf(name string) string { return strings.ToLower(filepath.Ext(name)) }

func (b *importer) path(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case path == stdin:
		return b.file(ctx, path, os.Stdin)
	case err != nil:
		return err
	case info.IsDir():
		return b.folder(ctx, path)
	case extOf(path) == ".zip":
		return b.archive(ctx, path, info.Size())
	}
	return b.open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
}

// isImportable reports whether an import of a folder or archive reads a file of this name.
func wanted(name string) bool {
	switch extOf(name) {
	case ".md", ".markdown", ".jsonl", ".ndjson":
		return !strings.HasPrefix(filepath.Base(name), ".")
	}
	return othersChats.MatchString(filepath.Base(name))
}

// exportedChats matches file names of chats in exports of ChatGPT and Claude; ChatGPT numbers the parts.
var othersChats = lazy.Compile(`^conversations(-\d+)?\.json$`)

// noFilesError returns the error for a folder or archive without a file to import.
func nothingIn(path string) error {
	return memory.Errorf(memory.Invalid, "%s has no file to import (.md, .jsonl or conversations.json)", path)
}

// importFolder imports the files under a folder. It does not follow links, and skips folders with names
// that begin with a dot.
func (b *importer) folder(ctx context.Context, dir string) error {
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular() || !wanted(path):
			return nil
		}
		files++
		return b.open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
	})
	if err == nil && files == 0 {
		return nothingIn(dir)
	}
	return err
}

// importArchive imports the files of a zip archive without unpacking to disk; size is the packed size in bytes.
func (b *importer) archive(ctx context.Context, path string, size int64) (err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return memory.Errorf(memory.Invalid, "%s: %w", path, err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	most := min(mostUnpacked, max(littleUnpacked, mostExpansion*size))
	files, left := 0, most
	for _, f := range z.File {
		if f.FileInfo().IsDir() || !wanted(f.Name) {
			continue
		}
		files++
		if f.UncompressedSize64 > uint64(left) { // the zip reader fails if a file is larger than the header says
			return memory.Errorf(memory.TooLarge, "%s: unpacks to more than %d MiB", path, most>>20)
		}
		left -= int64(f.UncompressedSize64)
		if err := b.open(ctx, path+": "+f.Name, f.Open); err != nil {
			return err
		}
	}
	if files == 0 {
		return nothingIn(path)
	}
	return nil
}

func (b *importer) open(ctx context.Context, name string, open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	return errors.Join(b.file(ctx, name, in), in.Close())
}

// checkReadable refuses a path that cannot be imported.
func (b *importer) readable(path string) error {
	info, err := os.Stat(path)
	switch {
	case path == stdin:
		return nil
	case err != nil:
		return memory.Errorf(memory.Invalid, "%w", err)
	case !info.Mode().IsRegular() || extOf(path) == ".zip":
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = b.formatOf(path, bufio.NewReaderSize(f, sniffed))
	return errors.Join(err, f.Close())
}

// detectFormat detects the format of a file. It refuses generic formats if the file's extension is not
// among detectedExtensions, because any text can be parsed as a list of facts.
func (b *importer) formatOf(name string, in *bufio.Reader) (portable.Format, error) {
	head, err := in.Peek(sniffed)
	switch {
	case err != nil && err != io.EOF:
		return "", fmt.Errorf("%s: %w", name, err)
	case bytes.IndexByte(head, 0) >= 0:
		return "", memory.Errorf(memory.Invalid, "%s: not a text file in UTF-8", name)
	case b.q.Format != "":
		return portable.Format(b.q.Format), nil
	}
	format := portable.FormatOf(name, head)
	anybodys := format == portable.List || format == portable.Mem0 || format == portable.BasicMemory
	if anybodys && name != stdin && !slices.Contains(ownNames, extOf(name)) {
		return "", memory.Errorf(memory.Invalid, "%s: unknown extension (known: %s); to import the file anyway, add --from %s", name, strings.Join(ownNames, ", "), format)
	}
	return format, nil
}

// importFile sends a file to the server.
func (b *importer) file(ctx context.Context, name string, in io.Reader) error {
	buffered := bufio.NewReaderSize(in, sniffed)
	format, err := b.formatOf(name, buffered)
	if err != nil {
		return err
	}
	q := b.q
	q.Format = string(format)
	out, err := b.client.Import(ctx, q, b.progress.reading(buffered, "imported", 0), "")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.add(name, format, out)
	return nil
}

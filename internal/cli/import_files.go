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
	sniffed = 64 << 10 // of a file, to find out what it is

	// An archive may unpack to so many bytes, and to so many times its size unless that is
	// little: exports of chats shrink to a tenth.
	mostUnpacked   = 4 << 30
	mostExpansion  = 100
	littleUnpacked = 64 << 20
)

// ownNames are how files are named whose contents say what they are.
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

// wanted are the files that are looked for in folders and archives.
func wanted(name string) bool {
	switch extOf(name) {
	case ".md", ".markdown", ".jsonl", ".ndjson":
		return !strings.HasPrefix(filepath.Base(name), ".")
	}
	return othersChats.MatchString(filepath.Base(name))
}

// othersChats are the names that ChatGPT, by the part, and Claude give to what was said.
var othersChats = lazy.Compile(`^conversations(-\d+)?\.json$`)

// nothingIn says that none of the files under a path are read.
func nothingIn(path string) error {
	return memory.Errorf(memory.Invalid, "%s: nothing in it is read: neither .md, nor .jsonl, nor conversations.json", path)
}

// folder reads the files under a folder. Links are not followed, and folders whose
// name begins with a dot are left out.
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

// archive reads the files of a zip. Nothing is unpacked: their names only name them.
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
		if f.UncompressedSize64 > uint64(left) { // reading more than it says is an error
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

// readable refuses a path that cannot be imported.
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

// formatOf says what a file is. One whose name does not say that it is memory has to begin like one:
// any text is a list of facts.
func (b *importer) formatOf(name string, in *bufio.Reader) (portable.Format, error) {
	head, err := in.Peek(sniffed)
	switch {
	case err != nil && err != io.EOF:
		return "", fmt.Errorf("%s: %w", name, err)
	case bytes.IndexByte(head, 0) >= 0:
		return "", memory.Errorf(memory.Invalid, "%s: this is not text in UTF-8", name)
	case b.q.Format != "":
		return portable.Format(b.q.Format), nil
	}
	format := portable.FormatOf(name, head)
	anybodys := format == portable.List || format == portable.Mem0 || format == portable.BasicMemory
	if anybodys && name != stdin && !slices.Contains(ownNames, extOf(name)) {
		return "", memory.Errorf(memory.Invalid, "%s: its name is none of %s; if it is memory say what it is: --from %s", name, strings.Join(ownNames, ", "), format)
	}
	return format, nil
}

// file sends a file.
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

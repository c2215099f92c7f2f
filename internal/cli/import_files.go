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
	sniffed   = 64 << 10 // of a file, to find out what it is
	mostFiles = 200_000

	// An archive may unpack to so many bytes, and to so many times its size unless that is
	// little: exports of chats shrink to a tenth.
	mostUnpacked   = 4 << 30
	mostExpansion  = 100
	littleUnpacked = 64 << 20
)

// readable refuses, before anything is read, what is not there and, unless from says what
// it is, what has neither the name nor the beginning of a memory: any text is a list of facts.
func readable(path, from string) (err error) {
	if path == "-" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return memory.Errorf(memory.Invalid, "there is no file %s", path)
	case err != nil:
		return memory.Errorf(memory.Invalid, "%w", err)
	}
	if from != "" || !info.Mode().IsRegular() || isZip(path) || slices.Contains(ownNames, strings.ToLower(filepath.Ext(path))) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("%s: %w", path, err)
	}
	if head = head[:n]; bytes.IndexByte(head, 0) >= 0 {
		return notText(path)
	}
	format := portable.FormatOf(path, head)
	if as := anybodys[format]; as != "" {
		return memory.Errorf(memory.Invalid, "%s: its name is none of %s; if it is memory say what it is with --from: it would be read as %s (--from %s)",
			path, strings.Join(ownNames, ", "), as, format)
	}
	return nil
}

// ownNames are how files are named whose contents say what they are.
var ownNames = []string{".md", ".markdown", ".txt", ".json", ".jsonl", ".ndjson"}

// anybodys are the formats whose beginning many files have that are no memory.
var anybodys = map[portable.Format]string{portable.List: "a fact a line", portable.Mem0: "what mem0 exports", portable.BasicMemory: "a note of basic-memory"}

// notText refuses what of a program or a picture happens to be words.
func notText(name string) error {
	return memory.Errorf(memory.Invalid, "%s: this is not text in UTF-8", name)
}

func isZip(path string) bool { return strings.EqualFold(filepath.Ext(path), ".zip") }

func (b *importer) paths(ctx context.Context, paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "-":
			err = b.file(ctx, "standard input", os.Stdin)
		case err != nil:
		case info.IsDir():
			err = b.folder(ctx, path)
		case isZip(path):
			err = b.archive(ctx, path)
		default:
			err = b.open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wanted are the files that are looked for in folders and archives.
func wanted(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
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
		if files++; files > mostFiles {
			return memory.Errorf(memory.TooLarge, "more than %d files in %s", mostFiles, dir)
		}
		return b.open(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
	})
	if err == nil && files == 0 {
		return nothingIn(dir)
	}
	return err
}

// archive reads the files of a zip. Nothing is unpacked: their names only name them.
func (b *importer) archive(ctx context.Context, path string) (err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return memory.Errorf(memory.Invalid, "%s: %w", path, err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	if len(z.File) > mostFiles {
		return memory.Errorf(memory.TooLarge, "more than %d files in %s", mostFiles, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	most := min(mostUnpacked, max(littleUnpacked, mostExpansion*info.Size()))
	files, left := 0, most
	for _, f := range z.File {
		if f.FileInfo().IsDir() || !wanted(f.Name) {
			continue
		}
		files++
		if f.UncompressedSize64 > uint64(left) { // reading more than that is an error of the archive
			return memory.Errorf(memory.TooLarge, "%s: unpacks to more than %d MiB", path, most>>20)
		}
		left -= int64(f.UncompressedSize64)
		open := func() (io.ReadCloser, error) {
			in, err := f.Open()
			if err != nil {
				return nil, err
			}
			return struct {
				io.Reader
				io.Closer
			}{io.LimitReader(in, int64(f.UncompressedSize64)+1), in}, nil
		}
		if err := b.open(ctx, path+": "+f.Name, open); err != nil {
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

// file sends a file.
func (b *importer) file(ctx context.Context, name string, in io.Reader) error {
	buffered := bufio.NewReaderSize(in, sniffed)
	format := b.q.Format
	head, err := buffered.Peek(sniffed)
	switch {
	case err != nil && err != io.EOF:
		return fmt.Errorf("%s: %w", name, err)
	case bytes.IndexByte(head, 0) >= 0:
		return notText(name)
	case format == "":
		format = string(portable.FormatOf(name, head))
	}
	q := b.q
	q.Format = format
	out, err := b.client.Import(ctx, q, b.progress.reading(buffered, "imported", 0), "")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.add(placeIn(name, portable.Format(format)), out)
	return nil
}

// placeIn names places in a file: lines, or items where it is a list of JSON.
func placeIn(name string, format portable.Format) func(n int) string {
	if format.Unit() == "item" {
		return func(n int) string { return fmt.Sprintf("%s, item %d", name, n) }
	}
	return func(n int) string { return fmt.Sprintf("%s:%d", name, n) }
}

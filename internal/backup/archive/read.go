package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// Archive is an open archive.
type Archive struct {
	Manifest Manifest
	file     *os.File
	done     int64       // number of bytes read from members
	files    []*zip.File // in the order of the manifest's members
}

// Open opens an archive and checks its manifest; [Archive.Check] checks the members. The path identity
// of a file with age identities is empty for an unencrypted archive. Open returns [memory.NotFound] if
// the file does not exist, [memory.Invalid] if it is not a complete backup, and [memory.Unavailable] for
// an archive of a newer program.
func Open(path, identity string) (*Archive, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, memory.Errorf(memory.NotFound, "there is no file %s", path)
	}
	if err != nil {
		return nil, err
	}
	a := &Archive{file: f}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = memory.Errorf(memory.Invalid, "the backup is not a regular file")
	}
	if err == nil {
		err = a.open(f, info.Size(), identity)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return a, nil
}

// open reads the zip directory and the manifest.
func (a *Archive) open(from io.ReaderAt, size int64, identity string) error {
	from, size, err := decrypted(from, size, identity)
	if err != nil {
		return err
	}
	z, err := zip.NewReader(from, size)
	if err != nil {
		return damaged("it is not a complete zip file: %v", err)
	}
	named := map[string]*zip.File{}
	for _, f := range z.File {
		if named[f.Name] != nil {
			return damaged("it contains %q twice", f.Name)
		}
		if !f.Mode().IsRegular() {
			return damaged("%q is not a regular file", f.Name)
		}
		named[f.Name] = f
	}
	if err := a.readManifest(named[manifestName]); err != nil {
		return err
	}
	delete(named, manifestName)
	for _, m := range a.Manifest.Members {
		f := named[m.Name]
		if f == nil {
			return damaged("%q is missing", m.Name)
		}
		if f.UncompressedSize64 != uint64(m.Size) || f.UncompressedSize64/maxRatio > f.CompressedSize64 {
			return damaged("the size of %q differs from the manifest", m.Name)
		}
		a.files = append(a.files, f)
		delete(named, m.Name)
	}
	for name := range named {
		return damaged("%q is not listed in the manifest", name)
	}
	return nil
}

func (a *Archive) readManifest(f *zip.File) error {
	if f == nil {
		return memory.Errorf(memory.Invalid, "the file is not a backup of Loci: it contains no %s", manifestName)
	}
	var text bytes.Buffer
	r, err := f.Open()
	if err != nil {
		return damaged("%s: %v", manifestName, err)
	}
	_, err = io.Copy(&text, io.LimitReader(r, maxManifest+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return damaged("%s: %v", manifestName, err)
	}
	if text.Len() > maxManifest {
		return damaged("%s has more than %d bytes", manifestName, maxManifest)
	}
	if err := json.Unmarshal(text.Bytes(), &a.Manifest); err != nil {
		return damaged("%s: %v", manifestName, err)
	}
	return a.Manifest.check()
}

// Close closes the archive's file.
func (a *Archive) Close() error { return a.file.Close() }

// Check reads every member and compares it with the manifest. If report is not nil, Check calls it with
// the number of bytes read so far and the total.
func (a *Archive) Check(ctx context.Context, report func(done, of int64)) error {
	return a.each(ctx, "", report, func(string) (io.WriteCloser, error) { return nothing{}, nil })
}

// Unpack writes the members of a folder of the archive into the new folder dir, and compares them with
// the manifest. If it returns nil, the files are synced to disk. After an error, written files stay.
func (a *Archive) Unpack(ctx context.Context, folder, dir string, report func(done, of int64)) (err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = a.each(ctx, folder+"/", report, func(name string) (io.WriteCloser, error) {
		name = filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, err
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		return synced{f}, nil
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return disk.SyncFolder(path)
	})
}

// copyMembers copies each member with the prefix to the writer that openWriter returns for the rest of the name.
func (a *Archive) each(ctx context.Context, prefix string, report func(done, of int64), to func(name string) (io.WriteCloser, error)) error {
	of := a.Manifest.Size()
	for i, m := range a.Manifest.Members {
		name, under := strings.CutPrefix(m.Name, prefix)
		if !under {
			continue
		}
		w, err := to(name)
		if err != nil {
			return fmt.Errorf("write %s: %w", m.Name, err)
		}
		if err := errors.Join(read(ctx, a.files[i], m, w, func(n int64) {
			if a.done += n; report != nil {
				report(a.done, of)
			}
		}), w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// copyMember copies one member and compares it with the manifest.
func read(ctx context.Context, f *zip.File, m Member, to io.Writer, report func(n int64)) error {
	r, err := f.Open()
	if err != nil {
		return damaged("%q: %v", m.Name, err)
	}
	defer r.Close() //nolint:errcheck // the member was only read
	sum := sha256.New()
	buf := make([]byte, 256<<10)
	var n int64
	for err == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		var some int
		some, err = r.Read(buf)
		n += int64(some)
		if n > m.Size {
			return damaged("%q has more bytes than in the manifest", m.Name)
		}
		_, _ = sum.Write(buf[:some]) // writing to a hash never fails
		if _, err := to.Write(buf[:some]); err != nil {
			return fmt.Errorf("write %s: %w", m.Name, err)
		}
		report(int64(some))
	}
	if !errors.Is(err, io.EOF) {
		return damaged("%q: %v", m.Name, err)
	}
	if n != m.Size || hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return damaged("the checksum of %q differs from the manifest", m.Name)
	}
	return nil
}

// discard is a writer that discards all bytes.
type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }
func (nothing) Close() error                { return nil }

// syncedFile is a file that Close syncs to disk.
type synced struct{ *os.File }

func (s synced) Close() error { return errors.Join(s.Sync(), s.File.Close()) }

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
	Manifest  Manifest
	file      *os.File
	bytesRead int64       // number of bytes read from members
	zipFiles  []*zip.File // in the order of the manifest's members
}

// Open opens an archive and checks its manifest; [Archive.Check] checks the members. For an encrypted
// archive, identityOrPath is an age identity or the path of a file with identities. Open returns [memory.NotFound]
// if the file does not exist, [memory.Invalid] if it is not a complete backup, and [memory.Unavailable] for
// an archive of a newer program.
func Open(path, identityOrPath string) (*Archive, error) {
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
		err = a.open(f, info.Size(), identityOrPath)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return a, nil
}

// open reads the zip directory and the manifest.
func (a *Archive) open(src io.ReaderAt, size int64, identityOrPath string) error {
	src, size, err := decrypt(src, size, identityOrPath)
	if err != nil {
		return err
	}
	z, err := zip.NewReader(src, size)
	if err != nil {
		return damagedError("it is not a complete zip file: %v", err)
	}
	byName := map[string]*zip.File{}
	for _, f := range z.File {
		if byName[f.Name] != nil {
			return damagedError("it contains %q twice", f.Name)
		}
		if !f.Mode().IsRegular() {
			return damagedError("%q is not a regular file", f.Name)
		}
		byName[f.Name] = f
	}
	if err := a.readManifest(byName[manifestName]); err != nil {
		return err
	}
	delete(byName, manifestName)
	for _, m := range a.Manifest.Members {
		f := byName[m.Name]
		if f == nil {
			return damagedError("%q is missing", m.Name)
		}
		if f.UncompressedSize64 != uint64(m.Size) || f.UncompressedSize64/maxCompressionRatio > f.CompressedSize64 {
			return damagedError("the size of %q differs from the manifest", m.Name)
		}
		a.zipFiles = append(a.zipFiles, f)
		delete(byName, m.Name)
	}
	for name := range byName {
		return damagedError("%q is not listed in the manifest", name)
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
		return damagedError("%s: %v", manifestName, err)
	}
	_, err = io.Copy(&text, io.LimitReader(r, maxManifestSize+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return damagedError("%s: %v", manifestName, err)
	}
	if text.Len() > maxManifestSize {
		return damagedError("%s has more than %d bytes", manifestName, maxManifestSize)
	}
	if err := json.Unmarshal(text.Bytes(), &a.Manifest); err != nil {
		return damagedError("%s: %v", manifestName, err)
	}
	return a.Manifest.check()
}

// Close closes the archive's file.
func (a *Archive) Close() error { return a.file.Close() }

// Check reads every member and compares it with the manifest. If report is not nil, Check calls it with
// the number of bytes read so far and the total.
func (a *Archive) Check(ctx context.Context, report func(done, total int64)) error {
	return a.copyMembers(ctx, "", report, func(string) (io.WriteCloser, error) { return discard{}, nil })
}

// Unpack writes the members of a folder of the archive into the new folder dir, and compares them with
// the manifest. If it returns nil, the files are synced to disk. After an error, written files stay.
func (a *Archive) Unpack(ctx context.Context, archiveFolder, dir string, report func(done, total int64)) (err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = a.copyMembers(ctx, archiveFolder+"/", report, func(name string) (io.WriteCloser, error) {
		name = filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, err
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		return syncedFile{f}, nil
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

// copyMembers copies each member whose name begins with prefix to a writer; openWriter gets the rest of the name.
func (a *Archive) copyMembers(ctx context.Context, prefix string, report func(done, total int64), openWriter func(name string) (io.WriteCloser, error)) error {
	total := a.Manifest.Size()
	for i, m := range a.Manifest.Members {
		name, hasPrefix := strings.CutPrefix(m.Name, prefix)
		if !hasPrefix {
			continue
		}
		w, err := openWriter(name)
		if err != nil {
			return fmt.Errorf("write %s: %w", m.Name, err)
		}
		if err := errors.Join(copyMember(ctx, a.zipFiles[i], m, w, func(n int64) {
			if a.bytesRead += n; report != nil {
				report(a.bytesRead, total)
			}
		}), w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// copyMember copies the file f of an archive to dst, and compares it with m, its entry in the manifest.
func copyMember(ctx context.Context, f *zip.File, m Member, dst io.Writer, report func(n int64)) error {
	r, err := f.Open()
	if err != nil {
		return damagedError("%q: %v", m.Name, err)
	}
	defer r.Close() //nolint:errcheck // the member was only read
	sum := sha256.New()
	buf := make([]byte, 256<<10)
	var n int64
	for err == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		var count int
		count, err = r.Read(buf)
		n += int64(count)
		if n > m.Size {
			return damagedError("%q has more bytes than in the manifest", m.Name)
		}
		_, _ = sum.Write(buf[:count]) // writing to a hash never fails
		if _, err := dst.Write(buf[:count]); err != nil {
			return fmt.Errorf("write %s: %w", m.Name, err)
		}
		report(int64(count))
	}
	if !errors.Is(err, io.EOF) {
		return damagedError("%q: %v", m.Name, err)
	}
	if n != m.Size || hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return damagedError("the checksum of %q differs from the manifest", m.Name)
	}
	return nil
}

// discard is a writer that discards all bytes.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// syncedFile is a file that Close syncs to disk.
type syncedFile struct{ *os.File }

func (s syncedFile) Close() error { return errors.Join(s.Sync(), s.File.Close()) }

package vault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// copiedOwnFiles lists the files of the vault's own folder that a copy includes. The other files
// belong to this process or can be rebuilt.
var copiedOwnFiles = []string{recordsFile, erasingFile}

// Copy calls addFile for every file of the vault, with its slash-separated path: the memories' files
// and the database of records. Copy first calls begin while no write is in progress, so that begin
// can copy the wrapped store in the same state, and calls end last. Copy skips links and git's
// folders.
//
// Reads and writes continue during a copy, but Loci writes no files. A copy and an erasure wait for
// each other.
func (s *Store) Copy(ctx context.Context, begin func() error, addFile func(name string, from io.Reader) error, end func() error) error {
	s.copyMu.Lock()
	defer s.copyMu.Unlock()
	if err := s.copyFiles(ctx, begin, addFile); err != nil {
		return err
	}
	return end()
}

func (s *Store) copyFiles(ctx context.Context, begin func() error, addFile func(name string, from io.Reader) error) error {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	if err := s.withoutWrites(begin); err != nil {
		return err
	}
	return fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // a person removed the file meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && strings.EqualFold(d.Name(), ".git"):
			return fs.SkipDir
		case d.IsDir() && path.Dir(name) == OwnFolder:
			return fs.SkipDir
		case !d.Type().IsRegular(), strings.EqualFold(d.Name(), ".git"), isTemp(d.Name()):
			return nil
		case path.Dir(name) == OwnFolder && !slices.Contains(copiedOwnFiles, d.Name()):
			return nil
		}
		return s.copyFile(name, addFile)
	})
}

// withoutWrites calls begin while no write is in progress; the caller has locked f.disk.
func (s *Store) withoutWrites(begin func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("copy the vault: %w", os.ErrClosed)
	}
	if err := begin(); err != nil {
		return err
	}
	if err := errors.Join(s.files.saveWrittenVersions(), s.files.records.compact()); err != nil {
		return fmt.Errorf("record the written files: %w", err)
	}
	return nil
}

func (s *Store) copyFile(name string, addFile func(name string, from io.Reader) error) error {
	file, err := s.files.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	return addFile(name, file)
}

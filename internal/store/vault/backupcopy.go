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

// copied are the files of the vault's own folder in a copy. The others belong to this process or
// are rebuilt.
var copied = []string{recordsFile, erasingFile}

// Copy passes every file of the vault, as of one moment, to give, with its slash-separated path in
// the vault: the files, the journal, and the texts that Loci last wrote. at is called once before,
// without concurrent writes, so that the store within then matches the journal. rest is called last
// and releases what at holds. Git's folders and links are left out.
//
// Memory goes on meanwhile, except for erasures, and files are written only after rest. An erasure
// waits here, where it blocks nobody: the vault writes nothing else while it erases.
func (s *Store) Copy(ctx context.Context, at func() error, give func(name string, from io.Reader) error, rest func() error) error {
	s.copying.Lock()
	defer s.copying.Unlock()
	if err := s.copyFiles(ctx, at, give); err != nil {
		return err
	}
	return rest()
}

func (s *Store) copyFiles(ctx context.Context, at func() error, give func(name string, from io.Reader) error) error {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	if err := s.pause(at); err != nil {
		return err
	}
	return fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // a person removed it meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && strings.EqualFold(d.Name(), ".git"):
			return fs.SkipDir
		case d.IsDir() && path.Dir(name) == OwnFolder:
			return fs.SkipDir
		case !d.Type().IsRegular(), strings.EqualFold(d.Name(), ".git"), isTemp(d.Name()):
			return nil
		case path.Dir(name) == OwnFolder && !slices.Contains(copied, d.Name()):
			return nil
		}
		return s.give(name, give)
	})
}

// pause calls at without concurrent writes; the caller holds f.disk.
func (s *Store) pause(at func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("copy the vault: %w", os.ErrClosed)
	}
	if err := at(); err != nil {
		return err
	}
	if err := errors.Join(s.files.markWritten(), s.files.index.compact()); err != nil {
		return fmt.Errorf("note what was written to the files: %w", err)
	}
	return nil
}

func (s *Store) give(name string, give func(name string, from io.Reader) error) error {
	file, err := s.files.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	return give(name, file)
}

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

// copied are the files of the vault's own folder that a copy has. The rest is of this
// process, or made anew.
var copied = []string{journalFile, indexFile, buriedFile, keyFile, erasingFile}

// Copy gives every file of the vault away, as they are at one moment, by its path from the
// vault's top, with slashes: the files, the journal, and what Loci last wrote to the files.
// at is called once before, while nothing is written: what the store within holds then is
// what the journal holds. rest is called last: what at holds of the store within it lets go.
// Git's folders and links are left out.
//
// Memory goes on meanwhile, but for erasures, and until rest is called the files wait. An
// erasure waits here, where it stops nobody: within it would, since a vault that erases
// writes nothing else.
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
	upTo, err := s.pause(at)
	if err != nil {
		return err
	}
	return fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist): // a person took it away while we were looking
			return nil
		case err != nil:
			return err
		case d.IsDir() && strings.EqualFold(d.Name(), ".git"):
			return fs.SkipDir
		case d.IsDir() && path.Dir(name) == ownFolder:
			return fs.SkipDir
		case !d.Type().IsRegular(), strings.EqualFold(d.Name(), ".git"), isTemp(d.Name()):
			return nil
		case path.Dir(name) == ownFolder && !slices.Contains(copied, d.Name()):
			return nil
		}
		return s.give(name, upTo, give)
	})
}

// pause calls at while nothing is written, and returns up to which byte the files that only
// grow were written then; f.disk is held.
func (s *Store) pause(at func() error) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("copy the vault: %w", os.ErrClosed)
	}
	if err := at(); err != nil {
		return nil, err
	}
	if err := s.files.snapshot(); err != nil {
		return nil, fmt.Errorf("note what was written to the files: %w", err)
	}
	s.journal.mu.Lock() // after the snapshot, which tells of nothing that is not in the journal yet
	upTo := map[string]int64{path.Join(ownFolder, journalFile): s.journal.size}
	s.journal.mu.Unlock()
	if info, err := os.Stat(s.own(buriedFile)); err == nil {
		upTo[path.Join(ownFolder, buriedFile)] = info.Size()
	}
	return upTo, nil
}

func (s *Store) give(name string, upTo map[string]int64, give func(name string, from io.Reader) error) error {
	file, err := s.files.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	if n, grows := upTo[name]; grows {
		return give(name, io.LimitReader(file, n))
	}
	return give(name, file)
}

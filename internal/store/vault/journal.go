package vault

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// journal is the file that a write is in once it is acknowledged: a line of JSON
// for each, only ever longer. Whoever waits while it is synced is taken together
// into the next sync.
type journal struct {
	file      *os.File
	failpoint func(string)

	mu      sync.Mutex // guards what follows
	pending []*ticket
	size    int64         // of what is synced
	err     error         // what stopped it, for good
	wake    chan struct{} // holds a token when there is something pending
	done    chan struct{}
}

// ticket is a line on its way to the disk.
type ticket struct {
	text    []byte
	owner   memory.Owner
	version int64
	at      time.Time
	raises  bool     // the version
	commits bool     // it is of a write that the store within has
	targets []string // what the line is about
	synced  chan struct{}
	err     error
}

// wait returns when the line is on the disk, or will never be.
func (t *ticket) wait() error {
	<-t.synced
	return t.err
}

// openJournal opens the file for writing behind its first size bytes, which are
// whole lines, and cuts off what a crash left behind them. Each synced group is
// told to after.
func openJournal(path string, size int64, failpoint func(string), after func(group []*ticket, size int64)) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(size, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j := &journal{file: f, failpoint: failpoint, size: size, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go j.run(after)
	return j, nil
}

// add queues a line. Its ticket's synced must be made.
func (j *journal) add(t *ticket) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		t.err = j.broken()
		close(t.synced)
		return
	}
	j.pending = append(j.pending, t)
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// failed returns what stopped the journal, nil while it can be written.
func (j *journal) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		return nil
	}
	return j.broken()
}

// broken is the error of a journal that cannot be written; j.mu is held.
func (j *journal) broken() error {
	return memory.Errorf(memory.Unavailable, "the vault's journal cannot be written; make room for it and start again: %w", j.err)
}

func (j *journal) run(after func([]*ticket, int64)) {
	defer close(j.done)
	for range j.wake {
		j.mu.Lock()
		group, size := j.pending, j.size
		j.pending = nil
		j.mu.Unlock()
		if len(group) == 0 {
			continue // another token's turn took them
		}
		size, err := j.sync(group, size)
		j.mu.Lock()
		j.size, j.err = size, err
		if err != nil {
			group = append(group, j.pending...)
			j.pending = nil
			err = j.broken()
		}
		j.mu.Unlock()
		if err == nil {
			after(group, size)
		}
		for _, t := range group {
			t.err = err
			close(t.synced)
		}
	}
}

// sync writes a group behind size bytes and returns the size since. A failure
// leaves no half of it behind, if that can be helped.
func (j *journal) sync(group []*ticket, size int64) (int64, error) {
	var text []byte
	for _, t := range group {
		text = append(text, t.text...)
	}
	j.failpoint(beforeJournal)
	_, err := j.file.Write(text)
	if err == nil {
		j.failpoint(betweenJournal)
		err = j.file.Sync()
	}
	if err != nil {
		return size, errors.Join(err, j.file.Truncate(size))
	}
	j.failpoint(afterJournal)
	return size + int64(len(text)), nil
}

// close waits for what is queued and closes the file. It must not be called
// while somebody may add.
func (j *journal) close() error {
	close(j.wake)
	<-j.done
	return j.file.Close()
}

// readJournal calls yield for each line that begins at or behind an offset, with
// the offset behind it, and returns the offset behind the last whole one. What
// follows is the half of a line that nobody was told of. A line that makes no
// sense in the middle is an error.
func readJournal(path string, from int64, yield func(e entry, begin, end int64) error) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, err
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for at := from; ; {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		end := at + int64(len(text))
		e, err := readEntry(bytes.TrimSpace(text))
		if err != nil {
			if _, more := r.Peek(1); errors.Is(more, io.EOF) {
				return at, nil // the end of a write that was cut short
			}
			return at, fmt.Errorf("the line at byte %d of %s is damaged: %w", at, path, err)
		}
		if err := yield(e, at, end); err != nil {
			return at, err
		}
		at = end
	}
}

// readLine reads the one line at an offset.
func readLine(f *os.File, at int64, n int) (entry, error) {
	text := make([]byte, n)
	if _, err := f.ReadAt(text, at); err != nil {
		return entry{}, err
	}
	return readEntry(bytes.TrimSpace(text))
}

package vault

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// forgetful commits, and says that it does not know whether it did.
type forgetful struct {
	memory.Store
	lost bool
}

func (f *forgetful) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	receipt, err := f.Store.Apply(ctx, owner, run, changes...)
	if f.lost && err == nil {
		return memory.Receipt{}, errors.New("the connection broke")
	}
	return receipt, err
}

func TestCommitOfUnknownOutcomeIsInTheJournal(t *testing.T) {
	dir := t.TempDir()
	var within *forgetful
	s, err := Open(t.Context(), dir, func(now func() time.Time) (memory.Store, error) {
		inner, err := inMemory(now)
		within = &forgetful{Store: inner}
		return within, err
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(words string) error {
		_, err := s.Apply(t.Context(), memtest.Ana, memtest.Run(words), memtest.Add(memtest.Fact(memtest.Ana, words)))
		return err
	}
	if err := apply("tea"); err != nil {
		t.Fatal(err)
	}
	within.lost = true
	if err := apply("milk"); err == nil {
		t.Error("nobody knows whether milk is there, but no error")
	}
	within.lost = false
	if err := apply("water"); err != nil {
		t.Errorf("after it: %v", err)
	}
	want := exports(t, s, memtest.Ana)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), dir, inMemory, Options{})
	opened(t, again, err)
	if diff := differ(exports(t, again, memtest.Ana), want); diff != "" || len(want[0].Memories) != 3 {
		t.Errorf("from the journal (-got +want):\n%s", diff)
	}
}

func TestJournalThatCannotBeWrittenRefusesWrites(t *testing.T) {
	dir := t.TempDir()
	within := inSQLite(filepath.Join(dir, "loci.db"))
	s, err := Open(t.Context(), dir, within, Options{})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(s *Store, words string) error {
		_, err := s.Apply(t.Context(), memtest.Ana, memtest.Run(words), memtest.Add(memtest.Fact(memtest.Ana, words)))
		return err
	}
	if err := apply(s, "tea"); err != nil {
		t.Fatal(err)
	}
	s.journal.file.Close()
	for _, words := range []string{"milk", "water"} {
		if err := apply(s, words); !errors.Is(err, memory.Unavailable) {
			t.Errorf("%s: got %v, want unavailable", words, err)
		}
	}
	if err := s.Ping(t.Context()); !errors.Is(err, memory.Unavailable) {
		t.Errorf("ping: %v", err)
	}
	_ = s.Close()
	s, err = Open(t.Context(), dir, within, Options{})
	opened(t, s, err)
	if err := apply(s, "beer"); err != nil {
		t.Error(err)
	}
	if k := export(t, s, memtest.Ana, memory.At{}); len(k.Memories) != 3 { // milk was committed within, water was not tried
		t.Errorf("memories: %+v", k.Memories)
	}
}

func TestDamagedJournalIsSetAside(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	if err := v.Store.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(v.dir, ownFolder, journalFile)
	text := readFile(t, name)
	text[20] = 0
	writeFile(t, name, text)
	v.remove(filepath.Join(ownFolder, indexFile))
	s, err := Open(t.Context(), v.dir, inMemory, Options{Home: memtest.Ana})
	opened(t, s, err)
	aside := s.DamagedJournals()
	if len(aside) != 1 || !bytes.Equal(readFile(t, filepath.Join(v.dir, aside[0])), text) {
		t.Errorf("set aside: got %q, want the damaged journal", aside)
	}
	page, err := s.List(t.Context(), memtest.Ana, memory.Query{})
	if err != nil || len(page.Memories) != 1 {
		t.Errorf("got %d facts, %v; want that of the file", len(page.Memories), err)
	}
}

func TestClosedVaultRefusesWrites(t *testing.T) {
	v := newVault(t)
	if err := v.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Apply(t.Context(), memtest.Ana, memtest.Run("late"), memtest.Add(tea())); !errors.Is(err, memory.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}

package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

const (
	identityFile = "backup-identity.txt" // age identities for trials, if the operator put them into the data folder
	trialFolder  = "backup-trial"        // in the data folder while a backup is restored on trial

	poll       = time.Minute    // a clock may jump, and a machine sleep
	retryMost  = time.Hour      // the wait after a failure begins with a minute and doubles
	trialEvery = 24 * time.Hour // at least: a trial reads all
)

// Schedule makes backups by the clock and restores the newest on trial. A nil one does nothing.
type Schedule struct {
	maker *Maker
	set   config.BackupConfig
	place place
	dir   string // data folder
	log   *slog.Logger
	is    atomic.Pointer[state]
}

// state is of this process; what lasts is in the names of the backups.
type state struct {
	newest, sum string    // sum "": another process made it
	at          time.Time // when it was begun
	failed      string    // why the last attempt came to nothing
	proven      string    // the last that passed a trial, begun at provenAt
	provenAt    time.Time
	unproven    string // why the last trial failed
}

// NewSchedule returns the schedule of the settings; nil: there is none.
func NewSchedule(c config.Config, maker *Maker, log *slog.Logger) (*Schedule, error) {
	if c.Backup.Every == 0 {
		return nil, nil
	}
	s := &Schedule{maker: maker, set: c.Backup, log: log}
	s.is.Store(&state{})
	to, err := c.Backup.Place()
	if err == nil {
		s.place, err = openPlace(to)
	}
	if err != nil {
		return nil, fmt.Errorf("backup.to: %w", err)
	}
	if c.Backup.Recipient != "" {
		if err := archive.Encrypt(io.Discard, strings.NewReader(""), c.Backup.Recipient); err != nil {
			return nil, fmt.Errorf("backup.recipient: %w", err)
		}
	}
	vault, err := c.VaultDir()
	if d, ok := s.place.(folder); ok && vault != "" && (string(d) == vault || inside(vault, string(d)) != "") {
		return nil, memory.Errorf(memory.Invalid, "backup.to: %s lies in the vault, so that a backup would hold the earlier ones; name another folder", d)
	}
	if err == nil {
		s.dir, err = c.DataDir()
	}
	return s, err
}

// Run makes backups until ctx ends. What failed is logged and tried again.
func (s *Schedule) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for pause := poll; ; {
		err := s.Once(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("the scheduled backup failed; it is tried again", "to", s.place.path(""), "after", pause, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if pause = min(2*pause, retryMost); err == nil {
			pause = poll
		}
	}
}

// Once makes a backup and restores it on trial, as far as they are due, and deletes what is over.
func (s *Schedule) Once(ctx context.Context) (err error) {
	now, is := s.maker.now(), *s.is.Load()
	defer func() {
		if ctx.Err() == nil && !errors.Is(err, memory.Conflict) { // else it was stopped, or somebody makes another
			s.is.Store(&is)
		}
	}()
	if due := now.Before(is.at) || now.Sub(is.at) >= s.set.Every; !due && is.unproven == "" {
		return nil
	} else if due {
		if err := s.make(ctx, now, &is); err != nil {
			is.failed = err.Error()
			return err
		}
	}
	if is.failed = ""; is.sum == "" {
		return nil
	}
	if s.trialDue(is, is.at) {
		if err := s.try(ctx, is); err != nil {
			is.unproven = err.Error()
			return fmt.Errorf("restore %s on trial: %w", is.newest, err)
		}
		is.proven, is.provenAt, is.unproven = is.newest, is.at, ""
	}
	return s.expire(ctx)
}

// trialDue reports whether a backup that was begun at a time is to be restored on trial.
func (s *Schedule) trialDue(is state, at time.Time) bool {
	return is.proven == "" || is.unproven != "" || at.Before(is.provenAt) || at.Sub(is.provenAt) >= max(trialEvery, s.set.Every)
}

// make makes a backup and keeps it, unless a process before made one that is not old yet.
func (s *Schedule) make(ctx context.Context, now time.Time, is *state) (err error) {
	names, err := s.place.list(ctx)
	if err != nil {
		return err
	}
	named := now.UTC()
	if n := len(names); n > 0 { // the newest has the last name, also where the clock went back
		last, _ := time.Parse(nameForm, names[n-1][:len(nameForm)])
		if is.at.IsZero() && now.Sub(last) < s.set.Every {
			if is.newest, is.at = names[n-1], last; last.After(now) {
				is.at = now
			}
			return nil
		}
		if last = last.Add(time.Second); named.Before(last) {
			named = last
		}
	}
	name := named.Format(nameForm)
	if s.set.Recipient != "" {
		name += ".age"
	}
	m, err := s.maker.make(ctx, s.place.path(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	file := m.Name()
	if s.set.Recipient != "" {
		if !there(filepath.Join(s.dir, identityFile)) && s.trialDue(*is, now) { // nothing here can open it once it is encrypted
			if err := s.restore(ctx, file); err != nil {
				return err
			}
		}
		file += ".age"
		if err := copyFile(m.Name(), file, s.set.Recipient); err != nil {
			return fmt.Errorf("encrypt the backup: %w", err)
		}
	}
	hash, err := sum(file)
	if err == nil {
		err = s.place.put(ctx, name, file)
	}
	if err != nil {
		return fmt.Errorf("keep the backup in %s: %w", s.place.path(""), err)
	}
	s.log.Info("a scheduled backup was made", "path", s.place.path(name), "took", s.maker.now().Sub(now))
	is.newest, is.at, is.sum = name, now, hash
	return nil
}

func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it is only read
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// expire deletes the oldest backups. It is not called while trials fail, so that good ones are kept.
func (s *Schedule) expire(ctx context.Context) error {
	names, err := s.place.list(ctx)
	for len(names) > s.set.Keep && err == nil {
		if err = s.place.remove(ctx, names[0]); err == nil {
			names = names[1:]
		}
	}
	if err != nil { // a bucket may have rules of its own
		s.log.Warn("old backups could not be deleted", "to", s.place.path(""), "err", err)
		return nil
	}
	return s.maker.Notes.prune(s.place, names)
}

// try fetches a backup again, compares it with what was stored, and restores it if it can be decrypted.
func (s *Schedule) try(ctx context.Context, is state) (err error) {
	dir := filepath.Join(s.dir, trialFolder)
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return err
	}
	file, err := s.place.get(ctx, is.newest, dir)
	if err != nil {
		return err
	}
	if got, err := sum(file); err != nil || got != is.sum {
		return errors.Join(memory.Errorf(memory.Invalid, "it is not what was stored: its checksum is another"), err)
	}
	how := "compared with what was stored"
	if !strings.HasSuffix(is.newest, ".age") || there(filepath.Join(s.dir, identityFile)) {
		how, err = "restored", s.restore(ctx, file)
	}
	if err == nil {
		s.log.Info("the newest backup passed its trial", "path", s.place.path(is.newest), "how", how)
	}
	return err
}

// restore restores a backup beside the memory, as the settings say, and checks the whole database.
func (s *Schedule) restore(ctx context.Context, file string) (err error) {
	dir, c := filepath.Join(s.dir, trialFolder, "restored"), s.maker.config
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c.Data = filepath.Join(dir, "data")
	database := filepath.Join(c.Data, config.DatabaseFile)
	if c.Vault != "" {
		c.Vault = filepath.Join(dir, "vault")
	}
	if c.Store == "memory" {
		database = filepath.Join(c.Vault, vaultstore.OwnFolder, config.DatabaseFile)
	}
	if _, err := Restore(ctx, c, file, RestoreOptions{Identity: filepath.Join(s.dir, identityFile), Replace: true}); err != nil || !there(database) {
		return err
	}
	store, err := sqlstore.OpenSQLite(ctx, database, sqlstore.Options{})
	if err != nil {
		return err
	}
	faults, err := store.Check(ctx)
	if len(faults) > 0 {
		err = memory.Errorf(memory.Invalid, "its database is damaged: %s", faults[0])
	}
	return errors.Join(err, store.Close())
}

// Report says how the newest backup is, and what is wrong.
func (s *Schedule) Report() (looked string, found []client.Finding) {
	if s == nil {
		return "", nil
	}
	is, at := *s.is.Load(), s.place.path("")
	if is.failed != "" {
		found = append(found, client.Finding{Part: "backup", Path: at, What: "the last backup failed: " + is.failed, Do: "see to backup.to and to room on the disks; it is tried again within an hour"})
	} else if !is.at.IsZero() && s.maker.now().Sub(is.at) > 2*s.set.Every {
		found = append(found, client.Finding{Part: "backup", Path: at, What: "the newest backup is older than twice backup.every: " + is.newest, Do: "see the log"})
	}
	if is.unproven != "" {
		found = append(found, client.Finding{Part: "backup", Path: at, What: "the newest backup failed its trial: " + is.unproven, Do: "make another with loci backup FILE, and see whether backup.to keeps files as they are; until a trial passes, old backups are kept"})
	}
	return fmt.Sprintf("backups in %s: the newest is %q, the last that passed a trial %q", at, is.newest, is.proven), found
}

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

const (
	poll       = time.Minute    // short, because the clock may jump and the machine may sleep
	retryMost  = time.Hour      // maximum wait after failures; the wait begins with a minute and doubles
	trialEvery = 24 * time.Hour // minimum interval between trials, because a trial reads the whole backup
)

// Schedule creates backups at intervals and restores the newest backup on trial. A nil Schedule does
// nothing.
type Schedule struct {
	maker *Maker
	set   config.BackupConfig
	place place
	log   *slog.Logger
	is    atomic.Pointer[state]
}

// scheduleState is the state of this process; the names of backups have the times of earlier processes.
type state struct {
	newest string    // name of the newest backup
	at     time.Time // start of the newest backup
	proven string    // name of the last backup that passed its trial
	failed string    // error of the last attempt or trial; empty after a success
}

// NewSchedule returns the schedule in the settings, or nil without a schedule.
func NewSchedule(c config.Config, maker *Maker, log *slog.Logger) (*Schedule, error) {
	if c.Backup.Every == 0 {
		return nil, nil
	}
	to, err := openPlace(c.Backup.To)
	if err != nil {
		return nil, fmt.Errorf("backup.to: %w", err)
	}
	if _, _, err := archive.NewEncrypted(io.Discard, c.Backup.Recipient); err != nil {
		return nil, fmt.Errorf("backup.recipient: %w", err)
	}
	vault, err := c.VaultDir()
	if d, ok := to.(folder); ok && vault != "" && (string(d) == vault || inside(vault, string(d)) != "") {
		return nil, memory.Errorf(memory.Invalid, "backup.to: %s is inside the vault, so each backup would contain the earlier backups; choose another folder", d)
	}
	s := &Schedule{maker: maker, set: c.Backup, place: to, log: log}
	s.is.Store(&state{})
	return s, err
}

// Run creates backups until ctx ends. After a failure it logs the error and tries again.
func (s *Schedule) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for pause := poll; ; {
		err := s.Once(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("the scheduled backup failed", "to", s.place.path(""), "next", pause, "err", err)
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

// RunOnce creates a backup if a backup is due.
func (s *Schedule) Once(ctx context.Context) error {
	now, is := s.maker.now(), *s.is.Load()
	if now.Sub(is.at).Abs() < s.set.Every { // absolute value, because the clock may go back
		return nil
	}
	err := s.make(ctx, now, &is)
	if is.failed = ""; err != nil {
		is.failed = err.Error()
	}
	if ctx.Err() == nil && !errors.Is(err, memory.Conflict) { // not while the process stops or another backup is in progress
		s.is.Store(&is)
	}
	return err
}

// startTime returns the start of a scheduled backup from its name.
func begun(name string) time.Time {
	at, _ := time.Parse(nameForm, strings.TrimSuffix(name, ".age"))
	return at
}

// createDue creates a backup, unless an earlier process created a recent backup. Then it restores the backup
// on trial if a trial is due, and deletes the oldest backups; while trials fail, it deletes no backup.
func (s *Schedule) make(ctx context.Context, now time.Time, is *state) (err error) {
	names, err := s.place.list(ctx)
	if err != nil {
		return err
	}
	newest, named := slices.Max(append(names, "")), now.UTC()
	if is.at.IsZero() && now.Sub(begun(newest)).Abs() < s.set.Every {
		is.newest, is.at = newest, begun(newest)
		return nil
	}
	if next := begun(newest).Add(time.Second); named.Before(next) { // even if the clock went back, the newest backup must have the last name
		named = next
	}
	name := named.Format(nameForm)
	if s.set.Recipient != "" {
		name += ".age"
	}
	m, err := s.maker.make(ctx, s.place.path(name), s.set.Recipient)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := s.place.put(ctx, name, m); err != nil {
		return fmt.Errorf("store the backup in %s: %w", s.place.path(""), err)
	}
	s.log.Info("created a scheduled backup", "path", s.place.path(name), "took", s.maker.now().Sub(now))
	is.newest, is.at = name, now
	if now.Sub(begun(is.proven)).Abs() >= trialEvery {
		if err := s.try(ctx, name, m); err != nil {
			return fmt.Errorf("%s failed its trial: %w", name, err)
		}
		is.proven = name
	}
	names = append(names, name)
	for ; len(names) > s.set.Keep; names = names[1:] {
		if err := s.place.remove(ctx, names[0]); err != nil {
			return fmt.Errorf("delete old backups: %w", err)
		}
	}
	return s.maker.Notes.prune(s.place, names)
}

// testRestore fetches a backup and restores it on trial, with the server's settings, into the folder of the
// temporary backup.
func (s *Schedule) try(ctx context.Context, name string, m *made) error {
	dir, c := filepath.Dir(m.Name()), s.maker.config
	file, err := s.place.get(ctx, name, dir)
	if err != nil {
		return err
	}
	if c.Data = filepath.Join(dir, "trial"); c.Vault != "" {
		c.Vault = filepath.Join(dir, "trial-vault")
	}
	if _, err = Restore(ctx, c, file, RestoreOptions{Identity: m.identity}); err == nil {
		s.log.Info("the newest backup was restored on trial", "path", s.place.path(name))
	}
	return err
}

// Report describes the newest backup and problems with it.
func (s *Schedule) Report() (looked string, found []client.Finding) {
	if s == nil {
		return "", nil
	}
	is, at := *s.is.Load(), s.place.path("")
	what := "the last backup failed: " + is.failed
	if is.failed == "" {
		what = "the newest backup is older than twice backup.every: " + is.newest
	}
	if is.failed != "" || !is.at.IsZero() && s.maker.now().Sub(is.at) > 2*s.set.Every {
		found = append(found, client.Finding{Part: "backup", Path: at, What: what, Do: "check that backup.to exists (for example, that the disk is mounted) and that backup.to and the data folder have room; Loci tries a backup again within an hour, and a trial with the next backup"})
	}
	return fmt.Sprintf("backups in %s: the newest is %q, the last backup restored on trial is %q", at, is.newest, is.proven), found
}

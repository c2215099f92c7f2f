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
	poll       = time.Minute    // the clock may jump, and the machine may sleep
	retryMost  = time.Hour      // the wait after a failure starts with a minute and doubles up to this
	trialEvery = 24 * time.Hour // at least this long, since a trial reads everything
)

// Schedule makes backups at intervals and restores the newest one on trial. A nil Schedule does
// nothing.
type Schedule struct {
	maker *Maker
	set   config.BackupConfig
	place place
	log   *slog.Logger
	is    atomic.Pointer[state]
}

// state is kept by this process; names of the backups show what was done before.
type state struct {
	newest string
	at     time.Time // when the newest backup was started
	proven string    // the last backup that passed its trial
	failed string    // why the last attempt or trial failed
}

// NewSchedule returns the schedule in the settings, or nil if there is none.
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
		return nil, memory.Errorf(memory.Invalid, "backup.to: %s is inside the vault, so each backup would contain the earlier ones; name another folder", d)
	}
	s := &Schedule{maker: maker, set: c.Backup, place: to, log: log}
	s.is.Store(&state{})
	return s, err
}

// Run makes backups until ctx ends. Failures are logged, and the backup is retried.
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

// Once makes a backup if one is due.
func (s *Schedule) Once(ctx context.Context) error {
	now, is := s.maker.now(), *s.is.Load()
	if now.Sub(is.at).Abs() < s.set.Every { // absolute value: the clock may go back
		return nil
	}
	err := s.make(ctx, now, &is)
	if is.failed = ""; err != nil {
		is.failed = err.Error()
	}
	if ctx.Err() == nil && !errors.Is(err, memory.Conflict) { // otherwise the process stops, or another backup is in progress
		s.is.Store(&is)
	}
	return err
}

// begun returns when a scheduled backup was started, by its name.
func begun(name string) time.Time {
	at, _ := time.Parse(nameForm, strings.TrimSuffix(name, ".age"))
	return at
}

// make makes a backup, unless an earlier process made a recent one; restores it on trial if a trial
// is due; and deletes the oldest backups. While trials fail, none is deleted.
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
	if next := begun(newest).Add(time.Second); named.Before(next) { // the newest backup must have the last name, even if the clock went back
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
		return fmt.Errorf("store it in %s: %w", s.place.path(""), err)
	}
	s.log.Info("a scheduled backup was made", "path", s.place.path(name), "took", s.maker.now().Sub(now))
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

// try fetches a backup and restores it on trial, with the settings, in the folder where it was
// made.
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
		found = append(found, client.Finding{Part: "backup", Path: at, What: what, Do: "see whether backup.to is there (a disk may have to be mounted) and has room, as the data folder must; a backup is tried again within an hour, a trial with the next"})
	}
	return fmt.Sprintf("backups in %s: the newest is %q, the last that was restored on trial %q", at, is.newest, is.proven), found
}

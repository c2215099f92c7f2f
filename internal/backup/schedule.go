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
	pollInterval  = time.Minute    // interval of checks for a due backup; short, because the machine may sleep and its clock may jump
	maxRetryWait  = time.Hour      // maximum wait after a failure; the wait begins with a minute and doubles with each failure
	trialInterval = 24 * time.Hour // minimum interval between trials, because a trial reads the whole backup
)

// Schedule creates backups at intervals. As a test (the trial), it restores the newest backup into a temporary folder.
// A nil Schedule does nothing.
type Schedule struct {
	maker    *Maker
	settings config.BackupConfig
	dest     destination
	log      *slog.Logger
	state    atomic.Pointer[scheduleState]
}

// scheduleState describes the newest backup of this process, or the newest found at its start.
type scheduleState struct {
	newestName string    // name of the newest backup; empty if unknown
	newestAt   time.Time // start of the newest backup; zero if unknown
	testedName string    // name of the last backup that passed its trial; empty before the first trial
	lastError  string    // error of the last backup or trial; empty after a success
}

// NewSchedule returns the schedule in the settings, or nil without a schedule.
func NewSchedule(c config.Config, maker *Maker, log *slog.Logger) (*Schedule, error) {
	if c.Backup.Every == 0 {
		return nil, nil
	}
	dest, err := openDestination(c.Backup.To)
	if err != nil {
		return nil, fmt.Errorf("backup.to: %w", err)
	}
	if _, _, err := archive.NewEncrypted(io.Discard, c.Backup.Recipient); err != nil {
		return nil, fmt.Errorf("backup.recipient: %w", err)
	}
	vault, err := c.VaultDir()
	if d, ok := dest.(localFolder); ok && vault != "" && (string(d) == vault || pathInside(vault, string(d)) != "") {
		return nil, memory.Errorf(memory.Invalid, "backup.to: %s is inside the vault, so each backup would contain the earlier backups; choose another folder", d)
	}
	s := &Schedule{maker: maker, settings: c.Backup, dest: dest, log: log}
	s.state.Store(&scheduleState{})
	return s, err
}

// Run creates backups until ctx ends. After a failure it logs the error and tries again.
func (s *Schedule) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for pause := pollInterval; ; {
		err := s.RunOnce(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("the scheduled backup failed", "to", s.dest.displayPath(""), "next", pause, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if pause = min(2*pause, maxRetryWait); err == nil {
			pause = pollInterval
		}
	}
}

// RunOnce creates a backup if the newest backup is older than the interval.
func (s *Schedule) RunOnce(ctx context.Context) error {
	now, next := s.maker.now(), *s.state.Load()
	if now.Sub(next.newestAt).Abs() < s.settings.Every { // absolute value, because the clock may go back
		return nil
	}
	err := s.createIfDue(ctx, now, &next)
	if next.lastError = ""; err != nil {
		next.lastError = err.Error()
	}
	if ctx.Err() == nil && !errors.Is(err, memory.Conflict) { // a stopping process or another backup in progress is no failure of this backup
		s.state.Store(&next)
	}
	return err
}

// startTime returns the start of a scheduled backup from its name.
func startTime(name string) time.Time {
	at, _ := time.Parse(nameLayout, strings.TrimSuffix(name, ".age"))
	return at
}

// createIfDue creates a backup, unless an earlier process created a recent backup. It then tests a restore if
// a trial is due, and deletes the oldest backups; if the trial fails, it deletes no backup.
func (s *Schedule) createIfDue(ctx context.Context, now time.Time, newState *scheduleState) (err error) {
	names, err := s.dest.list(ctx)
	if err != nil {
		return err
	}
	newest, nameTime := slices.Max(append(names, "")), now.UTC()
	if newState.newestAt.IsZero() && now.Sub(startTime(newest)).Abs() < s.settings.Every {
		newState.newestName, newState.newestAt = newest, startTime(newest)
		return nil
	}
	if next := startTime(newest).Add(time.Second); nameTime.Before(next) { // even if the clock went back, the newest backup must have the last name
		nameTime = next
	}
	name := nameTime.Format(nameLayout)
	if s.settings.Recipient != "" {
		name += ".age"
	}
	m, err := s.maker.create(ctx, s.dest.displayPath(name), s.settings.Recipient)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := s.dest.upload(ctx, name, m); err != nil {
		return fmt.Errorf("store the backup in %s: %w", s.dest.displayPath(""), err)
	}
	s.log.Info("created a scheduled backup", "path", s.dest.displayPath(name), "took", s.maker.now().Sub(now))
	newState.newestName, newState.newestAt = name, now
	if now.Sub(startTime(newState.testedName)).Abs() >= trialInterval {
		if err := s.testRestore(ctx, name, m); err != nil {
			return fmt.Errorf("%s failed its trial: %w", name, err)
		}
		newState.testedName = name
	}
	names = append(names, name)
	for ; len(names) > s.settings.Keep; names = names[1:] {
		if err := s.dest.remove(ctx, names[0]); err != nil {
			return fmt.Errorf("delete old backups: %w", err)
		}
	}
	return s.maker.List.prune(s.dest, names)
}

// testRestore fetches the backup with this name from the destination. It restores the backup, with the server's
// settings, into the folder of the temporary backup m.
func (s *Schedule) testRestore(ctx context.Context, name string, m *tempBackup) error {
	dir, c := filepath.Dir(m.Name()), s.maker.config
	file, err := s.dest.fetch(ctx, name, dir)
	if err != nil {
		return err
	}
	if c.Data = filepath.Join(dir, "trial"); c.Vault != "" {
		c.Vault = filepath.Join(dir, "trial-vault")
	}
	if _, err = Restore(ctx, c, file, RestoreOptions{IdentityOrPath: m.identity}); err == nil {
		s.log.Info("the newest backup was restored as a test", "path", s.dest.displayPath(name))
	}
	return err
}

// Report describes the newest backup, and its problems as findings.
func (s *Schedule) Report() (summary string, findings []client.Finding) {
	if s == nil {
		return "", nil
	}
	current, at := *s.state.Load(), s.dest.displayPath("")
	problem := "the last backup failed: " + current.lastError
	if current.lastError == "" {
		problem = "the newest backup is older than twice backup.every: " + current.newestName
	}
	if current.lastError != "" || !current.newestAt.IsZero() && s.maker.now().Sub(current.newestAt) > 2*s.settings.Every {
		findings = append(findings, client.Finding{Part: "backup", Path: at, Problem: problem, Fix: "check that backup.to exists (for example, that the disk is mounted) and that backup.to and the data folder have room; Loci tries again to create a backup within an hour, and tests a restore of the next backup"})
	}
	return fmt.Sprintf("backups in %s: the newest is %q, the last backup restored as a test is %q", at, current.newestName, current.testedName), findings
}

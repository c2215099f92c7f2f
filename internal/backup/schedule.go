package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// What the data folder has of a schedule.
const (
	IdentityFile = "backup-identity.txt"  // age identities, for trials, if the operator put them there
	scheduleFile = "backup-schedule.json" // a [state]
	trialFolder  = "backup-trial"         // while a backup is restored on trial
)

const (
	poll       = time.Minute // a clock may jump, and a machine sleep
	retryLeast = time.Minute // doubled at each failure
	retryMost  = time.Hour
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

// state is what lasts of a schedule.
type state struct {
	Place    string    `json:"place"`
	Name     string    `json:"name"` // of the newest backup
	At       time.Time `json:"at"`   // when it was begun
	SHA256   string    `json:"sha256"`
	Failed   string    `json:"failed,omitempty"` // why the last attempt came to nothing
	Proven   string    `json:"proven,omitempty"` // the newest backup that passed a trial
	ProvenAt time.Time `json:"proven_at"`        // when that backup was begun
	Unproven string    `json:"unproven,omitempty"`
}

// NewSchedule returns the schedule of the settings; nil: there is none.
func NewSchedule(c config.Config, maker *Maker, log *slog.Logger) (_ *Schedule, err error) {
	if c.Backup.Every == 0 {
		return nil, nil
	}
	s := &Schedule{maker: maker, set: c.Backup, log: log}
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
	if s.dir, err = c.DataDir(); err != nil {
		return nil, err
	}
	is := state{}
	text, err := os.ReadFile(filepath.Join(s.dir, scheduleFile))
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the state of the backup schedule cannot be read: a backup is made at once", "err", err)
	}
	if at := s.place.path(""); err != nil || is.Place != at {
		is = state{Place: at}
	}
	s.is.Store(&is)
	return s, nil
}

func (s *Schedule) keep(is state) error {
	s.is.Store(&is)
	text, err := json.MarshalIndent(is, "", "  ")
	return errors.Join(err, os.MkdirAll(s.dir, 0o700), disk.Replace(filepath.Join(s.dir, scheduleFile), text))
}

// Run makes backups until ctx ends. What failed is logged and tried again.
func (s *Schedule) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	for retry := retryLeast; ; {
		pause := poll
		if err := s.Once(ctx); err == nil {
			retry = retryLeast
		} else if ctx.Err() == nil {
			s.log.Error("the scheduled backup failed; it is tried again", "to", s.place.path(""), "after", retry, "err", err)
			pause, retry = retry, min(2*retry, retryMost)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Once makes a backup and restores the newest on trial, as far as they are due.
func (s *Schedule) Once(ctx context.Context) error {
	now, is := s.maker.now(), *s.is.Load()
	if now.Before(is.At) || now.Sub(is.At) >= s.set.Every {
		err := s.make(ctx, now)
		is = *s.is.Load()
		if err != nil && ctx.Err() == nil && !errors.Is(err, memory.Conflict) { // else somebody makes another
			is.Failed = err.Error()
			return errors.Join(err, s.keep(is))
		} else if err != nil {
			return err
		}
	}
	if !s.trialDue(is.At) {
		return nil
	}
	err := s.try(ctx, is)
	if ctx.Err() != nil {
		return err
	}
	if is.Unproven = ""; err != nil {
		is.Unproven = err.Error()
		return errors.Join(fmt.Errorf("restore %s on trial: %w", is.Name, err), s.keep(is))
	}
	is.Proven, is.ProvenAt = is.Name, is.At
	return s.keep(is)
}

// trialDue reports whether a backup that was begun at a time is to be restored on trial.
func (s *Schedule) trialDue(at time.Time) bool {
	is := s.is.Load()
	return is.Proven == "" || is.Unproven != "" || at.Before(is.ProvenAt) || at.Sub(is.ProvenAt) >= max(trialEvery, s.set.Every)
}

// make makes a backup, keeps it, and deletes what is over.
func (s *Schedule) make(ctx context.Context, now time.Time) (err error) {
	names, err := s.place.list(ctx)
	if err != nil {
		return err
	}
	is, named := *s.is.Load(), now.UTC()
	if n := len(names); n > 0 { // the newest has the last name, also where the clock went back
		if last, err := time.Parse(nameForm, names[n-1][:len(nameForm)]); err == nil && named.Before(last.Add(time.Second)) {
			named = last.Add(time.Second)
		}
	}
	if is.Name, is.At = named.Format(nameForm), now; s.set.Recipient != "" {
		is.Name += ".age"
	}
	m, err := s.maker.make(ctx, s.place.path(is.Name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	file := m.Name()
	if s.set.Recipient != "" {
		if !there(filepath.Join(s.dir, IdentityFile)) && s.trialDue(now) { // nothing here can open it once it is encrypted
			if err := s.restore(ctx, file); err != nil {
				return err
			}
		}
		if file, err = encrypted(m.File, s.set.Recipient); err != nil {
			return fmt.Errorf("encrypt the backup: %w", err)
		}
	}
	if is.SHA256, err = sum(file); err != nil {
		return err
	}
	if err := s.place.put(ctx, is.Name, file); err != nil {
		return fmt.Errorf("keep the backup in %s: %w", is.Place, err)
	}
	s.log.Info("a scheduled backup was made", "path", s.place.path(is.Name), "took", s.maker.now().Sub(now))
	is.Failed = ""
	return errors.Join(s.keep(is), s.expire(ctx, append(names, is.Name)))
}

func encrypted(plain *os.File, recipient string) (file string, err error) {
	f, err := os.OpenFile(plain.Name()+".age", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(archive.Encrypt(f, plain, recipient), f.Close())
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

// expire deletes the oldest backups, but for the newest proven one. A bucket may refuse that by rules of its own.
func (s *Schedule) expire(ctx context.Context, names []string) error {
	over := max(0, len(names)-s.set.Keep)
	left := append([]string(nil), names[over:]...)
	for _, name := range names[:over] {
		if name == s.is.Load().Proven {
			left = append(left, name)
		} else if err := s.place.remove(ctx, name); err != nil {
			left = append(left, name)
			s.log.Warn("an old backup could not be deleted", "path", s.place.path(name), "err", err)
		}
	}
	return s.maker.Notes.prune(s.place, left)
}

// try fetches a backup again, compares it with what was stored, and restores it beside the memory if it can be decrypted.
func (s *Schedule) try(ctx context.Context, is state) (err error) {
	dir := filepath.Join(s.dir, trialFolder)
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return err
	}
	file, err := s.place.get(ctx, is.Name, dir)
	if err != nil {
		return err
	}
	if got, err := sum(file); err != nil || got != is.SHA256 {
		return errors.Join(memory.Errorf(memory.Invalid, "it is not what was stored: its checksum is another"), err)
	}
	how := "compared with what was stored"
	if !strings.HasSuffix(is.Name, ".age") || there(filepath.Join(s.dir, IdentityFile)) {
		how, err = "restored", s.restore(ctx, file)
	}
	if err == nil {
		s.log.Info("the newest backup passed its trial", "path", s.place.path(is.Name), "how", how)
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
	if _, err := Restore(ctx, c, file, RestoreOptions{Identity: filepath.Join(s.dir, IdentityFile), Replace: true}); err != nil || !there(database) {
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
	is := *s.is.Load()
	newest := "there is none"
	if is.Name != "" {
		newest = "the newest is " + is.Name
	}
	add := func(what, do string) {
		found = append(found, client.Finding{Part: "backup", Path: is.Place, What: what, Do: do})
	}
	if is.Failed != "" {
		add("the last backup failed: "+is.Failed+"; "+newest, "see to backup.to and to room on the disks; it is tried again within an hour")
	} else if s.maker.now().Sub(is.At) > 2*s.set.Every && is.Name != "" {
		add("no backup was made for twice backup.every; "+newest, "see the log")
	}
	if is.Unproven != "" {
		add("the newest backup failed its trial: "+is.Unproven, "make another with loci backup FILE, and see whether backup.to keeps files as they are; the trial is repeated within an hour")
	}
	return fmt.Sprintf("backups in %s: %s; the last that passed a trial: %q", is.Place, newest, is.Proven), found
}

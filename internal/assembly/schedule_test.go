package assembly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// scheduled is a memory with a schedule of backups and a clock that the test sets.
type scheduled struct {
	*Loci
	now time.Time
	log strings.Builder
}

func openScheduled(t *testing.T, c config.Config) *scheduled {
	t.Helper()
	c.Log.Level = "info"
	s := &scheduled{now: time.Now().Truncate(time.Second)}
	s.Loci = try(Open(t.Context(), c, Options{Log: &s.log, Now: func() time.Time { return s.now }})).orFail(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// once makes what is due after a time, and returns the findings of the health.
func (s *scheduled) once(t *testing.T, after time.Duration) (findings string, err error) {
	t.Helper()
	s.now = s.now.Add(after)
	err = s.doctor.Schedule.RunOnce(t.Context())
	return strings.Join(s.health(t.Context()).Warnings, "\n"), err
}

// fine makes what is due after a time and checks that nothing is wrong.
func (s *scheduled) fineAfter(t *testing.T, after time.Duration) {
	t.Helper()
	if findings, err := s.once(t, after); err != nil || findings != "" {
		t.Fatalf("after %v: %q, %v", after, findings, err)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, e := range try(os.ReadDir(dir)).orFail(t) {
		names = append(names, e.Name())
	}
	return names
}

func identity(t *testing.T, file string) (recipient string) {
	t.Helper()
	key := try(age.GenerateX25519Identity()).orFail(t)
	noError(t)(os.WriteFile(file, []byte(key.String()+"\n"), 0o600))
	return key.Recipient().String()
}

func TestScheduledBackupsAreKeptAndRestore(t *testing.T) {
	dir, to, key := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "key.txt")
	noError(t)(os.WriteFile(filepath.Join(to, "mine.zip"), nil, 0o600))
	s := openScheduled(t, settingsAt(t, dir, "backup.every", "24h", "backup.to", to, "backup.keep", "2", "backup.recipient", identity(t, key)))
	s.remember(t, "User owns a cat")
	s.fineAfter(t, 0)
	first := namesIn(t, to)[0]
	s.fineAfter(t, time.Hour)
	if got := namesIn(t, to); len(got) != 2 {
		t.Errorf("before it is due: %q", got)
	}
	for range 3 {
		s.fineAfter(t, 24*time.Hour)
	}
	got := namesIn(t, to)
	if len(got) != 3 || slices.Contains(got, first) || !slices.Contains(got, "mine.zip") {
		t.Errorf("kept %q; want the newest two, and what is not a backup", got)
	}
	if n := strings.Count(s.log.String(), "restored as a test"); n != 4 {
		t.Errorf("%d of 4 were restored as a test: %s", n, s.log.String())
	}
	if held := strings.Join(s.backups.UnerasableCopies(s.now.Add(-1000*time.Hour), s.now), "\n"); strings.Contains(held, first) || !strings.Contains(held, got[1]) {
		t.Errorf("receipts name %s", held)
	}
	if checked, _ := doctorSays(t, s.Loci); !strings.Contains(checked, got[1]) {
		t.Errorf("the doctor says %s", checked)
	}
	if got := namesIn(t, filepath.Join(dir, "data")); slices.Contains(got, backup.UnfinishedFolder) {
		t.Errorf("left: %q", got)
	}
	file := filepath.Join(to, got[1])
	at := t.TempDir()
	_, err := backup.Restore(t.Context(), settingsAt(t, at), file, backup.RestoreOptions{})
	wrongIs(t, err, "--identity")
	other := filepath.Join(t.TempDir(), "other.txt")
	identity(t, other)
	_, err = backup.Restore(t.Context(), settingsAt(t, at), file, backup.RestoreOptions{IdentityOrPath: other})
	wrongIs(t, err, "encrypted for another identity")
	_, err = backup.Restore(t.Context(), settingsAt(t, at), file, backup.RestoreOptions{IdentityOrPath: file})
	wrongIs(t, err, "not a file of age identities")
	noError(t)(backup.Restore(t.Context(), settingsAt(t, at), file, backup.RestoreOptions{IdentityOrPath: key}))
	l := openAt(t, settingsAt(t, at))
	defer closed(t, l)
	if hits, err := l.Recall(t.Context(), "default", "cat"); err != nil || len(hits) != 1 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	whole := try(os.ReadFile(file)).orFail(t)
	for _, n := range []int{0, 10, 100, 300, len(whole) / 2, len(whole) - 1} {
		torn := filepath.Join(t.TempDir(), "torn.zip.age")
		noError(t)(os.WriteFile(torn, whole[:n], 0o600))
		_, err := backup.Check(t.Context(), torn, key, nil)
		wrongIs(t, err, "complete")
	}
	whole[len(whole)/3] ^= 1
	altered := filepath.Join(t.TempDir(), "altered.zip.age")
	noError(t)(os.WriteFile(altered, whole, 0o600))
	_, err = backup.Check(t.Context(), altered, key, nil)
	wrongIs(t, err, "was altered")
}

func wrongIs(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v; want that it says %q", err, says)
	}
}

// TestScheduledBackupsOnS3: also while the server is away, and with a wrong secret.
func TestScheduledBackupsOnS3(t *testing.T) {
	backend := s3mem.New()
	noError(t)(backend.CreateBucket("loci"))
	away := false
	fake := gofakes3.New(backend, gofakes3.WithIntegrityCheck(true)).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away && r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	address := "s3://K:s%2Fecret@" + host + "/loci/backups/of%20a"
	key := filepath.Join(t.TempDir(), "key.txt")
	s := openScheduled(t, settingsAt(t, t.TempDir(), "backup.every", "1h", "backup.to", address+"?tls=false", "backup.keep", "2", "backup.recipient", identity(t, key)))
	s.remember(t, "User owns a cat")
	for range 4 {
		s.fineAfter(t, time.Hour)
	}
	if n := strings.Count(s.log.String(), "restored as a test"); n != 1 {
		t.Errorf("%d trials in four hours; want one a day", n)
	}
	away = true
	if findings, err := s.once(t, time.Hour); err == nil || !strings.Contains(findings, "last backup failed") || strings.Contains(findings, "ecret") {
		t.Errorf("with S3 away: %q, %v", findings, err)
	}
	away = false
	s.fineAfter(t, time.Minute)
	all := try(backend.ListBucket("loci", nil, gofakes3.ListBucketPage{})).orFail(t)
	if len(all.Contents) != 2 {
		t.Errorf("kept %d", len(all.Contents))
	}
	if strings.Contains(s.log.String(), "ecret") {
		t.Error("the log has the secret")
	}
	kept := try(backend.GetObject("loci", all.Contents[1].Key, nil)).orFail(t)
	copied := filepath.Join(t.TempDir(), "copied.zip.age")
	noError(t)(os.WriteFile(copied, try(io.ReadAll(kept.Contents)).orFail(t), 0o600))
	to := t.TempDir()
	done, err := backup.Restore(t.Context(), settingsAt(t, to), copied, backup.RestoreOptions{IdentityOrPath: key})
	if err != nil || done.Counts["facts"] != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if text := string(try(os.ReadFile(filepath.Join(s.config.Data, backup.BackupListFile))).orFail(t)); strings.Contains(text, "ecret") || !strings.Contains(text, "s3://"+host) {
		t.Errorf("noted %s", text)
	}
	server.Close()
	if findings, err := s.once(t, time.Hour); err == nil || !strings.Contains(findings, "last backup failed") {
		t.Errorf("with no server: %q, %v", findings, err)
	}
}

func TestFailedScheduledBackupIsTriedAgain(t *testing.T) {
	to := filepath.Join(t.TempDir(), "mounted")
	s := openScheduled(t, settingsAt(t, t.TempDir(), "backup.every", "24h", "backup.to", to))
	if findings, err := s.once(t, 0); err == nil || !strings.Contains(findings, "last backup failed") {
		t.Errorf("without the folder: %q, %v", findings, err)
	}
	noError(t)(os.Mkdir(to, 0o700))
	if runtime.GOOS == "linux" {
		noError(t)(os.Symlink("/dev/full", filepath.Join(to, "loci-backup.half")))
		if findings, err := s.once(t, 0); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(findings, "no space left") {
			t.Errorf("a full disk: %q, %v", findings, err)
		}
		if got := namesIn(t, to); len(got) > 0 {
			t.Errorf("a full disk left %q", got)
		}
	}
	noError(t)(os.WriteFile(filepath.Join(to, "loci-backup.half"), []byte("of a crash"), 0o600))
	s.fineAfter(t, 0)
	if got := namesIn(t, to); len(got) != 1 || !strings.HasSuffix(got[0], ".zip") {
		t.Errorf("got %q", got)
	}
	if findings, _ := s.once(t, 23*time.Hour); findings != "" {
		t.Error(findings)
	}
	s.now = s.now.Add(26 * time.Hour)
	if warnings := s.health(t.Context()).Warnings; len(warnings) != 1 || !strings.Contains(warnings[0], "twice backup.every") {
		t.Errorf("too old: %q", warnings)
	}
}

// TestBackupsWhileTheClockJumpsBack: the newest stays the one with the last name.
func TestBackupsWhileTheClockJumpsBack(t *testing.T) {
	to := t.TempDir()
	s := openScheduled(t, settingsAt(t, t.TempDir(), "backup.every", "1h", "backup.to", to, "backup.keep", "1"))
	s.fineAfter(t, 0)
	before := namesIn(t, to)
	s.fineAfter(t, -time.Hour)
	after := namesIn(t, to)
	if last := after[len(after)-1]; last <= before[0] || len(after) > 2 {
		t.Errorf("before %q, after %q", before, after)
	}
	s.fineAfter(t, time.Minute)
	if got := namesIn(t, to); len(got) != len(after) {
		t.Errorf("a minute later: %q", got)
	}
}

func TestBackupThatIsNotWhatWasStoredIsFound(t *testing.T) {
	backend := s3mem.New()
	noError(t)(backend.CreateBucket("loci"))
	fake, rot := gofakes3.New(backend).Server(), false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rot && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".zip") {
			w = rotting{w}
		}
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	s := openScheduled(t, settingsAt(t, t.TempDir(), "backup.every", "24h", "backup.keep", "1", "backup.to", "s3://K:S@"+strings.TrimPrefix(server.URL, "http://")+"/loci?tls=false"))
	kept := func() int {
		return len(try(backend.ListBucket("loci", nil, gofakes3.ListBucketPage{})).orFail(t).Contents)
	}
	s.fineAfter(t, 0)
	rot = true
	for range 2 {
		if findings, err := s.once(t, 24*time.Hour); err == nil || !strings.Contains(findings, "failed its trial") || !strings.Contains(findings, "damaged or was altered") {
			t.Errorf("%q, %v", findings, err)
		}
	}
	if kept() != 3 {
		t.Errorf("kept %d; want all while trials fail", kept())
	}
	rot = false
	s.fineAfter(t, 24*time.Hour)
	if kept() != 1 {
		t.Errorf("kept %d", kept())
	}
}

// rotting alters the first byte of what it writes.
type rotting struct{ http.ResponseWriter }

func (r rotting) Write(p []byte) (int, error) {
	p = slices.Clone(p)
	p[0] ^= 1
	return r.ResponseWriter.Write(p)
}

func TestDamagedDatabaseIsNoScheduledBackup(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	c := settingsAt(t, dir, "backup.every", "24h", "backup.to", to)
	s := openScheduled(t, c)
	for i := range 40 {
		s.remember(t, fmt.Sprintf("User owns gadget %d", i))
	}
	closed(t, s.Loci)
	damageIndex(t, filepath.Join(dir, "data", databaseFile))
	s = openScheduled(t, c)
	if findings, err := s.once(t, 0); err == nil || !strings.Contains(findings, "the database is damaged") || len(namesIn(t, to)) > 0 {
		t.Errorf("%q, %v", findings, err)
	}
}

func TestRestartMakesNoBackupBeforeItIsDue(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	c := settingsAt(t, dir, "backup.every", "24h", "backup.to", to)
	s := openScheduled(t, c)
	s.fineAfter(t, 0)
	closed(t, s.Loci)
	again := openScheduled(t, c)
	again.now = s.now
	again.fineAfter(t, 23*time.Hour)
	if got := namesIn(t, to); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	again.fineAfter(t, time.Hour+time.Second)
	if got := namesIn(t, to); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestStoppedScheduledBackupLeavesNothing(t *testing.T) {
	to := t.TempDir()
	s := openScheduled(t, settingsAt(t, t.TempDir(), "backup.every", "24h", "backup.to", to))
	ctx, stop := context.WithCancel(t.Context())
	s.backups.StepHook = stop
	if err := s.doctor.Schedule.RunOnce(ctx); err == nil || len(namesIn(t, to)) > 0 || len(s.health(t.Context()).Warnings) > 0 {
		t.Errorf("%v, %q", err, namesIn(t, to))
	}
	if err := s.doctor.Schedule.Run(ctx); err != nil {
		t.Errorf("run: %v", err)
	}
	s.backups.StepHook = func() {}
	s.fineAfter(t, 0)
}

func TestScheduledBackupOfAVaultPassesItsTrial(t *testing.T) {
	for name, more := range map[string][]string{"vault": nil, "vault alone": {"store", "memory"}} {
		t.Run(name, func(t *testing.T) {
			dir, to := t.TempDir(), t.TempDir()
			s := openScheduled(t, settingsAt(t, dir, append(more, "vault", filepath.Join(dir, "vault"), "backup.every", "24h", "backup.to", to)...))
			s.remember(t, "User owns a cat")
			s.fineAfter(t, 0)
			if !strings.Contains(s.log.String(), "restored as a test") || len(namesIn(t, to)) != 1 {
				t.Errorf("%q, %s", namesIn(t, to), s.log.String())
			}
			at := t.TempDir()
			done := try(backup.Restore(t.Context(), settingsAt(t, at, append(more, "vault", filepath.Join(at, "vault"))...), filepath.Join(to, namesIn(t, to)[0]), backup.RestoreOptions{})).orFail(t)
			if names := namesIn(t, done.VaultFolder); len(names) == 0 {
				t.Error("the vault is empty")
			}
		})
	}
}

func TestManualAndScheduledBackupsExclude(t *testing.T) {
	to := t.TempDir()
	s := openScheduled(t, settingsAt(t, t.TempDir(), "backup.every", "1h", "backup.to", to))
	archive, _, err := s.backups.Create(t.Context(), "")
	noError(t)(err)
	if findings, err := s.once(t, 0); !errors.Is(err, memory.Conflict) || findings != "" || len(namesIn(t, to)) > 0 {
		t.Errorf("while another is made: %q, %v", findings, err)
	}
	noError(t)(archive.Close())
	s.fineAfter(t, 0)
}

func TestWrongBackupSettingsStopTheStart(t *testing.T) {
	quantum := try(age.GenerateHybridIdentity()).orFail(t).Recipient().String()
	for name, c := range map[string]struct {
		set  []string
		says string
	}{
		"identity":  {[]string{"backup.to", "/b", "backup.recipient", "AGE-SECRET-KEY-1XYZ"}, "invalid age recipient"},
		"quantum":   {[]string{"backup.to", "/b", "backup.recipient", quantum}, "post-quantum"},
		"S3":        {[]string{"backup.to", "s3://K:a/b@host/bucket"}, "%2F for /"},
		"no bucket": {[]string{"backup.to", "s3://K:abc@host"}, "invalid S3 address"},
		"vault":     {[]string{"vault", "/tmp/v", "backup.to", "/tmp/v/b"}, "is inside the vault"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i := range c.set {
				c.set[i] = strings.Replace(c.set[i], "/tmp", dir, 1)
			}
			l, err := Open(t.Context(), settingsAt(t, dir, append(c.set, "backup.every", "1h")...), Options{})
			if err == nil {
				closed(t, l)
			}
			wrongIs(t, err, c.says)
			if strings.Contains(err.Error(), "XYZ") || strings.Contains(err.Error(), "a/b@") || strings.Contains(err.Error(), "abc") {
				t.Errorf("it quotes a secret: %v", err)
			}
		})
	}
}

package assembly

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// settingsAt are settings of a memory in a folder, with more as key and value in turn.
func settingsAt(t *testing.T, dir string, settings ...string) config.Config {
	t.Helper()
	flags := map[string]string{"data": filepath.Join(dir, "data"), "log.level": "error"}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	return try(config.Load(config.Sources{Flags: flags})).orFail(t)
}

func openAt(t *testing.T, c config.Config) *Loci {
	t.Helper()
	return try(Open(context.Background(), c, Options{Log: t.Output()})).orFail(t)
}

// backUp keeps a backup in a file.
func (l *Loci) backUp(t *testing.T, path string) {
	t.Helper()
	archive, size, err := l.backups.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	f := try(os.Create(path)).orFail(t)
	n, err := io.Copy(f, archive)
	if err := errors.Join(err, f.Close(), archive.Close()); err != nil || n != size {
		t.Fatalf("%d of %d bytes, %v", n, size, err)
	}
}

// takeAway is everything that can be exported of a user, and the user's history.
func (l *Loci) takeAway(t *testing.T, user string) string {
	t.Helper()
	var out strings.Builder
	c := client.New("http://localhost", client.Options{User: user, HTTP: &http.Client{Transport: handled{l.Handler()}}})
	stream := try(c.Export(t.Context(), client.ExportQuery{})).orFail(t)
	text, err := io.ReadAll(stream)
	noError(t)(errors.Join(err, stream.Close()))
	_, rest, _ := strings.Cut(string(text), "\n") // the first line says when it was taken
	out.WriteString(rest)
	changes := try(c.Changes(t.Context(), client.ChangesQuery{Limit: 500})).orFail(t)
	noError(t)(json.NewEncoder(&out).Encode(changes))
	return out.String()
}

// handled answers requests in this process.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr, r.RequestURI = "127.0.0.1:1", r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// fine checks that nothing is wrong with a memory.
func (l *Loci) fine(t *testing.T) {
	t.Helper()
	found, err := l.Doctor(t.Context(), false)
	if err != nil || len(found.Findings) > 0 {
		t.Errorf("the doctor found %+v, %v", found.Findings, err)
	}
}

// TestRestoredMemoryIsTheSame backs memory up in each way in which it is kept, and restores
// it elsewhere: what is taken away is byte for byte the same.
func TestRestoredMemoryIsTheSame(t *testing.T) {
	for name, set := range map[string][]string{"sqlite": nil, "vault": {"vault", ""}, "vault alone": {"vault", "", "store", "memory"}, "vault in the data folder": {"vault", "in"}} {
		t.Run(name, func(t *testing.T) {
			at := func(dir string) config.Config {
				set := slices.Clone(set)
				if len(set) > 0 { // where the vault is
					set[1] = filepath.Join(dir, map[string]string{"": "vault", "in": "data/vault"}[set[1]])
				}
				return settingsAt(t, dir, set...)
			}
			from, to := t.TempDir(), t.TempDir()
			l := openAt(t, at(from))
			for i := range 20 {
				l.remember(t, fmt.Sprintf("User owns %d cats", i))
			}
			forgotten := l.remember(t, "User likes tea")
			noError(t)(l.Forget(t.Context(), "default", forgotten.ID))
			noError(t)(l.Record(t.Context(), "ben", "", Message{Role: memory.RoleUser, Content: "I live in Berlin."}))
			want := [2]string{l.takeAway(t, "default"), l.takeAway(t, "ben")}
			file := filepath.Join(t.TempDir(), "b.zip")
			l.backUp(t, file)
			l.remember(t, "User came later")
			closed(t, l)
			if exists(filepath.Join(from, "data", backup.UnfinishedFolder)) {
				t.Error("something unfinished was left")
			}
			done, err := backup.Restore(t.Context(), at(to), file, backup.RestoreOptions{})
			if err != nil || len(done.AsideFolders) > 0 || done.Counts["facts"] != 21 && name != "vault alone" {
				t.Fatalf("%+v, %v", done, err)
			}
			l = openAt(t, at(to))
			defer closed(t, l)
			l.fine(t)
			if got := [2]string{l.takeAway(t, "default"), l.takeAway(t, "ben")}; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if hits, err := l.Recall(t.Context(), "default", "How many cats?"); err != nil || len(hits) == 0 {
				t.Errorf("recalled %d, %v", len(hits), err)
			}
		})
	}
}

// TestBackupUnderWrites takes backups while several write, in a vault and without: each is
// restored, has all that was acknowledged before it began, and of each writer nothing without
// what came before.
func TestBackupUnderWrites(t *testing.T) {
	for _, vault := range []bool{false, true} {
		t.Run(fmt.Sprint("vault ", vault), func(t *testing.T) {
			at := func(dir string) config.Config {
				if vault {
					return settingsAt(t, dir, "vault", filepath.Join(dir, "vault"))
				}
				return settingsAt(t, dir)
			}
			l := openAt(t, at(t.TempDir()))
			const writers = 4
			user := func(i int) string { return fmt.Sprint("writer", i) }
			ctx, stop := context.WithCancel(t.Context())
			var mu sync.Mutex
			var told [writers]int
			var writing sync.WaitGroup
			for i := range writers {
				writing.Go(func() {
					for n := 1; ctx.Err() == nil; n++ {
						if _, err := l.Remember(context.Background(), user(i), fmt.Sprint("User counted to ", n)); err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						told[i] = n
						mu.Unlock()
					}
				})
			}
			for round := range 3 {
				mu.Lock()
				before := told
				mu.Unlock()
				file, to := filepath.Join(t.TempDir(), "b.zip"), t.TempDir()
				l.backUp(t, file)
				noError(t)(backup.Restore(t.Context(), at(to), file, backup.RestoreOptions{}))
				r := openAt(t, at(to))
				r.fine(t)
				for i := range writers {
					page := try(r.engine.Store.List(t.Context(), userNamed(user(i)), memory.Query{Kinds: []memory.Kind{memory.KindFact}, Limit: 1 << 20})).orFail(t)
					n := len(page.Memories)
					if n < before[i] {
						t.Errorf("round %d, %s: %d facts, want the %d that were acknowledged", round, user(i), n, before[i])
					}
					for _, m := range page.Memories {
						if c, _ := strconv.Atoi(strings.TrimPrefix(m.Fact.Content, "User counted to ")); c < 1 || c > n {
							t.Errorf("round %d, %s: %q among %d", round, user(i), m.Fact.Content, n)
						}
					}
				}
				closed(t, r)
			}
			stop()
			writing.Wait()
			closed(t, l)
		})
	}
}

func TestBackupHasNoSecretsAndNothingDerived(t *testing.T) {
	dir := t.TempDir()
	c := settingsAt(t, dir, "api_key", "hunter2", "upstream.url", "http://localhost:1/v1?key=hunter2", "recall.top_k", "5", "learn.idle", "3m", "review.categories", "health,family", "embedder", "auto")
	l := openAt(t, c)
	defer closed(t, l)
	l.remember(t, "User plays chess")
	file := filepath.Join(t.TempDir(), "b.zip")
	l.backUp(t, file)
	z := try(zip.OpenReader(file)).orFail(t)
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		r := try(f.Open()).orFail(t)
		text, err := io.ReadAll(r)
		if err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s holds a secret (%v)", f.Name, err)
		}
	}
	want := []string{"data/loci.db", "data/backups.json", "data/backup-settings.yaml", "manifest.json"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	to := t.TempDir()
	noError(t)(backup.Restore(t.Context(), settingsAt(t, to), file, backup.RestoreOptions{}))
	again, err := config.Load(config.Sources{File: filepath.Join(to, "data", "backup-settings.yaml")})
	if err != nil || again.Recall.TopK != 5 || again.Learn.Idle != 3*time.Minute || !slices.Equal(again.Review.Categories, c.Review.Categories) || again.APIKey != "" {
		t.Errorf("the settings are %+v, %v", again, err)
	}
	if again.Embedder != config.AutoEmbedder || !again.IsSet("embedder") { // the model that was chosen here may not be there
		t.Errorf("the embedder is %s, from %s", again.Embedder, again.SourceOf("embedder"))
	}
}

func TestBackupIsForOneAtATimeAndWhoeverRunsTheServer(t *testing.T) {
	l := openAt(t, settingsAt(t, t.TempDir(), "api_key", "k", "jwt_secret", "s"))
	defer closed(t, l)
	archive, _, err := l.backups.Create(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.backups.Create(t.Context(), ""); !errors.Is(err, memory.Conflict) {
		t.Errorf("a second: %v, want a conflict", err)
	}
	noError(t)(archive.Close())
	l.backUp(t, filepath.Join(t.TempDir(), "b.zip"))
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	if _, _, err := client.New(server.URL, client.Options{}).Backup(t.Context(), client.BackupQuery{}); !errors.Is(err, memory.Unauthorized) {
		t.Errorf("without the key: %v", err)
	}
	stream, size, err := client.New(server.URL, client.Options{Key: "k"}).Backup(t.Context(), client.BackupQuery{To: "/b.zip"})
	if err != nil || size <= 0 {
		t.Fatalf("%d bytes, %v", size, err)
	}
	if n, err := io.Copy(io.Discard, stream); err != nil || n != size {
		t.Errorf("got %d of %d bytes, %v", n, size, err)
	}
	noError(t)(stream.Close())
}

func TestWhatHasOtherMeansIsToldThem(t *testing.T) {
	server := settingsAt(t, t.TempDir())
	server.Store = "postgres://ana:hunter2@db/loci"
	if err := backup.CheckSupported(server); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "pg_dump") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v: want to be told of pg_dump, without the password", err)
	}
	server.Store = "mongodb://ana:hunter2@db/loci"
	if err := backup.CheckSupported(server); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "mongodump") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v: want to be told of mongodump, without the password", err)
	}
	l := openAt(t, settingsAt(t, t.TempDir(), "store", "memory"))
	defer closed(t, l)
	if _, _, err := l.backups.Create(t.Context(), ""); !errors.Is(err, memory.Invalid) {
		t.Errorf("of memory alone: %v, want it refused", err)
	}
}

// TestReceiptNamesTheBackupsThatHoldTheUser: those made while the user's memory was there,
// and no other.
func TestReceiptNamesTheBackupsThatHoldTheUser(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	c := settingsAt(t, dir)
	path := func(name string) string { return filepath.Join(kept, name+".zip") }
	l := openAt(t, c)
	remember := func(user string) {
		t.Helper()
		noError(t)(l.Remember(t.Context(), user, "User plays chess"))
	}
	remember("ben")
	l.backUp(t, path("before"))
	remember("ana")
	l.backUp(t, path("while"))
	closed(t, l) // it is known after a start, too
	l = openAt(t, c)
	erase := func() string {
		t.Helper()
		erased := try(client.New("http://localhost", client.Options{HTTP: &http.Client{Transport: handled{l.Handler()}}}).EraseUser(t.Context(), "ana")).orFail(t)
		return strings.Join(erased.TextRemainsIn, "\n")
	}
	held := erase()
	if strings.Contains(held, path("before")) || !strings.Contains(held, path("while")) {
		t.Errorf("got %s; want the backup made while ana was there", held)
	}
	l.backUp(t, path("after"))
	noError(t)(os.Remove(path("while")))
	if held = erase(); strings.Contains(held, path("after")) || !strings.Contains(held, path("while")+" (the server's machine does not have this file)") {
		t.Errorf("erased again: got %s; want it to name what held ana, and that it is not there", held)
	}
	closed(t, l)

	// What comes back by a restore is in the backup, and what is set aside may hold it.
	l = openAt(t, settingsAt(t, t.TempDir()))
	remember("ana")
	l.backUp(t, path("elsewhere"))
	closed(t, l)
	moved := path("moved")
	noError(t)(os.Rename(path("elsewhere"), moved))
	done, err := backup.Restore(t.Context(), c, moved, backup.RestoreOptions{Replace: true})
	if err != nil || len(done.AsideFolders) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	l = openAt(t, c)
	defer closed(t, l)
	held = erase()
	for _, want := range []string{moved, done.AsideFolders[0], path("elsewhere")} {
		if !strings.Contains(held, want) {
			t.Errorf("got %s; want %s named", held, want)
		}
	}
}

// childDir and childPoint tell a child where it works and at which step it dies.
const (
	childDir   = "LOCI_TEST_CHILD_DIR"
	childPoint = "LOCI_TEST_CHILD_POINT"
)

// diesAt returns what kills this process when it is called the nth time.
func diesAt(t *testing.T) func() {
	left := try(strconv.Atoi(os.Getenv(childPoint))).orFail(t)
	return func() {
		if left--; left == 0 {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
	}
}

// killed runs the test of this name in a child that dies at a step, and reports whether it
// came to its end instead.
func killed(t *testing.T, dir string, point int) (lived bool) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "LOCI_") {
			child.Env = append(child.Env, pair)
		}
	}
	child.Env = append(child.Env, "TMPDIR="+t.TempDir(), childDir+"="+dir, childPoint+"="+strconv.Itoa(point))
	out, err := child.CombinedOutput()
	lived = child.ProcessState != nil && child.ProcessState.Exited()
	if lived && err != nil {
		t.Fatalf("the child that was to die at step %d: %v\n%s", point, err, out)
	}
	return lived
}

// TestKilledWhileBackingUpLeavesNothing kills the program at each step of a backup: memory
// is as it was, and nothing that was copied stays.
func TestKilledWhileBackingUpLeavesNothing(t *testing.T) {
	at := func(dir string) config.Config { return settingsAt(t, dir, "vault", filepath.Join(dir, "vault")) }
	if dir := os.Getenv(childDir); dir != "" {
		l := openAt(t, at(dir))
		l.backups.StepHook = diesAt(t)
		l.backUp(t, filepath.Join(dir, "b.zip"))
		closed(t, l)
		return
	}
	for point := 1; ; point++ {
		dir := t.TempDir()
		l := openAt(t, at(dir))
		l.remember(t, "User likes marzipan")
		want := l.takeAway(t, "default")
		closed(t, l)
		lived := killed(t, dir, point)
		if exists(filepath.Join(dir, "b.zip")) != lived {
			t.Errorf("step %d: the file is there: %v, want %v", point, !lived, lived)
		}
		l = openAt(t, at(dir))
		l.fine(t)
		if got := l.takeAway(t, "default"); got != want {
			t.Errorf("step %d: got\n%s\nwant\n%s", point, got, want)
		}
		if exists(filepath.Join(dir, "data", backup.UnfinishedFolder)) {
			t.Errorf("step %d: what was unfinished is still there", point)
		}
		is, err := l.backups.List.Read()
		if err != nil || len(is.Backups) > 0 != lived {
			t.Errorf("step %d: noted %+v, %v; want only what was handed out", point, is, err)
		}
		closed(t, l)
		if lived {
			if point < 5 {
				t.Errorf("%d steps, want more", point-1)
			}
			return
		}
	}
}

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

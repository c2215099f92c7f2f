package assembly

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// TestTheDoctorWritesIntoTheDataFolder: it leaves nothing there, says what it saw in words
// for one and for many, and tells of a folder that is gone.
func TestTheDoctorWritesIntoTheDataFolder(t *testing.T) {
	dir := t.TempDir()
	l := openWith(t, map[string]string{"store": "sqlite", "data": filepath.Join(dir, "data")})
	l.fine(t)
	before := try(os.ReadDir(filepath.Join(dir, "data"))).orFail(t)
	found := try(l.Doctor(t.Context(), false)).orFail(t)
	after, err := os.ReadDir(filepath.Join(dir, "data"))
	if err != nil || len(after) != len(before) {
		t.Errorf("there were %v, and are %v, %v", before, after, err)
	}
	if _, err := disk.FreeBytes(dir); err == nil && !strings.Contains(strings.Join(found.Checked, "\n"), "MiB of free space") {
		t.Errorf("it looked at %q", found.Checked)
	}
	l.doctor.Config.Data = filepath.Join(dir, "gone")
	if found, err = l.Doctor(t.Context(), false); err != nil || len(found.Findings) != 1 || found.Findings[0].Part != "data folder" {
		t.Errorf("without the folder: %+v, %v", found.Findings, err)
	}
	l.doctor.Config.Data = filepath.Join(dir, "data", databaseFile) // cannot write to a file
	if found, err = l.Doctor(t.Context(), false); err != nil || len(found.Findings) == 0 || !strings.Contains(found.Findings[0].Problem, "the folder is not writable") {
		t.Errorf("where nothing can be written: %+v, %v", found.Findings, err)
	}
}

// doctorSays runs the doctor and returns what it looked at and what it found, as lines.
func doctorSays(t *testing.T, l *Loci) (looked, found string) {
	t.Helper()
	c := try(l.Doctor(t.Context(), false)).orFail(t)
	for _, f := range c.Findings {
		found += f.Part + " " + f.Path + ": " + f.Problem + "\n"
	}
	return strings.Join(c.Checked, "\n"), found
}

func TestDoctorNamesModelServersThatDoNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		status int // 0: nobody listens
		key    string
		found  string
	}{
		"nobody listens":              {0, "", "upstream"},
		"out of order":                {http.StatusBadGateway, "", "502"},
		"refuses the key":             {http.StatusUnauthorized, "k", "refused the key"},
		"wants a key of the client's": {http.StatusUnauthorized, "", ""},
		"answers":                     {http.StatusOK, "k", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, `{"data":[]}`)
			}))
			defer server.Close()
			if c.status == 0 {
				server.Close()
			}
			l := openWith(t, map[string]string{"upstream.url": server.URL + "/v1", "upstream.key": c.key})
			looked, found := doctorSays(t, l)
			if (found == "") != (c.found == "") || !strings.Contains(found, c.found) {
				t.Errorf("found %q, want %q", found, c.found)
			}
			if c.found == "" && !strings.Contains(looked, "upstream") {
				t.Errorf("looked at %q, want the upstream", looked)
			}
		})
	}
}

// TestModelsThatAreSkippedAreTold: the health, the page and the doctor say that chats do without a
// remote embedder and reranker, and why; only admins see where those are.
func TestModelsThatAreSkippedAreTold(t *testing.T) {
	const key = "secret-1-0123456789"
	embeds := &embedServer{}
	var status atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := int(status.Load()); code != http.StatusOK {
			w.WriteHeader(code)
			return
		}
		embeds.ServeHTTP(w, r)
	}))
	defer server.Close()
	l := openWith(t, map[string]string{"embedder": "remote:m", "reranker": "remote:r", "embed.url": server.URL + "/v1", "api_key": key, "store": "sqlite"})
	user, _, err := l.keys.Add(t.Context(), memory.Key{Name: "a key", Role: memory.KeyUser, User: "ana"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(key, method, path, body string) string {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-Loci-Key", key)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		if w.Code >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	ask(key, "POST", "/api/memory", `{"content":"User drinks oolong tea"}`)

	status.Store(http.StatusOK)
	if looked, found := doctorSays(t, l); found != "" || !strings.Contains(looked, "embedder remote:m: it responds") || !strings.Contains(looked, "reranker remote:r: it responds") {
		t.Errorf("looked at %q and found %q, want both to answer", looked, found)
	}
	if got := ask(key, "GET", "/health", ""); strings.Contains(got, "skipped") {
		t.Errorf("health %s, want nothing skipped", got)
	}

	status.Store(http.StatusBadGateway)
	for range 3 {
		ask(key, "POST", "/api/memory/search", `{"query":"Which tea?"}`)
	}
	for _, part := range []string{"the embedder is skipped, and search is by words only: the server answered with status 502", "the reranker is skipped, and results are not reranked: the server answered with status 502"} {
		for who, got := range map[string]string{"health": ask(key, "GET", "/health", ""), "a user's health": ask(user, "GET", "/health", ""), "the page": ask(key, "GET", "/settings", "")} {
			if !strings.Contains(got, part) || who == "a user's health" && strings.Contains(got, strings.TrimPrefix(server.URL, "http://")) {
				t.Errorf("%s: %s; want %q, and no address for a user", who, got, part)
			}
		}
	}
	if _, found := doctorSays(t, l); !strings.Contains(found, "embedder remote:m: model server") || !strings.Contains(found, "reranker remote:r: model server") || !strings.Contains(found, "502") {
		t.Errorf("found %q, want both, with what their server says", found)
	}
	status.Store(http.StatusOK) // it is back, and chats do not know yet
	if _, found := doctorSays(t, l); !strings.Contains(found, "embedder remote:m: the embedder is skipped") || !strings.Contains(found, "reranker remote:r: the reranker is skipped") {
		t.Errorf("found %q, want that chats do without both", found)
	}
}

func TestUnreadableBackupNotesDoNotStopTheStart(t *testing.T) {
	dir := t.TempDir()
	noError(t)(os.WriteFile(filepath.Join(dir, backup.BackupListFile), []byte("garbage"), 0o600))
	l := openWith(t, map[string]string{"store": "sqlite", "data": dir})
	if _, found := doctorSays(t, l); !strings.Contains(found, backup.BackupListFile) {
		t.Errorf("doctor found %q, want the file", found)
	}
	if said := l.backups.UnerasableCopies(time.Time{}, time.Now()); !strings.Contains(strings.Join(said, "\n"), backup.BackupListFile) {
		t.Errorf("an erasure's receipt says %q, want that the list of backups cannot be read", said)
	}
	if _, _, err := l.backups.Create(t.Context(), "x.zip"); err == nil {
		t.Error("a backup was made that nothing notes")
	}
	if text, err := os.ReadFile(filepath.Join(dir, backup.BackupListFile)); err != nil || string(text) != "garbage" {
		t.Errorf("the file is %q, %v; want it as it was", text, err)
	}
}

// damageIndex takes entries out of the facts' index.
func damageIndex(t *testing.T, path string) {
	t.Helper()
	db := try(sql.Open("sqlite", path)).orFail(t)
	var root, size int64
	noError(t)(errors.Join(db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'facts_subject'`).Scan(&root), db.QueryRow(`PRAGMA page_size`).Scan(&size)))
	noError(t)(db.Exec(`UPDATE facts SET subject = 'gadget'; PRAGMA wal_checkpoint(TRUNCATE)`))
	noError(t)(db.Close())
	file := try(os.ReadFile(path)).orFail(t)
	binary.BigEndian.PutUint16(file[(root-1)*size+3:], 1) // the page has one entry
	noError(t)(os.WriteFile(path, file, 0o600))
}

// TestDoctorFindsDamage damages a page of the facts' index, which no query complains of.
func TestDoctorFindsDamage(t *testing.T) {
	dir := t.TempDir()
	l := openWith(t, map[string]string{"store": "sqlite", "data": dir})
	for i := range 40 {
		noError(t)(l.Remember(t.Context(), "default", fmt.Sprintf("User owns gadget %d", i)))
	}
	closed(t, l)
	damageIndex(t, filepath.Join(dir, databaseFile))
	l = openWith(t, map[string]string{"store": "sqlite", "data": dir})
	if h := l.health(t.Context()); h.Status != "ok" {
		t.Errorf("before anybody looked: %q", h.Status)
	}
	if _, found := doctorSays(t, l); !strings.Contains(found, "database") {
		t.Errorf("doctor found %q, want damage", found)
	}
	if h := l.health(t.Context()); !strings.Contains(h.Status, "damaged") {
		t.Errorf("health says %q, want that the database is damaged", h.Status)
	}
	if _, err := l.Remember(t.Context(), "default", "User owns a kite"); !errors.Is(err, memory.Unavailable) {
		t.Errorf("a write: got %v, want %v", err, memory.Unavailable)
	}
}

package assembly

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/memory"
)

// acts returns what is on record, oldest first, each as "act by about detail".
func acts(t *testing.T, c *client.Client) (all []string) {
	t.Helper()
	entries, err := c.AllAudit(t.Context(), client.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(entries) {
		all = append(all, strings.TrimRight(strings.Join([]string{e.Act, e.By, e.User, e.Detail}, "|"), "|"))
	}
	return all
}

// TestRestoreIsOnRecord restores what was erased since: the record is that of the backup, and goes on.
func TestRestoreIsOnRecord(t *testing.T) {
	dir := t.TempDir()
	c := settingsAt(t, dir, "api_key", "server-key-1", "users", "multi")
	file := filepath.Join(dir, "memory.zip")
	on := func(do func(l *Loci, admin *client.Client)) {
		t.Helper()
		l := openAt(t, c)
		defer closed(t, l)
		do(l, client.New("http://localhost", client.Options{Key: "server-key-1", HTTP: &http.Client{Transport: handled{l.Handler()}}}))
	}
	on(func(l *Loci, admin *client.Client) {
		ana := client.New("http://localhost", client.Options{Key: "server-key-1", User: "ana", HTTP: &http.Client{Transport: handled{l.Handler()}}})
		_, _, err := ana.Add(t.Context(), client.AddMemory{Content: "User lives in Lisbon"})
		noError(t)(err)
		l.backUp(t, file)
		try(admin.EraseUser(t.Context(), "ana")).orFail(t)
	})
	at := time.Date(2026, 5, 3, 14, 0, 0, 0, time.UTC)
	try(backup.Restore(t.Context(), c, file, backup.RestoreOptions{Replace: true, Now: func() time.Time { return at }})).orFail(t)
	for range 2 { // starts
		on(func(l *Loci, admin *client.Client) {
			entries := try(admin.AllAudit(t.Context(), client.AuditQuery{Act: "restore"})).orFail(t)
			if len(entries) != 1 || !entries[0].At.Equal(at) || entries[0].By != "loci restore" || !strings.Contains(entries[0].Detail, file) {
				t.Errorf("of the restore: %+v", entries)
			}
			if all := acts(t, admin); !slices.Contains(all, "write memory|server key|ana") || slices.ContainsFunc(all, func(act string) bool { return strings.HasPrefix(act, "erase user") }) {
				t.Errorf("the record is not that of the backup: %q", all)
			}
		})
	}
}

// TestActsAreOnRecord plays what belongs on record, and what does not.
func TestActsAreOnRecord(t *testing.T) {
	l := openAt(t, settingsAt(t, t.TempDir(), "api_key", "server-key-1", "users", "multi"))
	defer closed(t, l)
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	as := func(key, user string) *client.Client {
		return client.New(server.URL, client.Options{Key: key, User: user})
	}
	admin := as("server-key-1", "")
	made, err := admin.AddKey(t.Context(), client.NewKey{Name: "laptop", Role: "user", User: "ana"})
	noError(t)(err)
	ana := as(made.Text, "")
	_, err = ana.List(t.Context(), client.ListQuery{}) // her own: not on record
	noError(t)(err)
	for range 3 {
		_, err = as("server-key-1", "ana").List(t.Context(), client.ListQuery{})
		noError(t)(err)
	}
	if _, err := as("no key of this server", "").List(t.Context(), client.ListQuery{}); !errors.Is(err, memory.Unauthorized) {
		t.Errorf("a wrong key: %v", err)
	}
	noError(t)(admin.RemoveKey(t.Context(), made.ID))
	if err := admin.RemoveKey(t.Context(), made.ID); !errors.Is(err, memory.NotFound) {
		t.Errorf("removed twice: %v", err)
	}
	gone, err := admin.EraseUser(t.Context(), "ana")
	noError(t)(err)
	got := acts(t, admin)
	if gone.Audit == 0 || slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, "ana") }) {
		t.Errorf("after the erasure (%d entries): %q", gone.Audit, got)
	}
	hidden := ""
	for i, e := range got {
		if at := strings.Index(e, "erased:"); at >= 0 {
			hidden = e[at : at+len("erased:")+12]
			got[i] = strings.ReplaceAll(e, hidden, "HASH")
		}
	}
	want := []string{
		"key made|server key|HASH|laptop (user)", "read memory|server key|HASH", "key refused|nobody||GET /api/memory",
		"key removed|server key||" + made.ID, "key removed|server key||" + made.ID, "erase user|server key|HASH",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q,\nwant %q", got, want)
	}
	if _, err := ana.Audit(t.Context(), client.AuditQuery{}); !errors.Is(err, memory.Unauthorized) {
		t.Errorf("with a key that is gone: %v", err)
	}
}

// TestKeysReadExpireAndRotate follows keys from when they are made to when they open nothing.
func TestKeysReadExpireAndRotate(t *testing.T) {
	l := openAt(t, settingsAt(t, t.TempDir(), "api_key", "server-key-1", "users", "multi"))
	defer closed(t, l)
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	as := func(key string) *client.Client { return client.New(server.URL, client.Options{Key: key}) }
	admin := as("server-key-1")
	read, err := admin.AddKey(t.Context(), client.NewKey{Name: "reader", Role: "user", User: "ana", Scope: "read", ExpiresAt: time.Now().Add(time.Hour)})
	noError(t)(err)
	_, err = as(read.Text).Search(t.Context(), client.SearchRequest{Query: "chess"})
	noError(t)(err)
	if _, _, err := as(read.Text).Add(t.Context(), client.AddMemory{Content: "User plays chess"}); !errors.Is(err, memory.Forbidden) {
		t.Errorf("a key that may read writes: %v", err)
	}
	for path, body := range map[string]string{
		"/v1/memories/":         `{"messages":[{"role":"user","content":"I play chess"}],"user_id":"ana"}`,
		"/v1/chat/completions":  `{"model":"loci/recall","messages":[{"role":"user","content":"I play chess on Mondays"}]}`,
		"/api/memory/forget":    `{"query":"chess"}`,
		"/api/keys":             `{"name":"x","role":"admin"}`,
		"/api/chats":            `{}`,
		"/api/profile/timezone": ``,
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		r.Header.Set("X-Loci-Key", read.Text)
		res, err := http.DefaultClient.Do(r)
		noError(t)(err)
		_ = res.Body.Close()
		if want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[path == "/v1/chat/completions"]; res.StatusCode != want {
			t.Errorf("%s with a key that may read: %d, want %d", path, res.StatusCode, want)
		}
	}
	if page, err := as(read.Text).List(t.Context(), client.ListQuery{}); err != nil || len(page.Memories) > 0 {
		t.Errorf("its chat left %+v, %v", page.Memories, err)
	}
	next, err := admin.RotateKey(t.Context(), read.ID, client.RotateKey{GraceSeconds: 0})
	noError(t)(err)
	if next.Scope != "read" || next.User != "ana" || !next.ExpiresAt.IsZero() {
		t.Errorf("the new key is %+v", next.Key)
	}
	if _, err := as(read.Text).List(t.Context(), client.ListQuery{}); !errors.Is(err, memory.Unauthorized) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("the old one: %v", err)
	}
	_, err = as(next.Text).List(t.Context(), client.ListQuery{})
	noError(t)(err)
	if _, err := admin.AddKey(t.Context(), client.NewKey{Name: "late", Role: "admin", ExpiresAt: time.Now().Add(-time.Hour)}); !errors.Is(err, memory.Invalid) {
		t.Errorf("one that would have expired: %v", err)
	}
}

// browse is a browser that keeps its cookies.
type browse struct {
	t      *testing.T
	client *http.Client
	base   string
}

func newBrowser(t *testing.T, base string) *browse {
	jar := try(cookiejar.New(nil)).orFail(t)
	return &browse{t, &http.Client{Jar: jar}, base}
}

// page returns a page, or what a form leads to.
func (b *browse) page(path string, form url.Values) string {
	b.t.Helper()
	r, _ := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+path, nil)
	if form != nil {
		r, _ = http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.base)
	}
	res, err := b.client.Do(r)
	noError(b.t)(err)
	defer res.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(res.Body)
	noError(b.t)(err)
	return text.String()
}

// TestAnyKeySignsItsUserIn: a user's key, a front end's and an admin's open the page, until they
// are removed; an admin sees others' memory on record.
func TestAnyKeySignsItsUserIn(t *testing.T) {
	l := openAt(t, settingsAt(t, t.TempDir(), "api_key", "server-key-1", "users", "multi"))
	defer closed(t, l)
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	admin := client.New(server.URL, client.Options{Key: "server-key-1"})
	keys := map[string]client.MadeKey{}
	for role, user := range map[string]string{"user": "ana", "front": "", "admin": ""} {
		k, err := admin.AddKey(t.Context(), client.NewKey{Name: role, Role: role, User: user})
		noError(t)(err)
		keys[role] = k
	}
	noError(t)(l.Remember(t.Context(), "ana", "User plays chess"))
	for role, user := range map[string]string{"user": "", "front": "ana", "admin": "ana"} {
		b := newBrowser(t, server.URL)
		if got := b.page("/signin", url.Values{"key": {keys[role].Text}, "user": {user}}); !strings.Contains(got, "plays chess") {
			t.Errorf("%s: %s", role, got)
		}
		if got := b.page("/settings", nil); strings.Contains(got, "Configuration of this server") != (role == "admin") {
			t.Errorf("%s sees the settings: %v", role, role != "admin")
		}
	}
	b := newBrowser(t, server.URL)
	if got := b.page("/signin", url.Values{"key": {keys["admin"].Text}}); !strings.Contains(got, "That key is right") {
		t.Errorf("an admin who names nobody: %s", got)
	}
	if got := b.page("/signin", url.Values{"key": {keys["user"].Text}, "user": {"ben"}}); !strings.Contains(got, "That key is right") {
		t.Errorf("ana's key for ben: %s", got)
	}
	b.page("/signin", url.Values{"key": {keys["admin"].Text}, "user": {"ben"}})
	if got := b.page("/switch", url.Values{"user": {"ana"}}); !strings.Contains(got, "plays chess") {
		t.Errorf("switched to ana: %s", got)
	}
	if got := b.page("/audit?act=switch+user", nil); !strings.Contains(got, "switch user") || strings.Contains(got, "key made") {
		t.Errorf("the record on the page: %s", got)
	}
	ana := newBrowser(t, server.URL)
	ana.page("/signin", url.Values{"key": {keys["user"].Text}})
	if got := ana.page("/switch", url.Values{"user": {"ben"}}); !strings.Contains(got, "only an admin may see") {
		t.Errorf("ana switched: %s", got)
	}
	if got := ana.page("/audit", nil); !strings.Contains(got, "for admins only") {
		t.Errorf("ana reads the record: %s", got)
	}
	noError(t)(admin.RemoveKey(t.Context(), keys["user"].ID))
	if got := ana.page("/", nil); !strings.Contains(got, "Sign in to Loci") {
		t.Errorf("by a key that is gone: %s", got)
	}
	got := acts(t, admin)
	for _, want := range []string{"sign in|ana|ana", "sign in|key front|ana", "sign in|key admin|ana", "sign in refused|key admin", "read memory|key admin|ana", "switch user|key admin|ana"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not on record: %q", want, got)
		}
	}
}

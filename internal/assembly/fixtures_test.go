package assembly

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
)

// fixture is memory as a release left it, unpacked, and what that release read from it. tools/fixtures.py
// wrote both.
type fixture struct {
	t    *testing.T
	dir  string
	head struct {
		Release   string
		At        time.Time
		Key       string
		KeyOfAna  string `json:"key_of_ana"`
		Namespace string
	}
	reads []fixtureRead
	flags map[string]string
}

// fixtureRead is a request, and what the release answered.
type fixtureRead struct {
	User, Method, Path string
	Body, Answer       any
	Status             int
}

// TestEarlierMemoryOpensUnchanged opens each fixture with the code of today.
func TestEarlierMemoryOpensUnchanged(t *testing.T) {
	for _, store := range []string{"sqlite", "vault", "postgres"} {
		t.Run(store, func(t *testing.T) {
			f := unpackedFixture(t, store)
			before := f.files()
			l := f.open()
			f.readsTheSame(l)
			if store == "vault" {
				f.leavesFiles(l, before)
			}
			made := fixtureRead{User: "ana", Method: "POST", Path: "/api/memory", Body: map[string]any{"content": "User ties a bowline"}}
			if status, answer := f.ask(l, made, "X-Loci-Key", f.head.KeyOfAna, "X-Loci-User", ""); status >= 300 {
				t.Errorf("with a key of the release: %d %v", status, answer)
			}
			closed(t, l)

			l = f.open()
			defer closed(t, l)
			if _, found := f.ask(l, fixtureRead{User: "ana", Method: "GET", Path: "/api/memory?q=bowline"}); !strings.Contains(fmt.Sprint(found), "User ties a bowline") {
				t.Errorf("after another start the new fact is gone: %v", found)
			}
		})
	}
}

func unpackedFixture(t *testing.T, store string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir()}
	lines := bufio.NewScanner(bytes.NewReader(f.stored(store + ".reads.jsonl.bz2")))
	lines.Buffer(nil, 1<<22)
	for first := true; lines.Scan(); first = false {
		var read fixtureRead
		into := any(&read)
		if first {
			into = &f.head
		}
		noError(t)(json.Unmarshal(lines.Bytes(), into))
		if !first {
			f.reads = append(f.reads, read)
		}
	}
	if err := lines.Err(); err != nil || len(f.reads) == 0 {
		t.Fatalf("%d reads, %v", len(f.reads), err)
	}
	f.flags = map[string]string{
		"data": filepath.Join(f.dir, "data"), "users": "multi", "api_key": f.head.Key, "recall.pools": "team", "review.categories": "health", "log.level": "error",
	}
	switch store {
	case "postgres":
		address := pgtest.NewSchema(t)
		f.flags["store"] = address
		f.load(address)
	case "vault":
		f.flags["vault"] = filepath.Join(f.dir, "vault")
		fallthrough
	default:
		f.untar(store + ".tar.bz2")
	}
	return f
}

func (f *fixture) stored(name string) []byte {
	f.t.Helper()
	packed := try(os.Open(filepath.Join("testdata", "fixtures", name))).orFail(f.t)
	defer packed.Close() //nolint:errcheck // it is only read
	return try(io.ReadAll(bzip2.NewReader(packed))).orFail(f.t)
}

func (f *fixture) untar(name string) {
	f.t.Helper()
	for r := tar.NewReader(bytes.NewReader(f.stored(name))); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			f.t.Fatal(err)
		}
		if !filepath.IsLocal(h.Name) {
			f.t.Fatalf("%s leads out of the archive", h.Name)
		}
		path := filepath.Join(f.dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else if text, e := io.ReadAll(r); e != nil {
			err = e
		} else {
			err = errors.Join(os.WriteFile(path, text, 0o600), os.Chtimes(path, h.ModTime, h.ModTime))
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// load runs the dump in the schema that an address names.
func (f *fixture) load(address string) {
	f.t.Helper()
	u := try(url.Parse(address)).orFail(f.t)
	dump := strings.Replace(string(f.stored("postgres.sql.bz2")), "CREATE SCHEMA lociworld;", "", 1)
	dump = strings.ReplaceAll(dump, "lociworld.", u.Query().Get("search_path")+".")
	conn := try(sql.Open("pgx", pgtest.WithParameter(address, "default_query_exec_mode", "simple_protocol"))).orFail(f.t)
	defer conn.Close() //nolint:errcheck // the dump changed its session's settings
	conn.SetMaxOpenConns(1)
	noError(f.t)(conn.ExecContext(f.t.Context(), dump))
}

func (f *fixture) open() *Loci {
	f.t.Helper()
	c := try(config.Load(config.Sources{Flags: f.flags})).orFail(f.t)
	return try(Open(context.Background(), c, Options{Log: f.t.Output(), Embedder: fixtureEmbedder{}, Now: func() time.Time { return f.head.At }})).orFail(f.t)
}

// ask sends a request to an open memory and returns what it answers, of an export the records.
func (f *fixture) ask(l *Loci, r fixtureRead, headers ...string) (int, any) {
	f.t.Helper()
	var body io.Reader
	if r.Body != nil {
		text := try(json.Marshal(r.Body)).orFail(f.t)
		body = bytes.NewReader(text)
	}
	req := httptest.NewRequest(r.Method, "http://localhost"+r.Path, body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-Key", f.head.Key)
	if r.User != "" {
		req.Header.Set("X-Loci-User", r.User)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, req)
	var answer any
	if strings.HasPrefix(r.Path, "/api/export") {
		records := []any{}
		for line := range bytes.Lines(w.Body.Bytes()) {
			var one map[string]any
			if err := json.Unmarshal(line, &one); err != nil {
				f.t.Fatalf("%s: %v in %s", r.Path, err, line)
			}
			if one["type"] != "header" {
				records = append(records, one)
			}
		}
		answer = records
	} else if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			f.t.Fatalf("%s %s: %d, %v in %s", r.Method, r.Path, w.Code, err, w.Body)
		}
	}
	return w.Code, answer
}

// readsTheSame sends each request of the fixture. A later release may add fields; what was there has to be
// there. Of a search the first hit has to be the one that it was.
func (f *fixture) readsTheSame(l *Loci) {
	f.t.Helper()
	for _, r := range f.reads {
		status, got := f.ask(l, r)
		if status != r.Status {
			f.t.Errorf("%s %s of %q: status %d, want %d: %v", r.Method, r.Path, r.User, status, r.Status, got)
			continue
		}
		want := r.Answer
		if r.Method == "POST" {
			got, want = firstHit(got), firstHit(want)
		}
		if strings.HasPrefix(r.Path, "/api/export") {
			byID(got.([]any))
			byID(want.([]any))
		}
		if diff := lacks(withoutEmbedding(want), withoutEmbedding(got), ""); diff != "" {
			f.t.Errorf("%s %s of %q: %s", r.Method, r.Path, r.User, diff)
		}
	}
}

// withoutEmbedding leaves out the jobs that add missing vectors, the number of queued jobs, and the text of
// an error.
func withoutEmbedding(answer any) any {
	a, _ := answer.(map[string]any)
	delete(a, "jobs_queued")
	delete(a, "detail") // the text of an error may change, its status and code may not
	if all, ok := a["jobs"].([]any); ok {
		a["jobs"] = slices.DeleteFunc(all, func(j any) bool {
			job, _ := j.(map[string]any)
			return job["kind"] == string(memory.JobEmbed)
		})
	}
	return answer
}

// byID sorts records, whose order says nothing.
func byID(records []any) {
	id := func(r any) string {
		one := r.(map[string]any)
		return fmt.Sprint(one["type"], one["id"], one["key"], one["from"], one["to"], one["kind"])
	}
	slices.SortStableFunc(records, func(a, b any) int { return strings.Compare(id(a), id(b)) })
}

func firstHit(answer any) any {
	found, _ := answer.(map[string]any)
	hits, _ := found["hits"].([]any)
	if len(hits) == 0 {
		return nil
	}
	return hits[0]
}

// lacks says where got has not what want has, "" if it has all of it.
func lacks(want, got any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if _, there := g[k]; !ok || !there {
				return fmt.Sprintf("%s.%s is gone; it was %v", at, k, w[k])
			}
			if diff := lacks(w[k], g[k], at+"."+k); diff != "" {
				return diff
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s has %d items, want %d: %v", at, len(g), len(w), got)
		}
		for i := range w {
			if diff := lacks(w[i], g[i], fmt.Sprintf("%s[%d]", at, i)); diff != "" {
				return diff
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

// files returns a hash of each file of the vault but for Loci's own records, with when it was written.
func (f *fixture) files() map[string]string {
	out := map[string]string{}
	root := filepath.Join(f.dir, "vault")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, string(filepath.Separator)+".loci"+string(filepath.Separator)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[path] = fmt.Sprintf("%x %s", sha256.Sum256(text), info.ModTime())
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.t.Fatal(err)
	}
	return out
}

// leavesFiles: the files agree with the database, and none was written again.
func (f *fixture) leavesFiles(l *Loci, before map[string]string) {
	f.t.Helper()
	noError(f.t)(l.vault.Store.Flush(f.t.Context()))
	for _, found := range l.findings(f.t) {
		if !strings.Contains(found, "1 job of user/cleo failed too often") {
			f.t.Errorf("the vault was in order, but: %s", found)
		}
	}
	if after := f.files(); len(before) == 0 || !maps.Equal(before, after) {
		for path := range before {
			if after[path] != before[path] {
				f.t.Errorf("%s was %s and is %q", path, before[path], after[path])
			}
		}
		f.t.Errorf("there were %d files, and are %d", len(before), len(after))
	}
}

// fixtureEmbedder gives the vectors that the embedder of tools/fixtures.py gave.
type fixtureEmbedder struct{}

var fixtureWords = regexp.MustCompile(`[a-z]+`)

func (fixtureEmbedder) Fingerprint() string { return "remote:fixture-embed-two" }
func (fixtureEmbedder) Dims() int           { return 8 }
func (e fixtureEmbedder) Embed(_ context.Context, _ memory.EmbedAs, texts ...string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		v := make([]float32, e.Dims())
		for _, word := range fixtureWords.FindAllString(strings.ToLower(s), -1) {
			v[int(sha256.Sum256([]byte(word))[0])%len(v)]++
		}
		v[len(v)-1] += 0.5
		var sum float64
		for _, x := range v {
			sum += float64(x * x)
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(sum))
		}
		out[i] = v
	}
	return out, nil
}

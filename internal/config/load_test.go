package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

var update = flag.Bool("update", false, "rewrite generated files")

func TestSettingsComeFromTheStrongestSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loci.yaml")
	if err := os.WriteFile(file, []byte("addr: 127.0.0.1:1\nrecall:\n  top_k: 3\n  budget: 100\n  deadline: 2s\nhosts: [a.example, b.example]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{
		File:  file,
		Env:   []string{"LOCI_RECALL_TOP_K=4", "LOCI_RECALL_BUDGET=200", "LOCI_LEARN_RULES=off", "LOCI_API_KEY=k", "LOCI_REVIEW_CATEGORIES=health, family", "HOME=/nowhere", "LOCI_SHARED=x"},
		Flags: map[string]string{"recall.top_k": "5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		what      string
		got, want any
	}{
		{"flag over environment and file", c.Recall.TopK, 5},
		{"environment over file", c.Recall.Budget, 200},
		{"environment over default", c.Learn.Rules, "off"},
		{"file over default", c.Addr, "127.0.0.1:1"},
		{"duration of a file", c.Recall.Deadline, 2 * time.Second},
		{"list of a file", strings.Join(c.Hosts, " "), "a.example b.example"},
		{"list of the environment", strings.Join(c.Review.Categories, "|"), "health|family"},
		{"default", c.Store, StoreAddress("sqlite")},
		{"size of the default", c.Index.Budget, Bytes(1 << 30)},
		{"default number", c.Recall.RecencyWeight, 0.2},
	} {
		if check.got != check.want {
			t.Errorf("%s: got %v, want %v", check.what, check.got, check.want)
		}
	}
}

func TestWrongSettingsStopTheStartByName(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "loci.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, c := range map[string]struct {
		sources Sources
		names   []string // what the message must name
	}{
		"unknown key in the file":      {Sources{File: write("recal:\n  top_k: 3\n")}, []string{"recal.top_k", "recall.top_k"}},
		"unknown variable":             {Sources{Env: []string{"LOCI_UPSTREAM=x"}}, []string{"LOCI_UPSTREAM", "LOCI_UPSTREAM_URL"}},
		"unknown flag":                 {Sources{Flags: map[string]string{"top_k": "3"}}, []string{"top_k", "recall.top_k"}},
		"not one of the choices":       {Sources{Env: []string{"LOCI_USERS=many"}}, []string{"users", "many", "single, multi"}},
		"a choice of the wrong type":   {Sources{File: write("users: 3\n")}, []string{"users", "3", "single, multi"}},
		"a number that is none":        {Sources{Env: []string{"LOCI_RECALL_TOP_K=lots"}}, []string{"recall.top_k", "lots"}},
		"a number out of range":        {Sources{Env: []string{"LOCI_RECALL_TOP_K=-2"}}, []string{"recall.top_k", "-2", "-1 to 100"}},
		"a URL that is none":           {Sources{Env: []string{"LOCI_UPSTREAM_URL=localhost:11434"}}, []string{"upstream.url", "localhost:11434", "http://"}},
		"an upstream without a path":   {Sources{Env: []string{"LOCI_UPSTREAM_URL=http://127.0.0.1:11434/"}}, []string{"upstream.url", "no path", "http://127.0.0.1:11434/v1"}},
		"a model without an upstream":  {Sources{Env: []string{"LOCI_LEARN_MODEL=m"}}, []string{"learn.model", "upstream.url"}},
		"a file that is not YAML":      {Sources{File: write("a: [")}, []string{"loci.yaml"}},
		"a file that is not there":     {Sources{File: "/nowhere/loci.yaml"}, []string{"/nowhere/loci.yaml"}},
		"an address of another kind":   {Sources{Flags: map[string]string{"addr": "ftp://localhost:7077"}}, []string{"addr", "127.0.0.1:7077"}},
		"an address without a host":    {Sources{Flags: map[string]string{"addr": "http:///api"}}, []string{"addr", "127.0.0.1:7077"}},
		"an address with a question":   {Sources{Flags: map[string]string{"addr": "http://localhost:7077?a=b"}}, []string{"addr", "127.0.0.1:7077"}},
		"an address without a port":    {Sources{Flags: map[string]string{"addr": "localhost"}}, []string{"addr", "127.0.0.1:7077"}},
		"a list where text is wanted":  {Sources{File: write("addr: [a, b]\n")}, []string{"addr"}},
		"a duration that is none":      {Sources{Env: []string{"LOCI_RECALL_DEADLINE=soon"}}, []string{"deadline", "soon"}},
		"a size that is none":          {Sources{Env: []string{"LOCI_INDEX_BUDGET=plenty"}}, []string{"index.budget", "plenty", "512MiB"}},
		"a size out of range":          {Sources{Env: []string{"LOCI_INDEX_BUDGET=1KiB"}}, []string{"index.budget", "1KiB", "1MiB to 1TiB"}},
		"what only a profile decides":  {Sources{File: write("recall:\n  fallback: none\n")}, []string{"recall.fallback", "is not a valid setting", "loci settings"}},
		"no store that there is":       {Sources{Env: []string{"LOCI_STORE=mongodb"}}, []string{"store", "sqlite, memory, postgres://"}},
		"a vault on a server":          {Sources{Env: []string{"LOCI_STORE=postgres://h/d", "LOCI_VAULT=/v"}}, []string{"vault", "sqlite or memory"}},
		"a name without a key":         {Sources{Env: []string{"LOCI_HOSTS=loci.example.com"}}, []string{"hosts", "api_key", "LOCI_API_KEY"}},
		"a proxy without a key":        {Sources{Env: []string{"LOCI_PROXIES=10.0.0.1"}}, []string{"proxies", "api_key", "LOCI_API_KEY"}},
		"a user's header, no proxies":  {Sources{Env: []string{"LOCI_USERS_HEADER=X-User"}}, []string{"users_header", "proxies", "LOCI_PROXIES"}},
		"a user's header with a space": {Sources{Env: []string{"LOCI_USERS_HEADER=X User", "LOCI_PROXIES=10.0.0.1", "LOCI_API_KEY=k"}}, []string{"users_header", "name of a header"}},
		"an origin with a path":        {Sources{Env: []string{"LOCI_CORS_ORIGINS=https://a.test/"}}, []string{"cors.origins", "https://a.test/", "https://app.example.org"}},
		"a front key alone":            {Sources{Env: []string{"LOCI_FRONT_KEY=secret-1"}}, []string{"front_key: needs api_key"}},
		"one key for both":             {Sources{Env: []string{"LOCI_FRONT_KEY=secret-1", "LOCI_API_KEY=secret-1"}}, []string{"front_key", "must have a different value"}},
		"every header":                 {Sources{Env: []string{"LOCI_FORWARD_DROP=X-Team-*,-*"}}, []string{"forward.drop", `"-*"`, "-X-OpenWebUI-*"}},
		"every origin":                 {Sources{Env: []string{"LOCI_CORS_ORIGINS=*"}}, []string{"cors.origins"}},
		"backups of PostgreSQL":        {Sources{Env: []string{"LOCI_BACKUP_EVERY=24h", "LOCI_BACKUP_TO=/b", "LOCI_STORE=postgres://h/d"}}, []string{"backup.every", "pg_dump", "0s"}},
		"backups of MongoDB":           {Sources{Env: []string{"LOCI_BACKUP_EVERY=24h", "LOCI_BACKUP_TO=/b", "LOCI_STORE=mongodb://h/d"}}, []string{"backup.every", "mongodump", "0s"}},
		"backups of nothing":           {Sources{Env: []string{"LOCI_BACKUP_EVERY=24h", "LOCI_BACKUP_TO=/b", "LOCI_STORE=memory"}}, []string{"backup.every", "sqlite or a vault"}},
		"backups to nowhere":           {Sources{Env: []string{"LOCI_BACKUP_EVERY=24h"}}, []string{"backup.every", "backup.to", "s3://"}},
		"backups all the time":         {Sources{Env: []string{"LOCI_BACKUP_EVERY=1s", "LOCI_BACKUP_TO=/b"}}, []string{"backup.every", "1s", "1m"}},
		"no backup is kept":            {Sources{Env: []string{"LOCI_BACKUP_KEEP=0"}}, []string{"backup.keep", "1 to 10000"}},
		"a section given as one value": {Sources{File: write("recall: 5\n")}, []string{"recall"}},
	} {
		_, err := Load(c.sources)
		if !errors.Is(err, memory.Invalid) {
			t.Errorf("%s: got %v, want an error of code invalid", name, err)
			continue
		}
		for _, want := range c.names {
			if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
				t.Errorf("%s: the message %q does not name %q", name, err, want)
			}
		}
	}
}

func TestSettingsPageIsUpToDate(t *testing.T) {
	const page = "../../docs/settings.md"
	want := reference()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil || string(have) != want {
		t.Errorf("%s is not what the settings say (%v); run `make generate`", page, err)
	}
}

// sections are the headings of the settings whose keys begin so, with what they are about.
var sections = map[string]string{
	"": "General", "embed": "Remote embedders and rerankers", "upstream": "The upstream", "learn": "Learning", "review": "Review", "share": "Sharing",
	"memory": "Channels", "cors": "Pages of other origins", "forward": "Forwarded headers", "summaries": "Summaries", "upkeep": "Upkeep",
	"recall": "Recall", "index": "Index", "chroma": "Chroma", "query": "POST /query", "chats": "Chats", "record": "Recording", "limits": "Limits",
	"log": "Log", "tls": "TLS", "otlp": "Traces", "sso": "Accounts", "audit": "Audit record", "backup": "Backups",
}

var docLink = regexp.MustCompile(`docs/([a-z/-]+\.md)`)

// reference returns the reference page of all settings as Markdown.
func reference() string {
	var b strings.Builder
	b.WriteString("# Settings\n\n" +
		"`make generate` writes this page from `internal/config`. `loci settings` shows what is set, and where that comes from.\n\n" +
		"A flag (`--set key=value`) wins over the environment, the environment over the file (`--config loci.yaml`),\n" +
		"the file over the profile ([profiles](profiles.md)), and the profile over the default. In a file a dot separates a\n" +
		"section from a key. The environment variable of `recall.top_k` is `LOCI_RECALL_TOP_K`; lists have commas. An unknown\n" +
		"key, an invalid value, or a variable one letter off a setting's name stops the start.\n")
	section := "none"
	for _, s := range settings() {
		in, _, ok := strings.Cut(s.Key, ".")
		if !ok {
			in = ""
		}
		if in != section {
			section = in
			fmt.Fprintf(&b, "\n## %s\n\n| key | default | meaning |\n|---|---|---|\n", sections[in])
		}
		doc := docLink.ReplaceAllString(s.Doc, "[$1]($1)")
		if len(s.Valid) > 0 {
			doc += " Valid: `" + strings.Join(s.Valid, "`, `") + "`."
		}
		fallback := "–"
		if s.Default != "" {
			fallback = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Key, fallback, doc)
	}
	return b.String()
}

func TestEverySettingHasItsSection(t *testing.T) {
	for _, s := range settings() {
		in, _, ok := strings.Cut(s.Key, ".")
		if ok && sections[in] == "" {
			t.Errorf("%s: no heading for settings that begin with %q", s.Key, in)
		}
		if env := "LOCI_" + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_")); s.Env != env {
			t.Errorf("%s: set by %s, while docs/settings.md says %s", s.Key, s.Env, env)
		}
	}
}

func TestSizesAreReadWithUnits(t *testing.T) {
	for text, want := range map[string]Bytes{"1073741824": 1 << 30, "512MiB": 512 << 20, "1.5 GiB": 3 << 29, "2TiB": 2 << 40, "64 KiB": 64 << 10, "70 B": 70} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%q: got %d, %v; want %d", text, b, err, want)
		}
		if again := new(Bytes); again.UnmarshalText([]byte(b.String())) != nil || *again != b {
			t.Errorf("%q is written as %s, which reads as %d", text, b, *again)
		}
	}
	for _, text := range []string{"", "MiB", "lots", "1 GB", "NaN", "1e300", "Inf GiB"} {
		if err := new(Bytes).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read as a size", text)
		}
	}
	file := filepath.Join(t.TempDir(), "loci.yaml")
	if err := os.WriteFile(file, []byte("index:\n  budget: 8388608\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(Sources{File: file}); err != nil || c.Index.Budget != 8<<20 {
		t.Errorf("a plain number of a file: %d, %v; want 8 MiB", c.Index.Budget, err)
	}
}

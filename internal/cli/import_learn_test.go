package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func writeFile(t *testing.T, path, words string) {
	t.Helper()
	noError(t)(os.WriteFile(path, []byte(words), 0o600))
}

// remembering notes each URL that is asked for.
func remembering(asked *[]string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RequestURI())
		next.ServeHTTP(w, r)
	})
}

const twoChats = `{"role":"user","conversation":"a","content":"I live in Lisbon.","created_at":"2026-01-01T10:00:00Z"}
{"role":"assistant","conversation":"a","content":"Noted.","created_at":"2026-01-01T10:00:01Z"}
{"role":"user","conversation":"b","content":"I work as a nurse.","created_at":"2026-01-02T10:00:00Z"}
`

// TestAnImportWithoutAServerLearnsBeforeItEnds: nobody else would.
func TestAnImportWithoutAServerLearnsBeforeItEnds(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "chats.jsonl")
	writeFile(t, file, twoChats)
	out, err := tryAt(t, data, "sqlite", "import", file, "--learn")
	if err != nil || !strings.Contains(out, "learned from 2 chats") || strings.Contains(out, "loci jobs") {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err = tryAt(t, data, "sqlite", "jobs"); err != nil || !strings.Contains(out, "no background jobs") {
		t.Errorf("loci jobs: %q, %v", out, err)
	}
	if out, err = tryAt(t, data, "sqlite", "list"); err != nil || !strings.Contains(out, "Lisbon") || !strings.Contains(out, "nurse") {
		t.Errorf("loci list: %q, %v", out, err)
	}
}

func TestAnImportAtAServerSaysWhereToLook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chats.jsonl")
	writeFile(t, file, twoChats)
	for jobs, want := range map[int]string{1: "the server learns from 1 chat in the background; loci jobs shows the progress\n", 2: "the server learns from 2 chats in the background; loci jobs shows the progress\n"} {
		s := newStandIn(t, map[string]any{
			"POST /api/import": client.Imported{Jobs: jobs},
			"GET /api/jobs":    client.Jobs{Jobs: []client.Job{{Kind: memory.JobLearn, State: memory.JobQueued}}},
		})
		if out, err := s.loci(t, "import", file, "--learn"); err != nil || !strings.HasSuffix(out, want) {
			t.Errorf("%q, %v; want %q", out, err, want)
		}
	}
}

// TestWhatCannotBeReadIsNamedByItsPlace: by the line of a file, and by the item of a list.
func TestWhatCannotBeReadIsNamedByItsPlace(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ words, want string }{
		"memories.json": {`[{"id":"a","memory":"User likes rain"},{"id":5}]`, `memories.json, item 2: is not a memory: "id" should be a text and is a number`},
		"facts.jsonl":   {`{"type":"profile","key":"k","value":7}`, `facts.jsonl:1: is not a profile: "value" should be a text and is a number`},
	} {
		file := filepath.Join(dir, name)
		writeFile(t, file, c.words)
		out, err := tryAt(t, dir+"/home", "sqlite", "import", file)
		if err == nil || !strings.Contains(out, c.want) || strings.Contains(out+err.Error(), "json:") || strings.Contains(out, "struct") {
			t.Errorf("%s: %q, %v; want %s", name, out, err, c.want)
		}
		if out, err = tryAt(t, dir+"/home", "sqlite", "import", "--strict", file); err == nil || strings.Contains(err.Error(), "struct") {
			t.Errorf("%s, strictly: %q, %v", name, out, err)
		}
	}
}

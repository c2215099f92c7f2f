package rest

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// tool sends an input to the memory tool.
func (r *rig) tool(input string) client.MemoryToolResult {
	r.t.Helper()
	var out client.MemoryToolResult
	r.decode(r.do("POST", "/api/memory/tool", input), &out)
	return out
}

var folderSize = regexp.MustCompile(`(?m)^\S+\t(/memories[^\t\n]*/|/memories|/memories/[az])$`)

// TestMemoryToolAnswersAsTheSDK replays what testdata/memory_tool.py recorded of Anthropic's SDK,
// without Loci's own folder and without sizes of folders, which depend on the file system.
func TestMemoryToolAnswersAsTheSDK(t *testing.T) {
	r := newRig(t)
	file, err := os.Open("testdata/memory_tool.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var row struct {
			Input json.RawMessage
			client.MemoryToolResult
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		got := r.tool(string(row.Input))
		row.Content, got.Content = folderSize.ReplaceAllString(row.Content, "-\t$1"), folderSize.ReplaceAllString(got.Content, "-\t$1")
		got.Content = regexp.MustCompile(`\n\S+\t/memories/loci/.*`).ReplaceAllString(got.Content, "")
		if got != row.MemoryToolResult {
			t.Errorf("%s:\ngot  %+v\nwant %+v", row.Input, got, row.MemoryToolResult)
		}
	}
	if n < 40 {
		t.Errorf("only %d rows were replayed", n)
	}
}

func TestMemoryToolSizes(t *testing.T) {
	for size, want := range map[int]string{0: "0B", 1023: "1023B", 1024: "1K", 1536: "1.5K", 1<<20 - 1: "1024.0K", 3 << 20: "3M", 5 << 40: "5120G"} {
		if got := fileSize(size); got != want {
			t.Errorf("%d bytes are %s, want %s", size, got, want)
		}
	}
}

// TestMemoryToolShowsFacts reads the facts as a read-only file.
func TestMemoryToolShowsFacts(t *testing.T) {
	r := newRig(t).furnish()
	got := r.tool(`{"command": "view", "path": "/memories/loci/facts.md"}`)
	if got.IsError || !strings.Contains(got.Content, "\t## food\n") || !strings.HasSuffix(got.Content, "\t") || !strings.Contains(got.Content, "\t- Ana drinks oolong tea in the morning\n") ||
		strings.Contains(got.Content, "cello") || strings.Contains(got.Content, "climbing") || strings.Contains(got.Content, "flowerpot") {
		t.Errorf("facts.md: %+v", got)
	}
	if got := r.tool(`{"command": "view", "path": "/memories"}`); !strings.Contains(got.Content, "/memories/loci/\n") || !strings.Contains(got.Content, "/memories/loci/facts.md") {
		t.Errorf("the folder: %+v", got)
	}
	for _, input := range []string{
		`{"command": "create", "path": "/memories/loci/more.md", "file_text": "x"}`, `{"command": "delete", "path": "/memories/loci"}`,
		`{"command": "str_replace", "path": "/memories/loci/facts.md", "old_str": "tea", "new_str": "coffee"}`,
		`{"command": "insert", "path": "/memories/loci/facts.md", "insert_line": 0, "insert_text": "x"}`,
		`{"command": "rename", "old_path": "/memories/loci/facts.md", "new_path": "/memories/facts.md"}`,
	} {
		if got := r.tool(input); !got.IsError || !strings.Contains(got.Content, "read-only") {
			t.Errorf("%s: %+v", input, got)
		}
	}
}

// TestMemoryToolRefuses expects an error for the model, and no write.
func TestMemoryToolRefuses(t *testing.T) {
	r := newRig(t)
	r.tool(`{"command": "create", "path": "/memories/a.md", "file_text": "a"}`)
	for input, want := range map[string]string{
		`{"command": "undo"}`:                       "Unknown command: undo",
		`{"command": "view", "path": "/memoriesX"}`: "Path must start with",
		`{"command": "create", "path": "/memories/big.md", "file_text": "` + strings.Repeat("x", 2000) + `"}`:  "limits.text",
		`{"command": "create", "path": "/memories/empty.md", "file_text": " "}`:                                "empty",
		`{"command": "create", "path": "/memories/a\nb.md", "file_text": "x"}`:                                 "control characters",
		`{"command": "create", "path": "/memories/` + strings.Repeat("x", 600) + `", "file_text": "x"}`:        "path has",
		`{"command": "create", "path": "/memories/a.md/b.md", "file_text": "x"}`:                               "is not a directory",
		`{"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/a.md/b.md"}`:               "is not a directory",
		`{"command": "str_replace", "path": "/memories/a.md", "old_str": "", "new_str": "b"}`:                  "did not appear",
		`{"command": "str_replace", "path": "/memories/a.md", "old_str": "a", "new_str": ""}`:                  "empty",
		`{"command": "view", "path": "/memories/%2e%2e/%2e%2e/etc/passwd", "other": 1, "view_range": null}`:    "does not exist",
		`{"command": "create", "path": "/memories/..\\..\\etc/../../../passwd", "file_text": "x"}`:             "would escape",
		`{"command": "rename", "old_path": "/memories/a.md", "new_path": "/elsewhere", "path": "/memories/b"}`: "Path must start with",
	} {
		if got := r.tool(input); !got.IsError || !strings.Contains(got.Content, want) {
			t.Errorf("%.120s: %+v; want %q", input, got, want)
		}
	}
	if got := r.tool(`{"command": "view", "path": "/memories"}`); strings.Count(got.Content, "\n") != 4 || !strings.Contains(got.Content, "\n1B\t/memories/a.md\n") {
		t.Errorf("afterwards: %s", got.Content)
	}
	r.do("PUT", "/api/pause", `{"pause": "memory"}`)
	if got := r.tool(`{"command": "view", "path": "/memories"}`); !got.IsError || !strings.Contains(got.Content, "paused") {
		t.Errorf("paused: %+v", got)
	}
}

// TestMemoryToolFilesAreContexts lists the files as contexts. A renamed file keeps its id.
func TestMemoryToolFilesAreContexts(t *testing.T) {
	r := newRig(t)
	contexts := func() []client.ContextDocument {
		var out client.Contexts
		r.decode(r.do("GET", "/api/contexts", ""), &out)
		return out.Contexts
	}
	r.tool(`{"command": "create", "path": "/memories/work/plan.md", "file_text": "- sail\n"}`)
	made := contexts()
	if len(made) != 1 || made[0].Title != "/memories/work/plan.md" || made[0].Content != "- sail\n" {
		t.Fatalf("contexts %+v", made)
	}
	r.tool(`{"command": "rename", "old_path": "/memories/work", "new_path": "/memories/old"}`)
	if moved := contexts(); len(moved) != 1 || moved[0].ID != made[0].ID || moved[0].Title != "/memories/old/plan.md" {
		t.Errorf("moved: %+v", moved)
	}
	r.tool(`{"command": "delete", "path": "/memories/old"}`)
	var journal client.Changes
	r.decode(r.do("GET", "/api/changes", ""), &journal)
	r.do("POST", "/api/changes/undo", `{"run": "`+journal.Changes[0].Run+`"}`)
	if back := contexts(); len(back) != 1 || back[0].Content != "- sail\n" {
		t.Errorf("after undo: %+v", back)
	}
	var files client.MemoryToolResult
	if r.decode(r.as("ben", "POST", "/api/memory/tool", `{"command": "view", "path": "/memories/old/plan.md"}`), &files); !files.IsError {
		t.Errorf("another user reads %q", files.Content)
	}
}

// TestMemoryToolKeepsConcurrentEdits makes edits at the same time.
func TestMemoryToolKeepsConcurrentEdits(t *testing.T) {
	r := newRig(t)
	r.tool(`{"command": "create", "path": "/memories/n.md", "file_text": "start\n"}`)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r.tool(`{"command": "insert", "path": "/memories/n.md", "insert_line": 1, "insert_text": "more"}`)
		})
	}
	all.Wait()
	if got := r.tool(`{"command": "view", "path": "/memories/n.md"}`); strings.Count(got.Content, "\tmore") != 10 {
		t.Errorf("of ten lines there are %s", got.Content)
	}
}

// TestMemoryToolDoesNotStopLearning learns a sentence that the model also wrote into a file.
func TestMemoryToolDoesNotStopLearning(t *testing.T) {
	r := newRig(t)
	const words = "My sister Mira lives in Lisbon."
	r.tool(`{"command": "create", "path": "/memories/mira.md", "file_text": "` + words + `"}`)
	r.do("POST", "/api/memory/add", `{"text": "`+words+`"}`)
	job, err := r.engine.Store.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute)
	if err == nil {
		_, err = r.engine.Lessons.Learn(t.Context(), job)
	}
	if err != nil {
		t.Fatal(err)
	}
	var facts client.Memories
	if r.decode(r.do("GET", "/api/memory", ""), &facts); len(facts.Memories) == 0 {
		t.Error("nothing was learned")
	}
}

package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type cutPart struct {
	text  string
	first int
}

// cut returns the parts that a file is sent in.
func cut(t *testing.T, format, file string) (parts []cutPart, bad []string) {
	t.Helper()
	c := &cutter{
		send: func(p []byte, first int) error { parts = append(parts, cutPart{string(p), first}); return nil },
		bad:  func(line int, reason string) error { bad = append(bad, fmt.Sprint(line, " ", reason)); return nil },
	}
	if err := importFormats[format](c, strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	return parts, bad
}

// TestAPartStandsAlone cuts files of many lines: each part is small, begins with what
// it needs, and its lines have the numbers that they have in the file.
func TestAPartStandsAlone(t *testing.T) {
	words := strings.Repeat("x", 1000)
	for _, c := range []struct {
		format, head string
		line         string // with its number in it
		again        string // what parts after the first begin with
	}{
		{"jsonl", `{"type":"conversation","id":"c"}` + "\n", `{"type":"turn","n":%d,"x":"` + words + `"}`, `{"type":"conversation","id":"c"}` + "\n"},
		{"markdown", "# Facts\n## food <!-- loci {} -->\n", "- %d " + words + " <!-- loci {} -->", "# Facts\n## food <!-- loci {} -->\n"},
		{"list", "# food\n", "- %d " + words, "# food\n"},
	} {
		var file strings.Builder
		file.WriteString(c.head)
		n := strings.Count(c.head, "\n")
		for i := range 10_000 {
			fmt.Fprintf(&file, c.line+"\n", n+i+1)
		}
		parts, bad := cut(t, c.format, file.String())
		if len(parts) < 3 || len(bad) > 0 {
			t.Fatalf("%s: %d parts, %v", c.format, len(parts), bad)
		}
		met := 0
		for i, p := range parts {
			rest, ok := strings.CutPrefix(p.text, c.again)
			if !ok || len(p.text) > partBytes+len(c.again)+2000 {
				t.Errorf("%s: part %d of %d bytes begins with %.40q", c.format, i, len(p.text), p.text)
			}
			number := p.first + strings.Count(c.again, "\n")
			for line := range strings.Lines(rest) {
				if want := fmt.Sprintf(c.line, number) + "\n"; line != want {
					t.Fatalf("%s: line %d is %.60q", c.format, number, line)
				}
				number++
				met++
			}
		}
		if met != 10_000 {
			t.Errorf("%s: %d lines, want 10000", c.format, met)
		}
	}
}

func TestAListOfItemsIsCutBetweenThem(t *testing.T) {
	var items []string
	for i := range 9000 {
		items = append(items, fmt.Sprintf(`{"n":%d,"x":%q}`, i+1, strings.Repeat("x", 1000)))
	}
	parts, bad := cut(t, "mem0", " [\n"+strings.Join(items, ",\n")+"]\n")
	if len(parts) < 2 || len(bad) > 0 {
		t.Fatalf("%d parts, %v", len(parts), bad)
	}
	n := 0
	for _, p := range parts {
		var list []struct{ N int }
		if err := json.Unmarshal([]byte(p.text), &list); err != nil {
			t.Fatal(err)
		}
		for i, x := range list {
			if n++; x.N != n || p.first+i != n {
				t.Fatalf("item %d is %d, called %d", n, x.N, p.first+i)
			}
		}
	}
	if n != len(items) {
		t.Errorf("%d items, want %d", n, len(items))
	}
	if _, bad := cut(t, "mem0", `[{"n":1},{"n":`); len(bad) != 1 || !strings.HasPrefix(bad[0], "2 ") {
		t.Errorf("a list that is cut off: %v", bad)
	}
	if parts, bad := cut(t, "claude", "\ufeff[{\"n\":1},\n{\"n\":2}]"); len(parts) != 1 || len(bad) > 0 || parts[0].text != "[{\"n\":1},{\"n\":2}]\n" && parts[0].text != `[{"n":1},{"n":2}]` {
		t.Errorf("a list behind a mark: %v, %v", parts, bad)
	}
	if parts, _ := cut(t, "mem0", `{"results":[]}`); len(parts) != 1 {
		t.Errorf("an object: %v", parts)
	}
}

func TestALineThatIsTooLongIsNamedAndNotSent(t *testing.T) {
	parts, bad := cut(t, "jsonl", "{}\n"+strings.Repeat("x", partLong+1)+"\n{}\n")
	var sent strings.Builder
	for _, p := range parts {
		sent.WriteString(p.text)
	}
	if len(bad) != 1 || !strings.HasPrefix(bad[0], "2 ") || sent.String() != "{}\n{}\n" {
		t.Errorf("%v, sent %.40q", bad, sent.String())
	}
}

func TestAnExportLeavesItsFolderByNoName(t *testing.T) {
	for _, name := range []string{"../out.md", "a/../../out.md", "/out.md", "link/out.md"} {
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(top, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.CreateHeader(&zip.FileHeader{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(w, "x")
		archive := filepath.Join(top, "a.zip")
		if err := errors.Join(err, z.Close(), os.WriteFile(archive, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(archive, dir); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(filepath.Join(top, "out.md")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

func TestAFileIsKnownByItsBeginning(t *testing.T) {
	for name, c := range map[string]struct{ head, want string }{
		"a.txt":   {"- User likes tea", "list"},
		"b.md":    {"# Facts\n- x <!-- loci {} -->", "markdown"},
		"c.json":  {`[{"title":"x","mapping":{}}]`, "chatgpt"},
		"k.json":  {"[\n {\"uuid\":\"x\",\n \"chat_messages\":[]}]", "claude"},
		"d.json":  {"\ufeff {\"results\":[{\"memory\":\"x\"}]}", "mem0"},
		"e.md":    {"---\ntitle: x\n---\n", "basic-memory"},
		"f.md":    {"---\nid: x\nconversation_id: y\n---\n", "agent-cli"},
		"g":       {`{"type":"fact"}`, "jsonl"},
		"h.jsonl": {"", "jsonl"},
	} {
		if got := formatOf(name, []byte(c.head)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAnArchiveIsReadAsItWasDownloaded holds which files of others' archives are read,
// and that one without any is named.
func TestAnArchiveIsReadAsItWasDownloaded(t *testing.T) {
	for name, want := range map[string]bool{
		"conversations.json": true, "data/conversations.json": true, "conversations-000.json": true, "conversations-12.json": true,
		"users.json": false, "projects.json": false, "memories.json": false, "user.json": false, "chat.html": false,
		"shared_conversations.json": false, "conversations.json.index": false, "export_manifest.json": false,
	} {
		if got := wanted(name); got != want {
			t.Errorf("%s: read is %v, want %v", name, got, want)
		}
	}
	archive := func(files map[string]string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range files {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "data.zip")
		if err := errors.Join(z.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const chats = `[{"uuid":"c","name":"Tea","created_at":"2024-05-01T10:00:00Z","chat_messages":[{"uuid":"m","sender":"human","text":"Hello"}]}]`
	path := archive(map[string]string{"conversations.json": chats, "users.json": `[{"uuid":"u"}]`})
	if got := sizeOf([]string{path}); got != int64(len(chats)) {
		t.Errorf("%d bytes to read, want %d", got, len(chats))
	}
	data := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--dry-run", "would add 1 turn, 1 conversation\n"},
		{"", "added 1 turn, 1 conversation\n"},
		{"", "added nothing\nthere already: 1 turn"},
	} {
		if got, err := tryAt(t, data, "sqlite", append(strings.Fields("import "+c.args), path)...); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("import %s: %q, %v; want %q", c.args, got, err, c.want)
		}
	}
	for what, path := range map[string]string{"an archive": archive(map[string]string{"users.json": "[]"}), "a folder": t.TempDir()} {
		if _, err := tryAt(t, data, "sqlite", "import", path); err == nil || !strings.Contains(err.Error(), "nothing in it is read") {
			t.Errorf("%s with nothing in it: %v", what, err)
		}
	}
}

package cli

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/portable"
)

func TestAnExportLeavesItsFolderByNoName(t *testing.T) {
	for _, name := range []string{"../out.md", "a/../../out.md", "/out.md", "link/out.md"} {
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		noError(t)(os.Mkdir(dir, 0o700))
		noError(t)(os.Symlink(top, filepath.Join(dir, "link")))
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.CreateHeader(&zip.FileHeader{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(w, "x")
		archive := filepath.Join(top, "a.zip")
		noError(t)(errors.Join(err, z.Close(), os.WriteFile(archive, b.Bytes(), 0o600)))
		if _, err := unpack(archive, dir); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(filepath.Join(top, "out.md")); err == nil {
			t.Errorf("%s was written", name)
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
		if got := isImportable(name); got != want {
			t.Errorf("%s: read is %v, want %v", name, got, want)
		}
	}
	archive := func(files map[string]string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range files {
			w := try(z.Create(name)).orFail(t)
			noError(t)(io.WriteString(w, text))
		}
		path := filepath.Join(t.TempDir(), "data.zip")
		noError(t)(errors.Join(z.Close(), os.WriteFile(path, b.Bytes(), 0o600)))
		return path
	}
	const chats = `[{"uuid":"c","name":"Tea","created_at":"2024-05-01T10:00:00Z","chat_messages":[{"uuid":"m","sender":"human","text":"Hello"}]}]`
	path := archive(map[string]string{"conversations.json": chats, "users.json": `[{"uuid":"u"}]`})
	data := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--dry-run", "would add 1 conversation, 1 turn\n"},
		{"", "added 1 conversation, 1 turn\n"},
		{"", "added nothing\nalready in memory: 1 conversation, 1 turn"},
	} {
		if got, err := tryAt(t, data, "sqlite", append(strings.Fields("import "+c.args), path)...); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("import %s: %q, %v; want %q", c.args, got, err, c.want)
		}
	}
	for what, path := range map[string]string{"an archive": archive(map[string]string{"users.json": "[]"}), "a folder": t.TempDir()} {
		if _, err := tryAt(t, data, "sqlite", "import", path); err == nil || !strings.Contains(err.Error(), "has no file to import") {
			t.Errorf("%s with nothing in it: %v", what, err)
		}
	}
}

// TestTheAPITakesEveryFormat that a command may name.
func TestTheAPITakesEveryFormat(t *testing.T) {
	field, _ := reflect.TypeFor[client.ImportQuery]().FieldByName("Format")
	if got, want := field.Tag.Get("enum"), strings.Trim(strings.ReplaceAll(fmt.Sprint(portable.Formats), " ", ","), "[]"); got != want {
		t.Errorf("the API takes %s, want %s", got, want)
	}
}

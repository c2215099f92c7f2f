package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/loci-memory/loci/internal/backup/archive"
)

func TestRestoreTakesAnEncryptedBackup(t *testing.T) {
	dir := t.TempDir()
	key, err := age.GenerateX25519Identity()
	noError(t)(err)
	var encrypted bytes.Buffer
	w, _, err := archive.NewEncrypted(&encrypted, key.Recipient().String())
	noError(t)(err)
	noError(t)(w.Add("vault/note.md", strings.NewReader("hello")))
	_, err = w.Finish(archive.Manifest{ContentAt: time.Now(), Counts: map[string]int64{"facts": 3}})
	noError(t)(err)
	file, identity := filepath.Join(dir, "b.zip.age"), filepath.Join(dir, "key.txt")
	noError(t)(os.WriteFile(file, encrypted.Bytes(), 0o600))
	noError(t)(os.WriteFile(identity, []byte(key.String()), 0o600))
	for _, c := range []struct{ says, identity, data string }{
		{"3 facts", identity, ""},
		{"--identity FILE", "", ""},
		{"not a file of age identities", filepath.Join(dir, "gone"), ""},
		{"3 facts", identity, filepath.Join(dir, "data")},
	} {
		args := []string{"restore", file, "--identity", c.identity, "--check"}
		if c.data != "" {
			args = append(args[:4], "--data", c.data, "--set", "vault="+filepath.Join(dir, "vault"))
		}
		var out bytes.Buffer
		cmd := newRootCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		if err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), c.says) {
			t.Errorf("%q says %q; want %q", args, out.String(), c.says)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "vault", "note.md")); err != nil || string(text) != "hello" {
		t.Errorf("restored %q, %v", text, err)
	}
}

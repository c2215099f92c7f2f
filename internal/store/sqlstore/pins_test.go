package sqlstore_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestLibcIsWhatSQLitePins: modernc.org/sqlite is C translated against one exact
// version of modernc.org/libc and is only right with that one, but any other
// dependency can raise it.
func TestLibcIsWhatSQLitePins(t *testing.T) {
	mod := encodeList(t, "{{.GoMod}}", "modernc.org/sqlite")
	text, err := os.ReadFile(mod)
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`(?m)^\s*modernc\.org/libc (\S+)`).FindSubmatch(text)
	if pinned == nil {
		t.Fatalf("%s requires no modernc.org/libc", mod)
	}
	if got, want := encodeList(t, "{{.Version}}", "modernc.org/libc"), string(pinned[1]); got != want {
		t.Errorf("modernc.org/libc: got %s, want %s, which modernc.org/sqlite requires", got, want)
	}
}

func encodeList(t *testing.T, format, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", format, module).Output()
	if err != nil {
		t.Skipf("needs the go command and the module cache: go list -m %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

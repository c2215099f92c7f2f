package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestReplaceWritesWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.json")
	for _, step := range []struct{ half, whole string }{
		{"", "one"},
		{"what a process that died was writing, longer than what follows", "two"},
		{"", ""},
	} {
		if step.half != "" {
			if err := os.WriteFile(path+tempSuffix, []byte(step.half), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := ReplaceFile(path, []byte(step.whole)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.whole {
			t.Errorf("got %q, %v; want %q", got, err, step.whole)
		}
		onlyThere(t, dir, "notes.json")
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner alone", info.Mode(), err)
	}
}

// TestReplaceThatFailsLeavesWhatThereWas: neither the file nor its folder is another.
func TestReplaceThatFailsLeavesWhatThereWas(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "within"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(taken, []byte("two")); err == nil {
		t.Error("a file took the place of a folder")
	}
	onlyThere(t, dir, "taken")
	if err := ReplaceFile(filepath.Join(dir, "gone", "notes.json"), nil); !os.IsNotExist(err) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

func TestUseCountsWhatFilesHold(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"one": 3, "a/two": 40, "a/b/three": 500, "a/b/empty": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Usage(dir); n != 543 || err != nil {
		t.Errorf("%d bytes, %v; want 543", n, err)
	}
	if _, err := Usage(filepath.Join(dir, "gone")); !os.IsNotExist(err) {
		t.Errorf("of a folder that is not there: %v", err)
	}
}

// onlyThere checks that a folder has one thing in it.
func onlyThere(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != want {
		t.Errorf("there are %v, %v; want %s alone", entries, err, want)
	}
}

package cli

import (
	"os"
	"os/exec"
	"strings"
)

// isTerminal reports whether a person sits at the other end of f. It takes the null
// device for one as well, where nobody sees the colours.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// keyByKey makes a terminal hand out each key as it is pressed, unseen, until back
// is called. An interrupt comes as a key as well. ok is false where that cannot be:
// stty does it, which every Unix has.
func keyByKey(f *os.File) (back func(), ok bool) {
	was, err := stty(f, "-g")
	if err != nil {
		return nil, false
	}
	if _, err := stty(f, "-icanon", "-echo", "-isig", "min", "1", "time", "0"); err != nil {
		return nil, false
	}
	return func() { _, _ = stty(f, was) }, true // it is how the terminal was a moment ago
}

func stty(f *os.File, args ...string) (string, error) {
	cmd := exec.Command("stty", args...)
	cmd.Stdin = f
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var quotedOrWord = regexp.MustCompile(`(?:[^\s"]|"[^"]*")+`)

// TestCommandsPageHoldsEveryCommand reads docs/commands.md: every command is there,
// and every example is one that the command line takes.
func TestCommandsPageHoldsEveryCommand(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	fenced := false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced || !strings.HasPrefix(line, "loci ") {
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		var args []string
		for _, word := range quotedOrWord.FindAllString(line, -1)[1:] {
			args = append(args, strings.ReplaceAll(word, `"`, ""))
		}
		cmd, rest, err := root().Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		met[cmd.CommandPath()] = true
	}
	var miss func(cmd *cobra.Command)
	miss = func(cmd *cobra.Command) {
		if cmd.Runnable() && !cmd.Hidden && !met[cmd.CommandPath()] {
			t.Errorf("%s has no example in docs/commands.md", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			miss(sub)
		}
	}
	miss(root())
}

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdScheme  = regexp.MustCompile(`^[a-z]+:`)
	mdCode    = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`")
	mdHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// TestLinksInThePagesResolve reads every Markdown file of the repository.
func TestLinksInThePagesResolve(t *testing.T) {
	const root = "../.."
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "tmp" || d.Name() == "shared" || d.Name() == "node_modules" || path != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = string(text)
		return err
	})
	if err != nil || len(pages) < 20 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	for from, text := range pages {
		for _, link := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(text, ""), -1) {
			if mdScheme.MatchString(link[1]) {
				continue
			}
			path, anchor, named := strings.Cut(link[1], "#")
			to := from
			if path != "" {
				to = filepath.Join(filepath.Dir(from), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: dead link %s", from, link[1])
			} else if named && strings.HasSuffix(to, ".md") && !slices.Contains(anchorsOf(pages[to]), anchor) {
				t.Errorf("%s: %s has no such heading", from, link[1])
			}
		}
	}
}

// anchorsOf returns the anchors of a page's headings, as GitHub makes them.
func anchorsOf(page string) (anchors []string) {
	page = regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
	for _, heading := range mdHeading.FindAllStringSubmatch(page, -1) {
		anchors = append(anchors, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
	}
	return anchors
}

var quotedOrWord = regexp.MustCompile(`(?:[^\s"]|"[^"]*")+`)

// TestCommandsPageHoldsEveryCommand reads docs/commands.md: every command is there,
// and every example is one that the command line takes.
func TestCommandsPageHoldsEveryCommand(t *testing.T) {
	page := try(os.ReadFile("../../docs/commands.md")).orFail(t)
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

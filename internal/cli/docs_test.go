package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

var (
	mdLink    = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|(?m:^\[[^\]]+\]:\s+(\S+))|(?:href|src)="([^"]+)"`)
	mdScheme  = regexp.MustCompile(`^[a-z]+:`)
	mdFence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	mdCode    = regexp.MustCompile("`[^`\n]*`")
	mdHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// TestLinksInThePagesResolve reads every Markdown file of the repository: each relative link, anchor and
// picture is there, each picture of docs/page is on some page, and docs/README.md has every page of docs.
func TestLinksInThePagesResolve(t *testing.T) {
	const root = "../.."
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"tmp", "shared", "node_modules"}, d.Name()) || path != root && d.Name() != ".github" && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = mdFence.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil || len(pages) < 20 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	used := map[string]bool{}
	for from, text := range pages {
		for _, link := range linksOf(text) {
			path, anchor, named := strings.Cut(link, "#")
			to := from
			if path != "" {
				to = filepath.Join(filepath.Dir(from), path)
			}
			used[to] = true
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: dead link %s", from, link)
			} else if named && strings.HasSuffix(to, ".md") && !slices.Contains(anchorsOf(pages[to]), anchor) {
				t.Errorf("%s: %s has no such heading", from, link)
			}
		}
	}
	index := linksOf(pages[root+"/docs/README.md"])
	for page := range pages {
		if name, ok := strings.CutPrefix(page, root+"/docs/"); ok && name != "README.md" && !slices.Contains(index, name) {
			t.Errorf("docs/README.md has no line for %s", name)
		}
	}
	pictures := try(filepath.Glob(root + "/docs/page/*")).orFail(t)
	if len(pictures) == 0 {
		t.Error("docs/page is empty")
	}
	for _, picture := range pictures {
		if !used[picture] {
			t.Errorf("%s is on no page: remove it", picture)
		}
	}
}

// linksOf returns the relative links and pictures of a page without its fences.
func linksOf(page string) (links []string) {
	for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(page, ""), -1) {
		if link := cmp.Or(m[1], m[2], m[3]); !mdScheme.MatchString(link) {
			links = append(links, link)
		}
	}
	return links
}

// anchorsOf returns the anchors of a page's headings, as GitHub makes them.
func anchorsOf(page string) (anchors []string) {
	times := map[string]int{}
	for _, heading := range mdHeading.FindAllStringSubmatch(page, -1) {
		anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")
		if times[anchor]++; times[anchor] > 1 {
			anchor = fmt.Sprintf("%s-%d", anchor, times[anchor]-1)
		}
		anchors = append(anchors, anchor)
	}
	return anchors
}

func TestLinksOfAPage(t *testing.T) {
	page := "[a](one.md) ![b](two.png \"Two\") [c](<three.md#x>) [d]: not one\n[e]: four.md\n<img src=\"five.png\"> <a href=\"https://six\"> `[f](seven.md)`\n[g](#here)\n"
	if got, want := linksOf(page), []string{"one.md", "two.png", "three.md#x", "four.md", "five.png", "#here"}; !slices.Equal(got, want) {
		t.Errorf("links: got %q, want %q", got, want)
	}
	if got, want := anchorsOf("# A `b`, c!\n## Two\n## Two\n"), []string{"a-b-c", "two", "two-1"}; !slices.Equal(got, want) {
		t.Errorf("anchors: got %q, want %q", got, want)
	}
}

// programText returns the source of the program, tests apart. It lacks the texts of the system.
func programText(t *testing.T) (source string) {
	t.Helper()
	noError(t)(filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		source += string(text)
		return err
	}))
	return source
}

// TestAdviceIsForRealErrors looks for each error that has advice outside of the table itself.
func TestAdviceIsForRealErrors(t *testing.T) {
	source := programText(t)
	for _, a := range errorHints {
		if a[0] != syscall.ENOENT.Error() && !strings.HasSuffix(a[0], "dial tcp") && strings.Count(source, a[0]) < 2 {
			t.Errorf("no error of the program has %q", a[0])
		}
	}
}

// TestTroubleshootingQuotesRealErrors reads the code spans of its tables that have a blank: commands, settings
// and paths apart, each is a text of the program.
func TestTroubleshootingQuotesRealErrors(t *testing.T) {
	page := string(try(os.ReadFile("../../docs/guide/troubleshooting.md")).orFail(t))
	source := programText(t)
	quoted := 0
	for _, span := range mdCode.FindAllString(page, -1) {
		span = strings.Trim(span, "`")
		if strings.HasPrefix(span, "loci ") || strings.HasPrefix(span, "--") || strings.HasPrefix(span, "GET ") || strings.HasPrefix(span, "LOCI_") || !strings.Contains(span, " ") {
			continue
		}
		quoted++
		for part := range strings.SplitSeq(strings.TrimPrefix(span, "bind: address already in use"), "…") {
			if part = strings.Trim(part, `"`); !strings.Contains(source, part) {
				t.Errorf("no text of the program has %q", part)
			}
		}
	}
	if quoted < 20 {
		t.Errorf("got %d texts, want more", quoted)
	}
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
		cmd, rest, err := newRootCommand().Find(args)
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
	miss(newRootCommand())
}

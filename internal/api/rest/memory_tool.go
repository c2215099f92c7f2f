package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

const (
	toolRoot = core.FilesRoot

	// lociFolder contains only factsFile, and is read-only for the model.
	lociFolder = toolRoot + "/loci"
	factsFile  = lociFolder + "/facts.md"

	maxLines     = 999_999
	listedLevels = 2 // number of folder levels that the command view lists
)

// toolError is an error message for the model, worded as in Anthropic's SDK if the SDK has the same error.
type toolError string

func (e toolError) Error() string { return string(e) }

func toolErrorf(format string, args ...any) error { return toolError(fmt.Sprintf(format, args...)) }

func (d *handler) runMemoryTool(ctx context.Context, by caller, in *body[client.MemoryToolInput]) (out client.MemoryToolResult, err error) {
	command := in.Body
	if err = d.engine.Curate.CheckToolAccess(ctx, by.owner, command.Command != "view"); err == nil {
		err = d.engine.Files.EditFiles(ctx, by.owner, func(files map[string]memory.Context) error {
			f := fileTree{files: files, facts: func() (string, error) { return d.factsMarkdown(ctx, by.owner) }}
			out.Content, err = f.run(command)
			return err
		}, by.author)
	}
	if errors.As(err, new(toolError)) || errors.Is(err, memory.Invalid) || errors.Is(err, memory.TooLarge) || errors.Is(err, memory.Conflict) {
		return client.MemoryToolResult{Content: err.Error(), IsError: true}, nil
	}
	return out, err
}

// factsMarkdown returns the active facts as Markdown, grouped by category.
func (d *handler) factsMarkdown(ctx context.Context, owner memory.Owner) (string, error) {
	byCategory := map[string][]string{}
	for m, err := range memory.AllMemories(ctx, d.engine.List, owner, memory.Query{}) {
		if err != nil {
			return "", err
		}
		byCategory[m.Fact.Category] = append(byCategory[m.Fact.Category], "- "+strings.Join(strings.Fields(m.Fact.Content), " ")+"\n")
	}
	var out strings.Builder
	out.WriteString("# Facts that Loci has learned\n")
	for _, category := range slices.Sorted(maps.Keys(byCategory)) {
		if category != "" {
			fmt.Fprintf(&out, "\n## %s\n", category)
		}
		out.WriteString("\n" + strings.Join(byCategory[category], ""))
	}
	return out.String(), nil
}

// fileTree contains the tool's files by path. Folders have no entries: a folder exists if it contains a file.
type fileTree struct {
	files map[string]memory.Context
	facts func() (string, error) // returns the content of factsFile
}

// run executes a command and returns the text for the model.
func (f fileTree) run(c client.MemoryToolInput) (string, error) {
	switch c.Command {
	case "view":
		return f.view(c)
	case "create":
		return f.create(c)
	case "str_replace":
		return f.replace(c)
	case "insert":
		return f.insert(c)
	case "delete":
		return f.delete(c)
	case "rename":
		return f.rename(c)
	}
	return "", toolErrorf("Unknown command: %s", c.Command)
}

// resolvePath cleans a path, and refuses a path outside toolRoot.
func resolvePath(requested string) (string, error) {
	if requested != toolRoot && !strings.HasPrefix(requested, toolRoot+"/") {
		return "", toolErrorf("Path must start with %s, got: %s", toolRoot, requested)
	}
	p := path.Clean(requested)
	if p != toolRoot && !strings.HasPrefix(p, toolRoot+"/") {
		return "", toolErrorf("Path %s would escape %s directory", requested, toolRoot)
	}
	return p, nil
}

// resolveWritablePath is resolvePath for a file to change. It also refuses paths in lociFolder.
func resolveWritablePath(requested string) (string, error) {
	p, err := resolvePath(requested)
	if err == nil && (p == lociFolder || strings.HasPrefix(p, lociFolder+"/")) {
		err = toolErrorf("The path %s is read-only: Loci writes it", requested)
	}
	return p, err
}

func (f fileTree) isFolder(p string) bool {
	return p == toolRoot || len(f.filesUnder(p)) > 0
}

// filesUnder returns the paths of all files in a folder and its subfolders.
func (f fileTree) filesUnder(folder string) []string {
	var out []string
	for file := range f.files {
		if strings.HasPrefix(file, folder+"/") {
			out = append(out, file)
		}
	}
	return out
}

// checkUnusedPath refuses a path for a new file if the path exists (with existsErr), or if a parent folder is a file.
func (f fileTree) checkUnusedPath(p string, existsErr error) error {
	if _, isFile := f.files[p]; isFile || f.isFolder(p) {
		return existsErr
	}
	for parent := path.Dir(p); parent != toolRoot; parent = path.Dir(parent) {
		if _, isFile := f.files[parent]; isFile {
			return toolErrorf("The path %s is not a directory.", parent)
		}
	}
	return nil
}

// writableFile returns the path and the content of an existing file that a command will change.
func (f fileTree) writableFile(requested string) (p string, c memory.Context, err error) {
	if p, err = resolveWritablePath(requested); err != nil {
		return "", c, err
	}
	c, ok := f.files[p]
	switch {
	case ok:
		return p, c, nil
	case f.isFolder(p):
		return "", c, toolErrorf("The path %s is not a file.", requested)
	}
	return "", c, toolErrorf("The path %s does not exist. Please provide a valid path.", requested)
}

func (f fileTree) view(c client.MemoryToolInput) (string, error) {
	p, err := resolvePath(c.Path)
	if err != nil {
		return "", err
	}
	if p == toolRoot || p == lociFolder || p == factsFile {
		facts, err := f.facts()
		if err != nil {
			return "", err
		}
		f.files = maps.Clone(f.files)
		f.files[factsFile] = memory.Context{Content: facts}
	}
	if file, ok := f.files[p]; ok {
		return viewFile(c, file.Content)
	}
	if !f.isFolder(p) {
		return "", toolErrorf("The path %s does not exist. Please provide a valid path.", c.Path)
	}
	return f.viewFolder(c.Path, p), nil
}

func viewFile(c client.MemoryToolInput, content string) (string, error) {
	lines := strings.Split(content, "\n")
	if len(lines) > maxLines {
		return "", toolErrorf("File %s exceeds maximum line limit of 999,999 lines.", c.Path)
	}
	first, last := 1, len(lines)
	if len(c.ViewRange) == 2 {
		first = max(1, c.ViewRange[0])
		if c.ViewRange[1] != -1 {
			last = min(last, c.ViewRange[1])
		}
	}
	return fmt.Sprintf("Here's the content of %s with line numbers:\n", c.Path) + numberLines(lines, first, last), nil
}

// numberLines returns the lines from first to last. Each line begins with its number.
func numberLines(lines []string, first, last int) string {
	var out []string
	for n := first; n <= last; n++ {
		out = append(out, fmt.Sprintf("%6d\t%s", n, lines[n-1]))
	}
	return strings.Join(out, "\n")
}

// viewFolder lists a folder with sizes. A folder's size is the sum of its files.
func (f fileTree) viewFolder(requested, p string) string {
	sizes, total := map[string]int{}, 0
	for _, file := range f.filesUnder(p) {
		size := len(f.files[file].Content)
		total += size
		parts := strings.Split(file[len(p)+1:], "/")
		for level := 1; level <= min(len(parts), listedLevels); level++ {
			if strings.HasPrefix(parts[level-1], ".") {
				break
			}
			name := strings.Join(parts[:level], "/")
			if level < len(parts) {
				name += "/"
			}
			sizes[name] += size
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Here're the files and directories up to 2 levels deep in %s, excluding hidden items:\n%s\t%s", requested, fileSize(total), requested)
	byParts := func(a, b string) int {
		return slices.Compare(strings.Split(strings.TrimSuffix(a, "/"), "/"), strings.Split(strings.TrimSuffix(b, "/"), "/"))
	}
	for _, name := range slices.SortedFunc(maps.Keys(sizes), byParts) {
		fmt.Fprintf(&out, "\n%s\t%s/%s", fileSize(sizes[name]), requested, name)
	}
	return out.String()
}

// fileSize formats a number of bytes as 12B, 1.5K or 3M.
func fileSize(bytes int) string {
	size, unit := float64(bytes), 0
	for size >= 1024 && unit < len("BKMG")-1 {
		size /= 1024
		unit++
	}
	if size == float64(int(size)) {
		return strconv.Itoa(int(size)) + "BKMG"[unit:unit+1]
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + "BKMG"[unit:unit+1]
}

func (f fileTree) create(c client.MemoryToolInput) (string, error) {
	p, err := resolveWritablePath(c.Path)
	if err == nil {
		err = f.checkUnusedPath(p, toolErrorf("File %s already exists", c.Path))
	}
	if err != nil {
		return "", err
	}
	f.files[p] = memory.Context{Content: c.FileText}
	return "File created successfully at: " + c.Path, nil
}

func (f fileTree) replace(c client.MemoryToolInput) (string, error) {
	p, file, err := f.writableFile(c.Path)
	if err != nil {
		return "", err
	}
	switch n := strings.Count(file.Content, c.OldStr); {
	case n == 0 || c.OldStr == "":
		return "", toolErrorf("No replacement was performed, old_str `%s` did not appear verbatim in %s.", c.OldStr, c.Path)
	case n > 1:
		var lines []string
		for i := range file.Content {
			if strings.HasPrefix(file.Content[i:], c.OldStr) {
				lines = append(lines, strconv.Itoa(strings.Count(file.Content[:i], "\n")+1))
			}
		}
		return "", toolErrorf("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique", c.OldStr, strings.Join(lines, ", "))
	}
	before, after, _ := strings.Cut(file.Content, c.OldStr)
	changed := strings.Count(before, "\n") + 1
	file.Content = before + c.NewStr + after
	f.files[p] = file
	lines := strings.Split(file.Content, "\n")
	return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" +
		numberLines(lines, max(1, changed-2), min(len(lines), changed+2)), nil
}

func (f fileTree) insert(c client.MemoryToolInput) (string, error) {
	p, file, err := f.writableFile(c.Path)
	if err != nil {
		return "", err
	}
	lines := strings.Split(file.Content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if c.InsertLine < 0 || c.InsertLine > len(lines) {
		return "", toolErrorf("Invalid `insert_line` parameter: %d. It should be within the range [0, %d].", c.InsertLine, len(lines))
	}
	lines = slices.Insert(lines, c.InsertLine, strings.TrimRight(c.InsertText, "\n"))
	file.Content = strings.TrimSuffix(strings.Join(lines, "\n"), "\n") + "\n"
	f.files[p] = file
	return fmt.Sprintf("The file %s has been edited.", c.Path), nil
}

func (f fileTree) delete(c client.MemoryToolInput) (string, error) {
	p, err := resolveWritablePath(c.Path)
	switch {
	case err != nil:
		return "", err
	case p == toolRoot:
		return "", toolErrorf("Cannot delete the %s directory itself", toolRoot)
	}
	deleted := f.filesUnder(p)
	if _, ok := f.files[p]; ok {
		deleted = append(deleted, p)
	}
	if len(deleted) == 0 {
		return "", toolErrorf("The path %s does not exist", c.Path)
	}
	for _, file := range deleted {
		delete(f.files, file)
	}
	return "Successfully deleted " + c.Path, nil
}

func (f fileTree) rename(c client.MemoryToolInput) (string, error) {
	from, err := resolveWritablePath(c.OldPath)
	if err != nil {
		return "", err
	}
	to, err := resolveWritablePath(c.NewPath)
	if err != nil {
		return "", err
	}
	if from == toolRoot {
		return "", toolErrorf("Cannot rename the %s directory itself", toolRoot)
	}
	if err := f.checkUnusedPath(to, toolErrorf("The destination %s already exists", c.NewPath)); err != nil {
		return "", err
	}
	moved := f.filesUnder(from)
	if _, ok := f.files[from]; ok {
		moved = append(moved, from)
	}
	switch {
	case len(moved) == 0:
		return "", toolErrorf("The path %s does not exist", c.OldPath)
	case strings.HasPrefix(to, from+"/"):
		return "", toolErrorf("The path %s is within %s", c.NewPath, c.OldPath)
	}
	for _, file := range moved {
		f.files[to+file[len(from):]] = f.files[file]
		delete(f.files, file)
	}
	return fmt.Sprintf("Successfully renamed %s to %s", c.OldPath, c.NewPath), nil
}

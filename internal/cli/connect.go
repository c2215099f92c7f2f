package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// settingsFile is a client's settings file. The function edit adds Loci's entry to the text, or removes it.
type settingsFile struct {
	path string
	edit func(text string, remove bool) (string, error)
}

// errForeignEntry is the error for an entry named loci that connect did not write.
var errForeignEntry = errors.New("has an entry named loci that loci connect did not write; the entry is not changed")

var clientNames = []string{"claude-code", "codex", "cursor", "opencode", "zed", "openwebui"}

func newConnectCommand(g *sharedState) *cobra.Command {
	var yes, remove bool
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Add Loci to the settings of a client, or remove it",
		Long: "Show the changes to a client's settings files; --yes writes them. Cursor, opencode and Zed get the MCP server.\n" +
			"Claude Code and Codex also get hooks, which add memory to each prompt and record the conversation.\n" +
			"For Open WebUI the command prints the variables to set. The written entries repeat --addr, --data, --config and --user of\n" +
			"this command line, but never a key. --remove removes the entries of loci connect. Other entries are not changed.\n\n" +
			"CLIENT is one of " + strings.Join(clientNames, ", ") + ".",
		Example: "  loci connect claude-code\n  loci connect claude-code --yes\n  loci connect codex --remove --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "openwebui" {
				return g.printOpenWebUI(cmd)
			}
			files, err := g.settingsFiles(cmd, args[0])
			if err != nil {
				return err
			}
			return editFiles(newPrinter(cmd.OutOrStdout()), args[0], files, remove, yes)
		},
	}
	g.withUserFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "write the files")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the entries that loci connect wrote")
	return cmd
}

// settingsFiles returns the settings files of a client.
func (g *sharedState) settingsFiles(cmd *cobra.Command, client string) ([]settingsFile, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	selfPath, err := executablePath()
	if err != nil {
		return nil, err
	}
	flags, err := g.repeatedFlags(cmd)
	if err != nil {
		return nil, err
	}
	mcp, hook := append([]string{"mcp"}, flags...), shellLine(append([]string{selfPath, hookName}, flags...))
	hooks := editJSON(hookEntry("UserPromptSubmit", hook, selfPath), hookEntry("Stop", hook, selfPath))
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	type server struct {
		Type    string   `json:"type,omitempty"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	switch client {
	case "claude-code":
		dir, state := filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json")
		if configured := os.Getenv("CLAUDE_CONFIG_DIR"); configured != "" {
			dir, state = configured, filepath.Join(configured, ".claude.json")
		}
		return []settingsFile{
			{filepath.Join(dir, "settings.json"), hooks},
			{state, editJSON(serverEntry("mcpServers", server{"stdio", selfPath, mcp}, selfPath))},
		}, nil
	case "codex":
		dir := cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(home, ".codex"))
		return []settingsFile{
			{filepath.Join(dir, "hooks.json"), hooks},
			{filepath.Join(dir, "config.toml"), editTOML(selfPath, mcp)},
		}, nil
	case "cursor":
		return []settingsFile{{filepath.Join(home, ".cursor", "mcp.json"), editJSON(serverEntry("mcpServers", server{"", selfPath, mcp}, selfPath))}}, nil
	case "opencode":
		path := filepath.Join(config, "opencode", "opencode.json")
		if _, err := os.Stat(path + "c"); err == nil {
			path += "c"
		}
		local := map[string]any{"type": "local", "command": append([]string{selfPath}, mcp...)}
		return []settingsFile{{path, editJSON(serverEntry("mcp", local, selfPath))}}, nil
	case "zed":
		dir := filepath.Join(config, "zed")
		if runtime.GOOS == "windows" {
			dir = filepath.Join(os.Getenv("APPDATA"), "Zed")
		}
		return []settingsFile{{filepath.Join(dir, "settings.json"), editJSON(serverEntry("context_servers", server{"", selfPath, mcp}, selfPath))}}, nil
	}
	return nil, memory.Errorf(memory.Invalid, "unknown client %q; valid: %s", client, strings.Join(clientNames, ", "))
}

// repeatedFlags returns the flags of this command line that the written entries repeat.
func (g *sharedState) repeatedFlags(cmd *cobra.Command) ([]string, error) {
	var out []string
	for _, f := range []struct {
		name, value string
		path        bool
	}{{"addr", *g.flags["addr"], false}, {"data", *g.flags["data"], true}, {"config", g.configFile, true}, {"user", g.user, false}} {
		if !cmd.Flags().Changed(f.name) {
			continue
		}
		if f.path {
			full, err := filepath.Abs(f.value)
			if err != nil {
				return nil, err
			}
			f.value = full
		}
		out = append(out, "--"+f.name, f.value)
	}
	return out, nil
}

// executablePath returns the path of this program. It prefers a link in PATH to the same file,
// because a package manager keeps that link across updates.
func executablePath() (string, error) {
	selfPath, err := os.Executable()
	if err != nil {
		return "", err
	}
	selfInfo, err := os.Stat(selfPath)
	if err != nil {
		return "", err
	}
	if onPath, err := exec.LookPath("loci"); err == nil {
		if pathInfo, err := os.Stat(onPath); err == nil && os.SameFile(selfInfo, pathInfo) {
			return filepath.Abs(onPath)
		}
	}
	return selfPath, nil
}

// plainWordPattern matches a word that needs no quotes in a shell.
var plainWordPattern = lazy.Compile(`^[\w@%+=:,./-]+$`)

// shellLine quotes words for a shell and joins them.
func shellLine(words []string) string {
	var out []string
	for _, w := range words {
		switch {
		case plainWordPattern.MatchString(w):
		case runtime.GOOS == "windows":
			w = `"` + w + `"`
		default:
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// isLociProgram reports whether program is selfPath or an absolute path of a file named loci, as connect writes.
func isLociProgram(program, selfPath string) bool {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	return filepath.IsAbs(program) && name == "loci" || program == selfPath
}

// lociHookPattern matches the beginning of a hook's command line as connect writes it.
var lociHookPattern = lazy.Compile(`^(/(\S+/)?loci|'/([^']+/)?loci'|"?[A-Za-z]:[^"]*[\\/]loci\.exe"?) hook\b`)

// jsonEntry is one entry that connect writes into a JSON file.
type jsonEntry struct {
	path         []string // keys down to the member or, if isList is set, down to the list
	isList       bool
	value        any
	findExisting func(root *hujson.Value) (path []string, upToDate bool, err error) // returns the path of an entry that connect wrote earlier, or nil
}

// editJSON returns a function that adds entries to a JSON text, or removes them.
func editJSON(entries ...jsonEntry) func(text string, remove bool) (string, error) {
	return func(text string, remove bool) (string, error) {
		bare := strings.TrimPrefix(text, "\ufeff")
		root, err := parseJSON(bare)
		for _, e := range entries {
			if err == nil {
				err = e.apply(root, remove)
			}
		}
		if err != nil {
			return text, err
		}
		return strings.TrimSuffix(text, bare) + root.String(), nil
	}
}

func (e jsonEntry) apply(root *hujson.Value, remove bool) error {
	path, upToDate, err := e.findExisting(root)
	switch {
	case err != nil || path == nil && remove || upToDate && !remove:
		return err
	case path != nil:
		removeJSON(root, path)
		return e.apply(root, remove)
	}
	value := e.value
	if e.isList && valueAt(root, e.path...) == nil {
		value = []any{value}
	}
	return insertJSON(root, e.path, value)
}

// serverEntry returns the entry of an MCP server named loci under a key.
func serverEntry(key string, value any, selfPath string) jsonEntry {
	path := []string{key, "loci"}
	return jsonEntry{path: path, value: value, findExisting: func(root *hujson.Value) ([]string, bool, error) {
		entry := valueAt(root, path...)
		if entry == nil {
			return nil, false, nil
		}
		existing := serverCommand(plainJSON(entry))
		if len(existing) < 2 || existing[1] != "mcp" || !isLociProgram(existing[0], selfPath) {
			return nil, false, errForeignEntry
		}
		wanted, err := json.Marshal(value)
		return path, slices.Equal(existing, serverCommand(wanted)), err
	}}
}

// plainJSON returns a value as JSON without comments.
func plainJSON(v *hujson.Value) []byte {
	bare := v.Clone()
	bare.Standardize()
	return bare.Pack()
}

// serverCommand returns the program and arguments of a client's MCP server.
func serverCommand(entry []byte) (command []string) {
	var server struct {
		Command any   `json:"command"` // in opencode: a list of the program and its arguments
		Args    []any `json:"args"`
	}
	_ = json.Unmarshal(entry, &server) // after an error the entry is not Loci's
	words, ok := server.Command.([]any)
	if !ok {
		words = append([]any{server.Command}, server.Args...)
	}
	for _, w := range words {
		command = append(command, fmt.Sprint(w))
	}
	return command
}

const hookTimeout = 5 // seconds; longer than hookDeadline, so that the hook can report its timeout

// hookEntry returns the hook for an event in the format of Claude Code and Codex: a group with one hook.
func hookEntry(event, command, selfPath string) jsonEntry {
	path := []string{"hooks", event}
	group := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": hookTimeout}}}
	return jsonEntry{path: path, isList: true, value: group, findExisting: func(root *hujson.Value) ([]string, bool, error) {
		var groups []struct{ Hooks []struct{ Command string } }
		if list := valueAt(root, path...); list == nil || json.Unmarshal(plainJSON(list), &groups) != nil { // not in the form that connect writes
			return nil, false, nil
		}
		for i, group := range groups {
			for j, h := range group.Hooks {
				if !lociHookPattern.MatchString(h.Command) && !strings.HasPrefix(h.Command, shellLine([]string{selfPath, hookName})) {
					continue
				}
				at := append(path, fmt.Sprint(i), "hooks", fmt.Sprint(j))
				if len(group.Hooks) == 1 { // remove the whole group, since a group without hooks is useless
					at = at[:3]
				}
				return at, h.Command == command, nil
			}
		}
		return nil, false, nil
	}}
}

// fileChange is the text of a settings file before and after an edit.
type fileChange struct {
	path             string
	oldText, newText string
	mode             fs.FileMode
}

// editFiles shows the changes of the files and, if write is set, writes the files. If it cannot edit one
// of the files, it writes no file.
func editFiles(out printer, client string, files []settingsFile, remove, write bool) error {
	var changes []fileChange
	for _, f := range files {
		c, err := f.planChange(remove)
		if errors.Is(err, errForeignEntry) {
			out.line("%s %s", f.path, err)
			continue
		}
		if err != nil {
			if byHand, editErr := f.edit(f.emptyText(), false); !remove && editErr == nil {
				out.line("add this to %s by hand:\n%s", f.path, byHand)
			}
			return fmt.Errorf("%w; nothing was written", err)
		}
		if c.oldText != c.newText {
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		out.line("nothing to do for %s", client)
		return nil
	}
	for _, c := range changes {
		out.line("%s", c.path)
		out.printLineDiff(c.oldText, c.newText)
		if !write {
			continue
		}
		if err := c.writeFile(); err != nil {
			return fmt.Errorf("write %s: %w", c.path, err)
		}
	}
	switch {
	case !write:
		out.line("nothing was written; add --yes to write the changes")
	case remove:
		out.line("written; restart %s", client)
	default:
		out.line("written; restart %s. If the server needs a key, set LOCI_API_KEY in the environment of %s: loci connect writes no key into files.", client, client)
		if client == "codex" {
			out.line("Codex runs a new hook only once you trust it: type /hooks in Codex.")
		}
	}
	return nil
}

// printLineDiff prints the removed and the added lines of a text.
func (s printer) printLineDiff(oldText, newText string) {
	for _, p := range diffLists(slices.Collect(strings.Lines(oldText)), slices.Collect(strings.Lines(newText)), "") {
		for line := range strings.Lines(p.text) {
			if p.sign != '=' {
				style := map[byte]string{'-': red, '+': green}[p.sign]
				s.line("%s", s.styled(style, string(p.sign)+" "+sanitize(strings.TrimRight(line, "\r\n"))))
			}
		}
	}
}

// planChange reads the file, or the target of a link, and returns the change to the text.
func (f settingsFile) planChange(remove bool) (fileChange, error) {
	c := fileChange{path: f.path, mode: 0o600}
	if target, err := filepath.EvalSymlinks(f.path); err == nil {
		c.path = target
	}
	data, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if info, err := os.Stat(c.path); err == nil {
		c.mode = info.Mode().Perm()
	}
	c.oldText, c.newText = string(data), string(data)
	text := c.oldText
	if strings.TrimSpace(text) == "" {
		if remove {
			return c, nil
		}
		text = f.emptyText()
	}
	if c.newText, err = f.edit(text, remove); err != nil && !errors.Is(err, errForeignEntry) {
		err = memory.Errorf(memory.Invalid, "%s: %w", c.path, err)
	}
	return c, err
}

// emptyText returns the text of an empty file of the same format.
func (f settingsFile) emptyText() string {
	if filepath.Ext(f.path) == ".toml" {
		return ""
	}
	return "{}\n"
}

func (c fileChange) writeFile() error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	if err := disk.ReplaceFileShared(c.path, []byte(c.newText)); err != nil {
		return err
	}
	return os.Chmod(c.path, c.mode)
}

// printOpenWebUI prints the variables to set in Open WebUI, which has no settings file.
func (g *sharedState) printOpenWebUI(cmd *cobra.Command) error {
	config, err := g.loadConfig(cmd)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), openWebUIText, config.ServerURL())
	return err
}

const openWebUIText = `Open WebUI has no settings file; nothing is written. Set this before it starts for the first time:

  OPENAI_API_BASE_URL=%s/v1
  OPENAI_API_KEY=KEY                      # loci keys add open-webui --front
  ENABLE_FORWARD_USER_INFO_HEADERS=true
  ENABLE_MEMORIES=false

docs/guide/openwebui.md describes the settings of the server, and a filter that works without the proxy.
`

package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

// tomlNote is the line above the table that connect writes.
const tomlNote = "# Written by loci connect.\n"

var (
	tomlHeader  = late.Compile(`^\s*\[`)
	tomlServer  = late.Compile(`^\s*\[\s*["']?mcp_servers["']?\s*\.\s*["']?loci["']?\s*(\.[^\]]*)?\]`)
	tomlServers = late.Compile(`^\s*\[\s*["']?mcp_servers["']?\s*\]`)
	tomlLoci    = late.Compile(`^\s*["']?loci["']?\s*[.=]`)
	tomlDotted  = late.Compile(`^\s*["']?mcp_servers["']?\s*\.\s*["']?loci\b`)
	tomlInline  = late.Compile(`^\s*["']?mcp_servers["']?\s*=`)
	tomlCommand = late.Compile(`(?m)^\s*command\s*=\s*("[^\r\n]*"|'[^\r\n]*')`)
	tomlEscaped = strings.NewReplacer(`\\`, "", `\"`, "")
)

// tomlSection is a table's text, with the empty lines and comments above it apart.
type tomlSection struct {
	lead, text string
	server     bool // of the MCP server loci, or of a table below it
	own        bool // of the server itself
}

// tomlEdit writes an MCP server into Codex's config.toml: a table of its own at the end. What
// goes takes the tables below it along, which Codex refuses without it.
func tomlEdit(self string, args []string) func(string, bool) (string, error) {
	return func(text string, remove bool) (string, error) {
		newline := "\n"
		if strings.Contains(text, "\r\n") {
			newline = "\r\n"
		}
		note := newline + strings.ReplaceAll(tomlNote, "\n", newline)
		command, arguments := "command = "+strconv.Quote(self), "args = "+tomlStrings(args)
		table := strings.Join([]string{"[mcp_servers.loci]", command, arguments,
			`env_vars = ["LOCI_API_KEY", "LOCI_ADDR"]`, ""}, newline) // Codex passes on none by itself
		sections, err := tomlSections(text)
		if err != nil {
			return text, err
		}
		var out strings.Builder
		found := false
		for _, s := range sections {
			if s.own {
				found = true
				at := tomlCommand.FindStringSubmatch(s.text)
				if at == nil || !isLoci(tomlValue(at[1]), self) {
					return text, errForeign
				}
				if !remove && (!strings.Contains(s.text, command) || !strings.Contains(s.text, arguments)) {
					s.text = table
				}
			}
			if remove && s.server {
				if lead, ours := strings.CutSuffix(s.lead, note); ours {
					out.WriteString(lead)
				} else if strings.Contains(s.lead, "#") {
					out.WriteString(strings.TrimSuffix(s.lead, strings.TrimPrefix(note, newline)))
				}
				continue
			}
			out.WriteString(s.lead + s.text)
		}
		if found || remove {
			return out.String(), nil
		}
		switch {
		case text == "":
			return strings.TrimPrefix(note, newline) + table, nil
		case !strings.HasSuffix(text, "\n"):
			text += newline
		}
		return text + note + table, nil
	}
}

// tomlSections takes a file apart. Written one after the other its sections are the file.
func tomlSections(text string) ([]tomlSection, error) {
	sections := []tomlSection{{}}
	pending, quoted, servers := "", "", false
	for line := range strings.Lines(text) {
		bare, inString := strings.TrimSpace(line), quoted != ""
		quoted = openString(strings.TrimRight(line, "\r\n"), quoted)
		if !inString && (bare == "" || bare[0] == '#') {
			pending += line
			continue
		}
		if inString {
			bare = ""
		}
		switch {
		case tomlHeader.MatchString(bare):
			below := tomlServer.FindStringSubmatch(bare)
			servers = tomlServers.MatchString(bare)
			sections = append(sections, tomlSection{lead: pending, server: below != nil, own: below != nil && below[1] == ""})
			pending = ""
		case len(sections) == 1 && tomlInline.MatchString(bare):
			return nil, errors.New("mcp_servers is on one line; write it as tables, or add Loci by hand: codex mcp add loci -- loci mcp")
		case len(sections) == 1 && tomlDotted.MatchString(bare), servers && tomlLoci.MatchString(bare):
			return nil, errForeign
		}
		last := &sections[len(sections)-1]
		last.text += pending + line
		pending = ""
	}
	return append(sections, tomlSection{lead: pending}), nil
}

// openString returns the mark of the string of several lines that a line leaves open, where
// it began within that of quoted; "" for none.
func openString(line, quoted string) string {
	line = tomlEscaped.Replace(line)
	for line != "" {
		if quoted != "" {
			_, rest, closed := strings.Cut(line, quoted)
			if !closed {
				break
			}
			line, quoted = rest, ""
			continue
		}
		i := strings.IndexAny(line, `"'#`)
		if i < 0 || line[i] == '#' {
			break
		}
		quoted = line[i : i+1]
		if strings.HasPrefix(line[i:], strings.Repeat(quoted, 3)) {
			quoted = line[i : i+3]
		}
		line = line[i+len(quoted):]
	}
	if len(quoted) < 3 {
		return ""
	}
	return quoted
}

func tomlStrings(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, strconv.Quote(w))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func tomlValue(quoted string) string {
	if s, err := strconv.Unquote(quoted); err == nil {
		return s
	}
	return strings.Trim(quoted, "'")
}

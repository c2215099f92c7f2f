package cli

import (
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// tomlNote stands above the table that connect writes.
const tomlNote = "\n# Written by loci connect.\n"

var (
	tomlServer  = lazy.Compile(`^\[\s*["']?mcp_servers["']?\s*\.\s*["']?loci["']?\s*(\.[^\]]*)?\]`)
	tomlOther   = lazy.Compile(`(?m)^\s*["']?(mcp_servers|loci)["']?\s*[.=]`) // the server may be in it
	tomlCommand = lazy.Compile(`(?m)^\s*command\s*=\s*("[^\r\n]*"|'[^\r\n]*')`)
)

// tomlEdit writes an MCP server into Codex's config.toml, as a table at the end. Removing it
// removes its sub-tables as well, which Codex refuses without their parent.
func tomlEdit(self string, args []string) func(string, bool) (string, error) {
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, strconv.Quote(arg))
	}
	command, arguments := "command = "+strconv.Quote(self), "args = ["+strings.Join(quoted, ", ")+"]"
	table := "[mcp_servers.loci]\n" + command + "\n" + arguments + "\n" +
		"env_vars = [\"LOCI_API_KEY\", \"LOCI_ADDR\"]\n" // Codex passes on no others
	return func(text string, remove bool) (string, error) {
		own, rest := cutTOML(text, remove)
		program := tomlCommand.FindStringSubmatch(own)
		switch {
		case own == "" && remove:
			return text, nil
		case own == "" && tomlOther.MatchString(text):
			return text, errForeign
		case own == "":
		case program == nil || !isLoci(tomlString(program[1]), self):
			return text, errForeign
		case remove:
			return rest, nil
		case strings.Contains(own, command) && strings.Contains(own, arguments):
			return text, nil
		default:
			text = rest
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + tomlNote + table, nil
	}
}

// cutTOML returns the table of the server and the text without it and, if wanted, without the
// tables below it.
func cutTOML(text string, below bool) (own, rest string) {
	pending := "" // empty lines and comments, which belong to the next line
	inOwn, cut := false, false
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if bare == "" || bare[0] == '#' {
			pending += line
			continue
		}
		if bare[0] == '[' {
			server := tomlServer.FindStringSubmatch(bare)
			inOwn = server != nil && server[1] == ""
			if cut = inOwn || below && server != nil; cut {
				pending = strings.TrimSuffix(pending, tomlNote)
				if !inOwn && strings.HasSuffix("\n"+pending, "\n\n") { // with the empty line above the table
					pending = pending[:len(pending)-1]
				}
				rest, pending = rest+pending, ""
			}
		}
		if inOwn {
			own += pending + line
		}
		if !cut {
			rest += pending + line
		}
		pending = ""
	}
	return own, rest + pending
}

func tomlString(quoted string) string {
	if s, err := strconv.Unquote(quoted); err == nil {
		return s
	}
	return strings.Trim(quoted, "'")
}

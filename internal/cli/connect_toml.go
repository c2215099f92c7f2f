package cli

import (
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// tomlNote stands above the table that connect writes.
const tomlNote = "\n# Written by loci connect.\n"

var (
	tomlTable   = lazy.Compile(`(?m)(?:^\n)?(?:^# Written by loci connect\.\n)?^\[mcp_servers\.loci\]\n(?:[^\[\n#].*(?:\n|\z))*`)
	tomlBelow   = lazy.Compile(`(?m)(?:^\n)?^\[mcp_servers\.loci\.[^\]\n]+\]\n(?:[^\[\n#].*(?:\n|\z))*`)
	tomlOther   = lazy.Compile(`(?m)^\s*\[?\s*["']?(mcp_servers["']?\s*(=|\.\s*["']?loci\b)|loci["']?\s*[.=])`) // a server of the name in another form
	tomlCommand = lazy.Compile(`(?m)^command\s*=\s*("[^\r\n]*"|'[^\r\n]*')`)
)

// tomlEdit writes an MCP server into Codex's config.toml, as a table at the end. Removing it
// removes its sub-tables as well, which Codex refuses without their parent.
func tomlEdit(self string, args []string) func(string, bool) (string, error) {
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, strconv.Quote(arg))
	}
	command := "command = " + strconv.Quote(self) + "\nargs = [" + strings.Join(quoted, ", ") + "]\n"
	table := tomlNote + "[mcp_servers.loci]\n" + command +
		"env_vars = [\"LOCI_API_KEY\", \"LOCI_ADDR\"]\n" // Codex passes on no others
	return func(text string, remove bool) (string, error) {
		own := tomlTable.FindString(text)
		switch program := tomlCommand.FindStringSubmatch(own); {
		case own == "" && tomlOther.MatchString(text), own != "" && (program == nil || !isLoci(tomlString(program[1]), self)):
			return text, errForeign
		case remove:
			return tomlBelow.ReplaceAllString(strings.Replace(text, own, "", 1), ""), nil
		case strings.Contains(own, command):
			return text, nil
		case own != "":
			return strings.Replace(text, own, table, 1), nil
		case text != "" && !strings.HasSuffix(text, "\n"):
			text += "\n"
		}
		return text + table, nil
	}
}

func tomlString(quoted string) string {
	if s, err := strconv.Unquote(quoted); err == nil {
		return s
	}
	return strings.Trim(quoted, "'")
}

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/loci-memory/loci/internal/lazy"
)

// jsonPart is a member of an object or an element of an array, with the preceding space and comments.
type jsonPart struct {
	key     string // name of a member, or index of an element
	leading *hujson.Extra
	value   *hujson.Value
}

// partsOf returns the parts of an object or array, and the space and comments after the last part.
func partsOf(container *hujson.Value) (parts []jsonPart, trailing *hujson.Extra) {
	if container == nil {
		return nil, nil
	}
	switch container := container.Value.(type) {
	case *hujson.Object:
		for i := range container.Members {
			m := &container.Members[i]
			parts = append(parts, jsonPart{m.Name.Value.(hujson.Literal).String(), &m.Name.BeforeExtra, &m.Value})
		}
		trailing = &container.AfterExtra
	case *hujson.Array:
		for i := range container.Elements {
			parts = append(parts, jsonPart{fmt.Sprint(i), &container.Elements[i].BeforeExtra, &container.Elements[i]})
		}
		trailing = &container.AfterExtra
	}
	return parts, trailing
}

// parseJSON parses a settings file, which may have comments and must be an object.
func parseJSON(text string) (*hujson.Value, error) {
	root, err := hujson.Parse([]byte(text))
	if err == nil && root.Value.Kind() != '{' {
		err = errors.New("the file is not a JSON object")
	}
	return &root, err
}

// valueAt returns the value at a path of keys, or nil.
func valueAt(root *hujson.Value, path ...string) *hujson.Value {
	if len(path) == 0 {
		return root
	}
	return root.Find("/" + strings.Join(path, "/"))
}

// insertJSON adds a value at a path of keys: as a new member or, if the path leads to an array, as the
// array's last element. It creates missing objects of the path.
func insertJSON(root *hujson.Value, path []string, value any) error {
	container, missing := root, path
	for len(missing) > 0 && valueAt(container, missing[0]) != nil {
		container, missing = valueAt(container, missing[0]), missing[1:]
	}
	parts, trailing := partsOf(container)
	_, isArray := container.Value.(*hujson.Array)
	if trailing == nil || isArray != (len(missing) == 0) {
		return fmt.Errorf("%s is neither an object nor a list", strings.Join(path[:len(path)-len(missing)], "."))
	}
	for _, key := range slices.Backward(missing[min(1, len(missing)):]) {
		value = map[string]any{key: value}
	}
	indentUnit := "  "
	if all, _ := partsOf(root); len(all) > 0 && indentOf(*all[0].leading) != "" {
		indentUnit = indentOf(*all[0].leading)
	}
	indent := strings.Repeat(indentUnit, len(path)-len(missing)+1)
	separator := "\n" + indent
	if len(parts) > 0 && !bytes.Contains(*parts[0].leading, []byte("\n")) {
		separator = " "
	}
	added, err := encodeJSON(value, indent, indentUnit, separator == " ")
	if err != nil {
		return err
	}
	comments := bytes.TrimRight(*trailing, " \t\r\n")
	leading := hujson.Extra(slices.Concat(comments, []byte(separator)))
	if *trailing = (*trailing)[len(comments):]; len(parts) == 0 && !bytes.Contains(*trailing, []byte("\n")) {
		*trailing = []byte("\n" + strings.TrimPrefix(indent, indentUnit))
	}
	if len(parts) > 0 { // keep a trailing comma after the last element
		last := parts[len(parts)-1].value
		added.AfterExtra, last.AfterExtra = last.AfterExtra, nil
	}
	switch container := container.Value.(type) {
	case *hujson.Object:
		container.Members = append(container.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: leading, Value: hujson.String(missing[0])}, Value: added})
		container.Members[len(container.Members)-1].Value.BeforeExtra = hujson.Extra(" ")
	case *hujson.Array:
		added.BeforeExtra = leading
		container.Elements = append(container.Elements, added)
	}
	return nil
}

func encodeJSON(value any, indent, indentUnit string, oneLine bool) (hujson.Value, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent(indent, indentUnit)
	}
	if err := enc.Encode(value); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.TrimSpace(out.Bytes()))
}

// indentOf returns the indentation of a value; leading is the space before the value.
func indentOf(leading hujson.Extra) string {
	_, indent, _ := strings.Cut(string(leading[max(0, bytes.LastIndexByte(leading, '\n')):]), "\n")
	return indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))]
}

// removeJSON removes the value at a path, and the objects that become empty. Comments stay.
func removeJSON(root *hujson.Value, path []string) {
	container := valueAt(root, path[:len(path)-1]...)
	parts, trailing := partsOf(container)
	i := slices.IndexFunc(parts, func(p jsonPart) bool { return p.key == path[len(path)-1] })
	next, own := trailing, *parts[i].leading
	if i+1 < len(parts) {
		next = parts[i+1].leading
	}
	if comments := bytes.TrimRight(own, " \t\r\n"); len(comments) > 0 {
		rest := bytes.TrimLeft(*next, " \t\r")
		if bytes.HasPrefix(rest, []byte("\n")) {
			own = comments
		}
		*next = slices.Concat(own, rest)
	}
	if i > 0 && i == len(parts)-1 {
		parts[i-1].value.AfterExtra = parts[i].value.AfterExtra
	}
	switch container := container.Value.(type) {
	case *hujson.Object:
		container.Members = slices.Delete(container.Members, i, i+1)
	case *hujson.Array:
		container.Elements = slices.Delete(container.Elements, i, i+1)
	}
	if len(parts) == 1 && len(bytes.TrimSpace(*trailing)) == 0 {
		if *trailing = nil; len(path) > 1 {
			removeJSON(root, path[:len(path)-1])
		}
	}
}

// tomlNote is the comment above the TOML table that connect writes.
const tomlNote = "\n# Written by loci connect.\n"

var (
	tomlTablePattern    = lazy.Compile(`(?m)(?:^\n)?(?:^# Written by loci connect\.\n)?^\[mcp_servers\.loci\]\n(?:[^\[\n#].*(?:\n|\z))*`)
	tomlSubtablePattern = lazy.Compile(`(?m)(?:^\n)?^\[mcp_servers\.loci\.[^\]\n]+\]\n(?:[^\[\n#].*(?:\n|\z))*`)
	tomlForeignPattern  = lazy.Compile(`(?m)^\s*\[?\s*["']?(mcp_servers["']?\s*(=|\.\s*["']?loci\b)|loci["']?\s*[.=])`) // matches a server named loci in a notation that connect does not write
	tomlCommandPattern  = lazy.Compile(`(?m)^command\s*=\s*("[^\r\n]*"|'[^\r\n]*')`)
)

// editTOML returns a function that adds the MCP server to Codex's config.toml, as a table at the end, or
// removes the table and its sub-tables, because Codex refuses a sub-table without its parent.
func editTOML(selfPath string, args []string) func(string, bool) (string, error) {
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, strconv.Quote(arg))
	}
	command := "command = " + strconv.Quote(selfPath) + "\nargs = [" + strings.Join(quoted, ", ") + "]\n"
	table := tomlNote + "[mcp_servers.loci]\n" + command +
		"env_vars = [\"LOCI_API_KEY\", \"LOCI_ADDR\"]\n" // Codex gives the server only these variables
	return func(text string, remove bool) (string, error) {
		existing := tomlTablePattern.FindString(text)
		switch program := tomlCommandPattern.FindStringSubmatch(existing); {
		case existing == "" && tomlForeignPattern.MatchString(text), existing != "" && (program == nil || !isLociProgram(unquoteTOML(program[1]), selfPath)):
			return text, errForeignEntry
		case remove:
			return tomlSubtablePattern.ReplaceAllString(strings.Replace(text, existing, "", 1), ""), nil
		case strings.Contains(existing, command):
			return text, nil
		case existing != "":
			return strings.Replace(text, existing, table, 1), nil
		case text != "" && !strings.HasSuffix(text, "\n"):
			text += "\n"
		}
		return text + table, nil
	}
}

func unquoteTOML(quoted string) string {
	if s, err := strconv.Unquote(quoted); err == nil {
		return s
	}
	return strings.Trim(quoted, "'")
}

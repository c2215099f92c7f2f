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
	key    string // name of a member, or index of an element
	before *hujson.Extra
	value  *hujson.Value
}

// partsOf returns the parts of an object or array, and the space and comments after the last part.
func partsOf(in *hujson.Value) (parts []jsonPart, after *hujson.Extra) {
	if in == nil {
		return nil, nil
	}
	switch in := in.Value.(type) {
	case *hujson.Object:
		for i := range in.Members {
			m := &in.Members[i]
			parts = append(parts, jsonPart{m.Name.Value.(hujson.Literal).String(), &m.Name.BeforeExtra, &m.Value})
		}
		after = &in.AfterExtra
	case *hujson.Array:
		for i := range in.Elements {
			parts = append(parts, jsonPart{fmt.Sprint(i), &in.Elements[i].BeforeExtra, &in.Elements[i]})
		}
		after = &in.AfterExtra
	}
	return parts, after
}

// parseJSON parses a settings file, which may have comments and must be an object.
func readJSON(text string) (*hujson.Value, error) {
	root, err := hujson.Parse([]byte(text))
	if err == nil && root.Value.Kind() != '{' {
		err = errors.New("the file is not a JSON object")
	}
	return &root, err
}

// valueAt returns the value at a path of keys, or nil.
func memberOf(root *hujson.Value, path ...string) *hujson.Value {
	if len(path) == 0 {
		return root
	}
	return root.Find("/" + strings.Join(path, "/"))
}

// insertJSON adds a value at a path of keys: as a new member or, if the path leads to an array, as the
// array's last element. It creates missing objects of the path.
func putJSON(root *hujson.Value, path []string, value any) error {
	in, missing := root, path
	for len(missing) > 0 && memberOf(in, missing[0]) != nil {
		in, missing = memberOf(in, missing[0]), missing[1:]
	}
	parts, after := partsOf(in)
	_, isArray := in.Value.(*hujson.Array)
	if after == nil || isArray != (len(missing) == 0) {
		return fmt.Errorf("%s is neither an object nor a list", strings.Join(path[:len(path)-len(missing)], "."))
	}
	for _, key := range slices.Backward(missing[min(1, len(missing)):]) {
		value = map[string]any{key: value}
	}
	unit := "  "
	if all, _ := partsOf(root); len(all) > 0 && indentOf(*all[0].before) != "" {
		unit = indentOf(*all[0].before)
	}
	indent := strings.Repeat(unit, len(path)-len(missing)+1)
	separate := "\n" + indent
	if len(parts) > 0 && !bytes.Contains(*parts[0].before, []byte("\n")) {
		separate = " "
	}
	added, err := encodeJSON(value, indent, unit, separate == " ")
	if err != nil {
		return err
	}
	comments := bytes.TrimRight(*after, " \t\r\n")
	before := hujson.Extra(slices.Concat(comments, []byte(separate)))
	if *after = (*after)[len(comments):]; len(parts) == 0 && !bytes.Contains(*after, []byte("\n")) {
		*after = []byte("\n" + strings.TrimPrefix(indent, unit))
	}
	if len(parts) > 0 { // keep a trailing comma after the last element
		last := parts[len(parts)-1].value
		added.AfterExtra, last.AfterExtra = last.AfterExtra, nil
	}
	switch in := in.Value.(type) {
	case *hujson.Object:
		in.Members = append(in.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(missing[0])}, Value: added})
		in.Members[len(in.Members)-1].Value.BeforeExtra = hujson.Extra(" ")
	case *hujson.Array:
		added.BeforeExtra = before
		in.Elements = append(in.Elements, added)
	}
	return nil
}

func encodeJSON(value any, indent, unit string, oneLine bool) (hujson.Value, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent(indent, unit)
	}
	if err := enc.Encode(value); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.TrimSpace(out.Bytes()))
}

// indentOf returns the indentation at the end of the white space before a value.
func indentOf(before hujson.Extra) string {
	_, indent, _ := strings.Cut(string(before[max(0, bytes.LastIndexByte(before, '\n')):]), "\n")
	return indent[:len(indent)-len(strings.TrimLeft(indent, " \t"))]
}

// removeJSON removes the value at a path, and the objects that become empty. Comments stay.
func cutJSON(root *hujson.Value, path []string) {
	in := memberOf(root, path[:len(path)-1]...)
	parts, after := partsOf(in)
	i := slices.IndexFunc(parts, func(p jsonPart) bool { return p.key == path[len(path)-1] })
	next, own := after, *parts[i].before
	if i+1 < len(parts) {
		next = parts[i+1].before
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
	switch in := in.Value.(type) {
	case *hujson.Object:
		in.Members = slices.Delete(in.Members, i, i+1)
	case *hujson.Array:
		in.Elements = slices.Delete(in.Elements, i, i+1)
	}
	if len(parts) == 1 && len(bytes.TrimSpace(*after)) == 0 {
		if *after = nil; len(path) > 1 {
			cutJSON(root, path[:len(path)-1])
		}
	}
}

// tomlNote is the comment above the TOML table that connect writes.
const tomlNote = "\n# Written by loci connect.\n"

var (
	tomlTable   = lazy.Compile(`(?m)(?:^\n)?(?:^# Written by loci connect\.\n)?^\[mcp_servers\.loci\]\n(?:[^\[\n#].*(?:\n|\z))*`)
	tomlBelow   = lazy.Compile(`(?m)(?:^\n)?^\[mcp_servers\.loci\.[^\]\n]+\]\n(?:[^\[\n#].*(?:\n|\z))*`)
	tomlOther   = lazy.Compile(`(?m)^\s*\[?\s*["']?(mcp_servers["']?\s*(=|\.\s*["']?loci\b)|loci["']?\s*[.=])`) // a server named loci in a notation that connect does not write
	tomlCommand = lazy.Compile(`(?m)^command\s*=\s*("[^\r\n]*"|'[^\r\n]*')`)
)

// tomlEdit returns a function that adds the MCP server to Codex's config.toml, as a table at the end, or
// removes it. Removing includes sub-tables, because Codex refuses a sub-table without its parent.
func tomlEdit(self string, args []string) func(string, bool) (string, error) {
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, strconv.Quote(arg))
	}
	command := "command = " + strconv.Quote(self) + "\nargs = [" + strings.Join(quoted, ", ") + "]\n"
	table := tomlNote + "[mcp_servers.loci]\n" + command +
		"env_vars = [\"LOCI_API_KEY\", \"LOCI_ADDR\"]\n" // Codex gives the server only these variables
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

package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// aliases lists, for each parameter, the wrong names that models use for it. If several parameters of a tool have
// the same alias, the alias means the first of these parameters.
var aliases = map[string][]string{
	"query":    {"q", "text", "question", "search", "prompt", "input", "keywords", "topic", "content"},
	"topic":    {"query", "q", "text", "about", "subject", "question", "prompt", "input"},
	"content":  {"text", "fact", "memory", "note", "message", "value", "statement", "data"},
	"limit":    {"topk", "k", "n", "max", "maxresults", "count", "numresults", "size", "pagesize"},
	"id":       {"memoryid", "factid", "uuid"},
	"ids":      {"id", "memoryid", "memoryids", "factid", "factids"},
	"tags":     {"tag", "labels", "label"},
	"tag":      {"tags", "label"},
	"kind":     {"kinds"},
	"cursor":   {"nextcursor", "pagetoken", "next"},
	"decision": {"action", "verdict", "judgement", "judgment"},
	"dry_run":  {"preview"},
}

// normalizeName returns the form in which names are compared, so that topK equals top_k.
func normalizeName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// arguments are the arguments of one call. Models sometimes write numbers, booleans and lists as text, so the
// methods also accept text.
type arguments struct {
	values map[string]json.RawMessage // by parameter name
	err    error                      // first error that a method found
}

// maxArguments is the maximum number of arguments of a call.
const maxArguments = 50

// readArguments parses the arguments of a call to a tool with these parameters.
func readArguments(raw json.RawMessage, parameters []string) (*arguments, error) {
	var nested string
	if json.Unmarshal(raw, &nested) == nil && nested != "" { // some models send the object inside a string
		raw = json.RawMessage(nested)
	}
	var received map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &received) != nil {
		return nil, memory.Errorf(memory.Invalid, "the arguments are not a JSON object")
	}
	if len(received) > maxArguments {
		return nil, memory.Errorf(memory.Invalid, "%d arguments are too many; valid: %s", len(received), strings.Join(parameters, ", "))
	}
	a := &arguments{values: map[string]json.RawMessage{}}
	for _, name := range slices.Sorted(maps.Keys(received)) {
		if string(received[name]) == "null" {
			continue
		}
		parameter := parameterOf(name, received, parameters)
		if parameter == "" {
			return nil, memory.Errorf(memory.Invalid, "unknown argument %q; valid: %s", httpx.Truncate(name, 60), strings.Join(parameters, ", "))
		}
		if _, duplicate := a.values[parameter]; duplicate {
			return nil, memory.Errorf(memory.Invalid, "%s: duplicate argument, also named %q", parameter, httpx.Truncate(name, 60))
		}
		a.values[parameter] = received[name]
	}
	return a, nil
}

// parameterOf returns the parameter with a name or alias, or "" if no parameter has it. An alias is ignored if
// the call also has the parameter's own name.
func parameterOf(name string, received map[string]json.RawMessage, parameters []string) string {
	for _, p := range parameters {
		if normalizeName(p) == normalizeName(name) {
			return p
		}
	}
	for _, p := range parameters {
		if _, hasOwnName := received[p]; !hasOwnName && slices.Contains(aliases[p], normalizeName(name)) {
			return p
		}
	}
	return ""
}

func (a *arguments) setError(name, format string, args ...any) {
	if a.err == nil {
		a.err = memory.Errorf(memory.Invalid, name+": "+format, args...)
	}
}

func (a *arguments) has(name string) bool { return a.values[name] != nil }

// text returns an argument of at most maxBytes bytes, or "" if the argument is absent. A number is returned as
// digits.
func (a *arguments) text(name string, maxBytes int) string {
	raw := a.values[name]
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		var n json.Number
		if json.Unmarshal(raw, &n) != nil {
			a.setError(name, "must be a string")
			return ""
		}
		s = n.String()
	}
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		a.setError(name, "is not valid UTF-8, or contains a null byte")
	case len(s) > maxBytes:
		a.setError(name, "has %d bytes, more than %d", len(s), maxBytes)
	}
	return s
}

// requiredText returns a trimmed text, like [arguments.text]; a blank or absent argument is an error.
func (a *arguments) requiredText(name string, maxBytes int) string {
	s := strings.TrimSpace(a.text(name, maxBytes))
	if s == "" {
		a.setError(name, "is missing")
	}
	return s
}

// oneOf returns an argument that must be one of the valid values, or "" if the argument is absent.
func (a *arguments) oneOf(name string, valid ...string) string {
	s := strings.ToLower(strings.TrimSpace(a.text(name, maxNameBytes)))
	if s != "" && !slices.Contains(valid, s) {
		a.setError(name, "%q is invalid; valid: %s", httpx.Truncate(s, 60), strings.Join(valid, ", "))
	}
	return s
}

// number returns a whole number of at least 1, or fallback if the argument is absent. Numbers above maximum become maximum.
func (a *arguments) number(name string, fallback, maximum int) int {
	if !a.has(name) {
		return fallback
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(a.text(name, maxNameBytes)), 64)
	if err != nil || n != math.Trunc(n) || n < 1 {
		a.setError(name, "must be a whole number from 1 to %d", maximum)
		return fallback
	}
	return int(min(n, float64(maximum)))
}

// boolean returns a boolean argument, or fallback if the argument is absent.
func (a *arguments) boolean(name string, fallback bool) bool {
	raw := a.values[name]
	if raw == nil {
		return fallback
	}
	b, err := strconv.ParseBool(strings.ToLower(strings.Trim(string(raw), `" `)))
	if err != nil {
		a.setError(name, "must be true or false")
		return fallback
	}
	return b
}

// textList returns a list of at most maxEntries texts, or nil if the argument is absent. It accepts a JSON list,
// a JSON list inside a string, and comma-separated text.
func (a *arguments) textList(name string, maxEntries int) []string {
	raw := a.values[name]
	if raw == nil {
		return nil
	}
	out := []string{}
	if json.Unmarshal(raw, &out) != nil {
		s := strings.TrimSpace(a.text(name, maxEntries*(maxNameBytes+2)))
		if json.Unmarshal([]byte(s), &out) != nil {
			out = strings.Split(s, ",")
		}
	}
	for i := range out {
		if out[i] = strings.TrimSpace(out[i]); len(out[i]) > maxNameBytes || !utf8.ValidString(out[i]) {
			a.setError(name, "has an entry of more than %d bytes", maxNameBytes)
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" })
	if len(out) > maxEntries {
		a.setError(name, "has %d entries, more than %d", len(out), maxEntries)
	}
	return out
}

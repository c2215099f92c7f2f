package chatapi

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// RefusalKind is the reason why an upstream refused a request.
type RefusalKind string

// Kinds of refusals.
const (
	RefusesOther  RefusalKind = ""       // any other reason
	RefusesRoles  RefusalKind = "roles"  // the server refuses the roles of the messages or their order
	RefusesLength RefusalKind = "length" // the request is too long
)

// Refusal classifies an upstream's error.
type Refusal struct {
	Kind    RefusalKind
	Wording string // matching text of refusals.txt, "" for RefusesOther
}

// maxErrorBytes is the maximum number of bytes of an error text that are compared with refusals.txt.
const maxErrorBytes = 8 << 10

// ReadRefusal classifies an error body of any server. It reads only the error's message, type and code, because
// other fields may quote the request.
func ReadRefusal(body []byte) Refusal {
	text := normalizedText(strings.Join(errorTexts(gjson.ParseBytes(body), body), "\n"))
	for _, w := range refusalWordings() {
		if strings.Contains(text, w.text) {
			return Refusal{w.kind, w.text}
		}
	}
	return Refusal{}
}

// ErrorMessage returns the message in an error body of any server, "" if there is none.
func ErrorMessage(body []byte) string {
	for _, text := range errorTexts(gjson.ParseBytes(body), body) {
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return ""
}

// errorTexts returns the message, type and code of an error in the servers' formats, or the whole body if it is
// not a JSON object.
func errorTexts(root gjson.Result, body []byte) (out []string) {
	if root.IsArray() {
		root = root.Get("0")
	}
	if !root.IsObject() || !gjson.ValidBytes(body) {
		return []string{string(body[:min(len(body), maxErrorBytes)])}
	}
	for _, path := range []string{
		"error", "error.message", "error.type", "error.code", "error.metadata.raw",
		"message", "type", "code", "detail", "detail.#.msg",
	} {
		for _, v := range root.Get(path).Array() {
			if v.Type == gjson.String {
				s := stringOf(v)
				out = append(out, s[:min(len(s), maxErrorBytes)])
			}
		}
	}
	return out
}

// normalizedText returns s in lower case, with single spaces and without quotation marks, because servers
// write the same message in different ways.
func normalizedText(s string) string {
	s = strings.NewReplacer(`"`, "", `'`, "", "`", "", `\`, "", "’", "", "“", "", "”", "").Replace(strings.ToLower(s))
	return strings.Join(strings.Fields(s), " ")
}

//go:embed refusals.txt
var refusalLines string

// wording is part of a server's error text, with the kind of refusal that it indicates.
type wording struct {
	kind RefusalKind
	text string
}

// refusalWordings returns the entries of refusals.txt, those about length first.
var refusalWordings = sync.OnceValue(func() []wording {
	var length, roles []wording
	for line := range strings.Lines(refusalLines) {
		kind, text, ok := strings.Cut(line, ":")
		switch w := (wording{RefusalKind(kind), normalizedText(text)}); {
		case strings.HasPrefix(line, "#") || !ok:
		case w.kind == RefusesLength:
			length = append(length, w)
		default:
			roles = append(roles, w)
		}
	}
	return append(length, roles...)
})

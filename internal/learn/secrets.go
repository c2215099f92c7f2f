package learn

import (
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/text"
)

// secret is one form that a secret takes. The first group, where there is one, is
// the secret itself; holds, where there is one, must agree.
type secret struct {
	name  string
	needs needs
	form  *regexp.Regexp
	holds func(string) bool
}

// needs is what a text has that holds a form of secret, so that most texts are
// passed over without trying the expressions.
type needs struct {
	digits int      // at least so many
	anyOf  []string // one of these, none for whatever
	folded bool     // they stand in any case
}

var secretForms = []secret{
	{"private key", needs{anyOf: []string{"-----BEGIN "}}, regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`), nil},
	{"api key", needs{digits: 1, anyOf: []string{"sk-", "sk_", "pk-", "pk_", "rk-", "rk_"}}, regexp.MustCompile(`\b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9_-]{16,}`), hasDigit},
	{"api key", needs{anyOf: []string{"AKIA", "ASIA"}}, regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), nil},
	{"api key", needs{anyOf: []string{"AIza"}}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), nil},
	{"api key", needs{digits: 1, anyOf: []string{"hf-", "hf_", "gsk", "npm", "glpat", "dop_v1"}}, regexp.MustCompile(`\b(?:hf|gsk|npm|glpat|dop_v1)[-_][A-Za-z0-9_-]{16,}`), hasDigit},
	{"token", needs{anyOf: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`), nil},
	{"token", needs{anyOf: []string{"xox"}}, regexp.MustCompile(`\bxox[a-z]-[A-Za-z0-9-]{10,}`), nil},
	{"token", needs{anyOf: []string{"eyJ"}}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), nil},
	{"token", needs{digits: 1, anyOf: []string{"bearer"}, folded: true}, regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})`), hasDigit},
	{"password", needs{anyOf: []string{"://"}}, regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s/:@]+:([^\s/@]+)@`), nil},
	{"password", needs{anyOf: []string{"pass", "pwd"}, folded: true}, regexp.MustCompile(`(?i)\b(?:password|passwort|passphrase|passcode|passwd|pwd)\b["']?\s*(?:is|was|:|=|->)\s*["'“]?([^\s"'”,;]{4,})`), looksSecret},
	{"pin", needs{digits: 4, anyOf: []string{"pin"}, folded: true}, regexp.MustCompile(`(?i)\bpin(?:\s+(?:code|number))?\b\s*(?:is|:|=)\s*(\d{4,8})\b`), nil},
	{"secret", needs{digits: 1, anyOf: []string{"key", "secret", "token"}, folded: true}, regexp.MustCompile(`(?i)\b[a-z0-9_-]*(?:api[_ -]?key|secret|token|access[_ -]?key)\b["']?\s*(?:is|:|=)\s*["'“]?([A-Za-z0-9_./+=-]{12,})`), hasDigit},
	{"card number", needs{digits: 13}, regexp.MustCompile(`\b\d(?:[ -]?\d){12,18}\b`), luhn},
}

var personalForms = []secret{
	{"email", needs{anyOf: []string{"@"}}, regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\b`), nil},
	{"bank account", needs{digits: 2}, regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`), iban},
	{"social security number", needs{digits: 9}, regexp.MustCompile(`\b\d{3}-\d{2}-\d{4}\b`), nil},
	{"phone number", needs{digits: 5, anyOf: []string{"+"}}, regexp.MustCompile(`(?:\+\d{1,3}[ .-]?)(?:\(?\d{1,4}\)?[ .-]?){2,5}\d{2,4}\b`), nil},
	{"phone number", needs{digits: 10}, regexp.MustCompile(`\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b`), nil},
}

// traits are what [needs] are held against.
type traits struct {
	text, folded string
	digits       int
	longS        bool // to an expression that takes any case it is an s
}

func traitsOf(s string) traits {
	t := traits{text: s, folded: strings.ToLower(s), longS: strings.Contains(s, "ſ")}
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			t.digits++
		}
	}
	return t
}

// in reports whether a text may hold the form.
func (n needs) in(t *traits) bool {
	if t.digits < n.digits {
		return false
	}
	if len(n.anyOf) == 0 || n.folded && t.longS {
		return true
	}
	text := t.text
	if n.folded {
		text = t.folded
	}
	for _, part := range n.anyOf {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// find returns where the form stands in s.
func (form *secret) find(s string) []foundSecret {
	var found []foundSecret
	for _, m := range form.form.FindAllStringSubmatchIndex(s, -1) {
		span := text.Span{Start: m[0], End: m[1]}
		if len(m) > 2 && m[2] >= 0 {
			span = text.Span{Start: m[2], End: m[3]}
		}
		if form.holds == nil || form.holds(span.Of(s)) {
			found = append(found, foundSecret{span, form.name})
		}
	}
	return found
}

// Redact returns s with secrets replaced by what they are: API keys, tokens,
// private keys, passwords and card numbers; with personal also addresses of mail,
// phone and bank accounts and social security numbers. It is for text that will
// be written down. Redacting twice equals once.
func Redact(s string, personal bool) string {
	found := secrets(s, personal)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for _, f := range found {
		b.WriteString(s[last:f.Start])
		b.WriteString("[" + f.name + "]")
		last = f.End
	}
	b.WriteString(s[last:])
	return b.String()
}

type foundSecret struct {
	text.Span
	name string
}

// secrets returns the secrets in s in order, none overlapping.
func secrets(s string, personal bool) []foundSecret {
	t := traitsOf(s)
	var found []foundSecret
	for _, forms := range [][]secret{secretForms, personalForms} {
		for i := range forms {
			if form := &forms[i]; form.needs.in(&t) {
				found = append(found, form.find(s)...)
			}
		}
		if !personal {
			break
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b foundSecret) int { return a.Start - b.Start })
	end := 0
	return slices.DeleteFunc(found, func(f foundSecret) bool {
		if f.Start < end {
			return true
		}
		end = f.End
		return false
	})
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// looksSecret tells a password from the next word of a sentence about passwords.
func looksSecret(s string) bool {
	s = strings.TrimRight(s, ".!?)")
	if s == "" || strings.HasPrefix(s, "[") {
		return false
	}
	return strings.ContainsAny(s, "0123456789!@#$%^&*_+=~") || strings.ToLower(s[1:]) != s[1:]
}

// luhn checks the sum of a card number.
func luhn(s string) bool {
	sum, double, digits := 0, false, 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if double {
			d *= 2
		}
		sum += d/10 + d%10
		double = !double
		digits++
	}
	return sum%10 == 0 && digits >= 13 && strings.IndexByte("3456", s[0]) >= 0
}

// iban checks the sum of a bank account's number.
func iban(s string) bool {
	s = strings.ReplaceAll(s, " ", "")
	if len(s) < 15 {
		return false
	}
	rest := 0
	for _, c := range s[4:] + s[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
			continue
		}
		rest = (rest*10 + int(c-'0')) % 97
	}
	return rest == 1
}

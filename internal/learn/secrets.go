package learn

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// secretKind is one kind of secrets, found by findSpans or else by pattern. The pattern's first group, or else its
// whole match, is the secret and must satisfy isValid.
type secretKind struct {
	name         string
	precondition precondition
	pattern      *lazy.Pattern
	isValid      func(string) bool
	findSpans    func(string) []text.Span
}

// precondition is a cheap test of a text. Only texts that pass it are searched for a kind of secrets.
type precondition struct {
	minDigits    int      // minimum number of digits
	anySubstring []string // the text must contain one of these strings; empty accepts any text
	ignoreCase   bool     // ignore case in comparisons with anySubstring
}

// keyPrefixes are the prefixes of the keys and tokens of known services.
var keyPrefixes = []string{
	"AGE-SECRET-KEY-", "AIza", "ATATT3", "EAAA", "GOCSPX-", "SG.", "dapi", "dop_v1_", "doo_v1_", "figd_", "fw_",
	"glpat-", "glrt-", "gldt-", "gsk_", "gsk-", "hf_", "hf-", "hvs.", "key-", "lin_api_", "npm_", "npm-", "nvapi-", "ntn_", "pplx-", "pscale_", "pypi-", "r8_", "rubygems_",
	"sbp_", "secret_", "shp", "sntrys_", "sq0", "tskey-", "vercel_", "whsec_", "xai-", "xapp-", "ya29.",
}

var secretKinds = []secretKind{
	{name: "private key", precondition: precondition{anySubstring: []string{"-----BEGIN ", "PuTTY-User-Key"}}, pattern: lazy.Compile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)|PuTTY-User-Key-File.*?(?:Private-MAC: \w+|$)`)},
	{name: "api key", precondition: precondition{minDigits: 1, anySubstring: []string{"sk-", "sk_", "pk-", "pk_", "rk-", "rk_"}}, pattern: lazy.Compile(`\b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9_-]{16,}`), isValid: hasDigit},
	{name: "api key", precondition: precondition{anySubstring: []string{"AKIA", "ASIA"}}, pattern: lazy.Compile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{name: "token", precondition: precondition{anySubstring: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox"}}, pattern: lazy.Compile(`\b(?:(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}|xox[a-z]-[A-Za-z0-9-]{10,})`)},
	{name: "api key", precondition: precondition{minDigits: 1, anySubstring: keyPrefixes}, pattern: lazy.Compile(`\b(?:AIza[A-Za-z0-9_-]{30,}|AGE-SECRET-KEY-1[A-Z0-9]{40,}|xapp-[A-Za-z0-9-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|(?:hvs|ya29)\.[A-Za-z0-9_-]{20,}|dapi[0-9a-f]{32}|key-[0-9a-f]{32}|shp(?:at|ca|pa|ss)_[0-9a-f]{32}|sq0[a-z]{3}-[A-Za-z0-9_-]{20,}|(?:hf|npm)[-_][A-Za-z0-9_-]{16,}|(?:ATATT3|EAAA)[A-Za-z0-9_=-]{30,}|(?:GOCSPX-|do[op]_v1_|figd_|fw_|gl(?:pat|rt|dt)-|gsk[-_]|lin_api_|nvapi-|ntn_|pplx-|pscale_[a-z]+_|pypi-|r8_|rubygems_|sbp_|secret_|sntrys_|tskey-[a-z]+-|vercel_|whsec_|xai-)[A-Za-z0-9_-]{16,})`), isValid: hasDigit},
	{name: "token", precondition: precondition{anySubstring: []string{"eyJ"}}, pattern: lazy.Compile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},
	{name: "token", precondition: precondition{minDigits: 1, anySubstring: []string{"bearer", "basic", "cookie"}, ignoreCase: true}, pattern: lazy.Compile(`(?i)\b(?:bearer|authorization: basic|cookie: [^=\s]{1,40}=)\s*([A-Za-z0-9._~+/=%-]{16,})`), isValid: hasDigit},
	{name: "token", precondition: precondition{minDigits: 9, anySubstring: []string{":"}}, pattern: lazy.Compile(`\b\d{8,10}:[A-Za-z0-9_-]{35}\b`)},
	{name: "secret", precondition: precondition{anySubstring: []string{"hooks.slack.com", "discord", "sig=", "_key=", "token=", "secret=", "apikey="}, ignoreCase: true}, pattern: lazy.Compile(`(?i)(?:hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/|[?&;](?:sig|api_?key|access_?key|key|token|access_token|secret|client_secret)=)([A-Za-z0-9%_./+=-]{12,})`)},
	{name: "password", precondition: precondition{anySubstring: []string{"://"}}, pattern: lazy.Compile(`\b[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@`)},
	{name: "password", precondition: precondition{anySubstring: passwordWords, ignoreCase: true}, pattern: lazy.Compile(`(?i)(?:\b|_)(?:` + passwordNouns + `)["']?(?:\s+(?:for|to|of|at|on|in)(?:\s+[\w.'-]+){1,4}?)?\s*(?::|=|->|=>)\s*["'“]?([^\s"'”,;<>]{3,})`), isValid: isRealValue},
	{name: "password", precondition: precondition{anySubstring: passwordWords, ignoreCase: true}, pattern: lazy.Compile(`(?i)\b(?:` + passwordNouns + `)(?:\s+(?:for|to|of|at|on|in)(?:\s+[\w.'-]+){1,4}?)?\s+(?:is|was|ist|es|est)\s+(?:now\s+|still\s+)?["'“]?([^\s"'”,;<>]{4,})`), isValid: looksLikePassword},
	{name: "password", precondition: precondition{anySubstring: passwordWords, ignoreCase: true}, pattern: lazy.Compile(`(?i)\bmy (?:\w+ )?(?:` + passwordNouns + `) (?:is|was) ["'“]?([a-z]{5,})["'”]?\s*(?:$|[.!,;\n])`), isValid: isNotPasswordAdjective},
	{name: "pin", precondition: precondition{minDigits: 4, anySubstring: []string{"pin"}, ignoreCase: true}, pattern: lazy.Compile(`(?i)\bpin(?:\s+(?:code|number))?\b(?:\s+(?:for|to|of)(?:\s+\w+){1,3}?)?\s*(?:is|:|=)\s*(\d{4,8})\b`)},
	{name: "security code", precondition: precondition{minDigits: 3, anySubstring: []string{"cvv", "cvc", "otp", "code", "passcode"}, ignoreCase: true}, pattern: lazy.Compile(`(?i)\b(?:cvv2?|cvc2?|security code|verification code|one[- ]time (?:code|password)|otp|2fa code)\s*(?:is|:|=)?\s*(\d{3,8})\b`)},
	{name: "seed phrase", precondition: precondition{anySubstring: []string{"phrase", "mnemonic"}, ignoreCase: true}, pattern: lazy.Compile(`(?i)\b(?:seed|recovery|backup|wallet|secret)\s+(?:recovery\s+)?(?:phrase|words?|mnemonic)\b[^:\n]{0,30}?(?:\bis|:|=)\s*((?:[a-z]{3,8}[ ,]+){11,23}[a-z]{3,8})`)},
	{name: "secret", precondition: precondition{minDigits: 1, anySubstring: []string{"key", "secret", "token"}, ignoreCase: true}, pattern: lazy.Compile(`(?i)\b[a-z0-9_-]*(?:api[_ -]?key|secret|token|access[_ -]?key|account[_ -]?key|private[_ -]?key|encryption[_ -]?key)\b["']?\s*(?:is|:|=|=>)\s*["'“]?([A-Za-z0-9_./+=-]{12,})`), isValid: hasDigit},
	{name: "card number", precondition: precondition{minDigits: 13}, findSpans: cardNumbers},
}

const passwordNouns = `password|passwort|kennwort|passphrase|passcode|passwd|pwd|pass word|contraseña|mot de passe|senha|wachtwoord|lösenord`

var passwordWords = []string{"pass", "pwd", "kennwort", "contraseña", "senha", "wachtwoord", "lösenord"}

var personalKinds = []secretKind{
	{name: "email", precondition: precondition{anySubstring: []string{"@"}}, pattern: lazy.Compile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\b`)},
	{name: "bank account", precondition: precondition{minDigits: 8}, findSpans: ibanNumbers},
	{name: "social security number", precondition: precondition{minDigits: 9}, pattern: lazy.Compile(`\b\d{3}-\d{2}-\d{4}\b`), isValid: isIssuedSSN},
	{name: "identity number", precondition: precondition{minDigits: 1, anySubstring: []string{"ssn", "social security", "national insurance", "passport", "licen", "national id", "tax id"}, ignoreCase: true}, pattern: lazy.Compile(`(?i)\b(?:ssn|social security (?:number|no\.?)|national insurance (?:number|no\.?)|passport (?:number|no\.?)|driver'?s licen[cs]e(?: number)?|national id|tax id)\s*(?:is|:|=|#)?\s*([A-Z0-9][A-Z0-9 -]{6,14}\d)\b`)},
	{name: "phone number", precondition: precondition{minDigits: 5, anySubstring: []string{"+"}}, pattern: lazy.Compile(`(?:\+\d{1,3}[ .-]?)(?:\(?\d{1,4}\)?[ .-]?){2,5}\d{2,4}\b`)},
	{name: "phone number", precondition: precondition{minDigits: 10}, pattern: lazy.Compile(`\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b`)},
	{name: "phone number", precondition: precondition{minDigits: 7, anySubstring: []string{"phone", "mobile", "cell", "whatsapp", "call", "number", "tel"}, ignoreCase: true}, pattern: lazy.Compile(`(?i)\b(?:phone|mobile|cell|cellphone|whatsapp|telephone|tel|(?:call|text|reach) me (?:at|on)|my number)\b(?: (?:number|no\.?))?\s*(?:is|:|=)?\s*(\(?\d[\d ()./-]{5,16}\d)\b`)},
	{name: "address", precondition: precondition{minDigits: 1, anySubstring: streets}, pattern: lazy.Compile(`\b\d{1,5}[A-Za-z]? (?:(?:N|S|E|W|North|South|East|West)\.? )?(?:\p{Lu}[\p{L}'’.-]* ){1,4}(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Terrace|Parkway|Pkwy|Highway|Hwy|Close|Crescent)\b\.?(?:,? (?:Apt|Apartment|Unit|Suite|Flat|#)\.? ?\w{1,6})?|\b(?:Rua|Calle|Via|Rue|Avenida|Av\.) (?:\p{Lu}[\p{L}'’-]* ?|d[aeo]s? ){1,4},? ?\d{1,4}\b|\b\p{Lu}[\p{L}-]*(?:straße|strasse|str\.|gasse|weg|platz|allee|straat|laan) \d{1,4}[a-z]?\b`)},
}

var streets = []string{
	"St", "Ave", "Road", "Rd", "Boulevard", "Blvd", "Lane", "Ln", "Dr", "Court", "Ct", "Pl", "Square", "Terrace", "Parkway", "Pkwy", "H",
	"Cl", "Cr", "Rua", "Calle", "Via", "Rue", "Av", "str", "gasse", "weg", "platz", "allee", "laan",
}

// textTraits are the properties of a text that preconditions test.
type textTraits struct {
	text, folded string
	digitCount   int
	hasLongS     bool // the text has a long s (ſ), which case-insensitive patterns match as s
}

func traitsOf(s string) textTraits {
	t := textTraits{text: s, folded: strings.ToLower(s), hasLongS: strings.Contains(s, "ſ")}
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			t.digitCount++
		}
	}
	return t
}

// mayMatch reports whether a text satisfies the precondition.
func (n precondition) mayMatch(t *textTraits) bool {
	if t.digitCount < n.minDigits {
		return false
	}
	if len(n.anySubstring) == 0 || n.ignoreCase && t.hasLongS {
		return true
	}
	text := t.text
	if n.ignoreCase {
		text = t.folded
	}
	for _, part := range n.anySubstring {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// find returns the secrets of this kind in s.
func (form *secretKind) find(s string) []foundSecret {
	var found []foundSecret
	if form.findSpans != nil {
		for _, span := range form.findSpans(s) {
			found = append(found, foundSecret{span, form.name})
		}
		return found
	}
	for _, m := range form.pattern.FindAllStringSubmatchIndex(s, -1) {
		span := text.Span{Start: m[0], End: m[1]}
		if len(m) > 2 && m[2] >= 0 {
			span = text.Span{Start: m[2], End: m[3]}
		}
		if form.isValid == nil || form.isValid(span.Slice(s)) {
			found = append(found, foundSecret{span, form.name})
		}
	}
	return found
}

// Redact replaces each secret in s by its kind in brackets: API keys, tokens, private keys, passwords and
// card numbers. With includePersonal it also replaces mail addresses and phone, bank account and social security
// numbers. Redacting a redacted text changes nothing.
func Redact(s string, includePersonal bool) string {
	for range maxRounds {
		found := findSecrets(s, includePersonal)
		if len(found) == 0 {
			break
		}
		var b strings.Builder
		last := 0
		for _, f := range found {
			b.WriteString(s[last:f.Start])
			b.WriteString("[" + f.kind + "]")
			last = f.End
		}
		b.WriteString(s[last:])
		s = b.String()
	}
	return s
}

// maxRounds is the maximum number of searches of a text: replacing a secret may reveal another secret.
const maxRounds = 6

type foundSecret struct {
	text.Span
	kind string
}

// findSecrets returns the secrets in s in order, without overlaps.
func findSecrets(s string, includePersonal bool) []foundSecret {
	t := traitsOf(s)
	var found []foundSecret
	for _, forms := range [][]secretKind{secretKinds, personalKinds} {
		for i := range forms {
			if form := &forms[i]; form.precondition.mayMatch(&t) {
				found = append(found, form.find(s)...)
			}
		}
		if !includePersonal {
			break
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b foundSecret) int { return a.Start - b.Start })
	out := found[:1]
	for _, f := range found[1:] {
		switch last := &out[len(out)-1]; {
		case f.Start >= last.End:
			out = append(out, f)
		case f.End > last.End: // hide both of two overlapping secrets completely
			last.End = f.End
		}
	}
	return out
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// looksLikePassword distinguishes a password from the next word of a sentence about passwords.
func looksLikePassword(s string) bool {
	s = strings.TrimRight(s, ".!?)")
	if s == "" || isPlaceholder(s) {
		return false
	}
	_, first := utf8.DecodeRuneInString(s)
	return strings.ContainsAny(s, "0123456789!@#$%^&*_+=~") || strings.ContainsFunc(s[first:], unicode.IsUpper)
}

// isRealValue distinguishes a real value after "password:" from a placeholder.
func isRealValue(s string) bool {
	s = strings.TrimRight(s, ".!?)")
	return len(s) >= 3 && !isPlaceholder(s) && isNotPasswordAdjective(s)
}

// isPlaceholder reports whether s is a placeholder for a secret.
func isPlaceholder(s string) bool {
	switch strings.ToLower(strings.Trim(s, "*.-_x")) {
	case "", "required", "optional", "string", "null", "none", "nil", "true", "false", "your_password", "yourpassword", "password", "changeme", "hidden", "redacted", "secret":
		return true
	}
	return strings.IndexByte("[<{($", s[0]) >= 0 || strings.HasPrefix(s, "%") || strings.HasPrefix(s, "process.env") || strings.HasPrefix(s, "os.")
}

// isNotPasswordAdjective reports whether s is no word that describes passwords, as in "the password is strong".
func isNotPasswordAdjective(s string) bool { return !passwordAdjectives.Has(strings.ToLower(s)) }

var passwordAdjectives = lazy.Words(`wrong weak secure strong expired lost correct incorrect needed required invalid hidden visible encrypted saved stored reset working
	broken missing empty unknown safe simple complex short different outdated compromised leaked changed forgotten always never still really very also
	actually something somewhere nothing probably being hashed protected rejected accepted too long the not set gone same written shared easy hard
	here there what where when how manager reset policy`)

// cardNumbers returns the card numbers in s: digits with an issued length and prefix and a valid checksum, without
// separators or grouped as on printed cards.
func cardNumbers(s string) []text.Span {
	var out []text.Span
	for i := 0; i < len(s); {
		if !isDigit(s[i]) || i > 0 && (isDigit(s[i-1]) || isLetter(s[i-1])) {
			i++
			continue
		}
		if end := cardEnd(s, i); end > 0 {
			out = append(out, text.Span{Start: i, End: end})
			i = end
			continue
		}
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	}
	return out
}

// cardEnd returns the end of the card number that begins at i, or 0.
func cardEnd(s string, start int) int {
	var digits []byte
	var groups []int
	run, sep := 0, byte(0)
	for j := start; j <= len(s) && len(digits) <= 19; j++ {
		if j < len(s) && isDigit(s[j]) {
			digits = append(digits, s[j])
			run++
			continue
		}
		if run == 0 {
			return 0
		}
		groups = append(groups, run)
		if isIssuedCard(digits) && isPrintedGrouping(groups) && passesLuhn(digits) && (j == len(s) || !isLetter(s[j])) {
			return j
		}
		if j == len(s) || s[j] != ' ' && s[j] != '-' || sep != 0 && s[j] != sep {
			return 0
		}
		run, sep = 0, s[j]
	}
	return 0
}

// isPrintedGrouping reports whether a number has no separators or is grouped as on payment cards.
func isPrintedGrouping(groups []int) bool {
	switch fmt.Sprint(groups) {
	case "[4 4 4 4]", "[4 6 5]", "[4 6 4]", "[4 4 4 4 3]", "[4 4 4 1]", "[8 8]":
		return true
	}
	return len(groups) == 1
}

// isIssuedCard reports whether card issuers use this length and prefix.
func isIssuedCard(digits []byte) bool {
	begins := func(n int) int {
		v := 0
		for _, c := range digits[:n] {
			v = v*10 + int(c-'0')
		}
		return v
	}
	n := len(digits)
	if n < 13 || n > 19 {
		return false
	}
	two, four := begins(2), begins(4)
	switch {
	case digits[0] == '4':
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		return n == 16
	case two == 34, two == 37:
		return n == 15
	case two == 36, two == 38, two == 39, four/10 >= 300 && four/10 <= 305:
		return n == 14
	case four == 6011, two == 65, four/10 >= 644 && four/10 <= 649, two == 62, four >= 3528 && four <= 3589:
		return n >= 16
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// passesLuhn verifies the checksum of a card number.
func passesLuhn(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0
}

var ibanForm = lazy.Compile(`(?i)\b[a-z]{2}\d{2}[ -]?[a-z0-9][a-z0-9 -]{9,40}`)

// ibanLengths are the lengths of bank account numbers (IBAN) by country.
var ibanLengths = map[string]int{
	"AD": 24, "AE": 23, "AT": 20, "BA": 20, "BE": 16, "BG": 22, "BR": 29, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18,
	"FR": 27, "GB": 22, "GE": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27,
	"MD": 24, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TR": 26, "UA": 29,
}

// ibanNumbers returns the bank account numbers with a valid checksum.
func ibanNumbers(s string) []text.Span {
	var out []text.Span
	for _, m := range ibanForm.FindAllStringIndex(s, -1) {
		var number []byte
		for i := m[0]; i < m[1]; i++ {
			if s[i] == ' ' || s[i] == '-' {
				continue
			}
			number = append(number, s[i]&^(0x20*boolToByte(isLetter(s[i]))))
			if want := ibanLengths[string(number[:min(2, len(number))])]; len(number) == want {
				if validChecksum(number) {
					out = append(out, text.Span{Start: m[0], End: i + 1})
				}
				break
			}
		}
	}
	return out
}

func boolToByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// validChecksum verifies the checksum of a bank account number.
func validChecksum(number []byte) bool {
	remainder := 0
	for _, c := range slices.Concat(number[4:], number[:4]) {
		if isDigit(c) {
			remainder = (remainder*10 + int(c-'0')) % 97
			continue
		}
		remainder = (remainder*100 + int(c-'A') + 10) % 97
	}
	return remainder == 1
}

// isIssuedSSN reports whether a social security number can be a real one.
func isIssuedSSN(s string) bool {
	return s[:3] != "000" && s[:3] != "666" && s[0] != '9' && s[4:6] != "00" && s[7:] != "0000"
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

package httpx

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// dropKeys removes each whole header value and query parameter that contains one of Loci's keys. It does not
// remove cookies, because cookies are never forwarded.
func (o *Options) dropKeys(r *http.Request) {
	for name, values := range r.Header {
		if name == "Cookie" || !slices.ContainsFunc(values, o.containsKey) {
			continue
		}
		if others := slices.DeleteFunc(slices.Clone(values), o.containsKey); len(others) > 0 {
			r.Header[name] = others
		} else {
			delete(r.Header, name)
		}
	}
	if q := r.URL.RawQuery; q != "" && o.containsKey(q) {
		r.URL.RawQuery = strings.Join(slices.DeleteFunc(strings.Split(q, "&"), o.containsKey), "&")
	}
}

// Lengths of keys in bytes. Short keys from the settings are only searched for as whole words, or not at all,
// because they may be ordinary words in a header.
const (
	storedKeyLength = len(keyPrefix) + 43 // the prefix, and the random part in base64: see NewKey
	minInsideWord   = 16                  // shortest key that is found inside a word
	minWholeWord    = 8                   // shortest key that is found as a whole word
)

// containsKey reports whether a text contains one of Loci's keys, plain, URL-escaped or in base64. Any text in the
// format of a stored key counts, because it may be a removed key or another server's key.
func (o *Options) containsKey(text string) bool {
	shortest := storedKeyLength
	for _, key := range o.configuredKeys() {
		shortest = max(minWholeWord, min(shortest, len(key)))
	}
	if len(text) < shortest {
		return false
	}
	if o.containsPlainKey(text) {
		return true
	}
	if strings.ContainsAny(text, "%+") {
		if plain, err := url.QueryUnescape(text); err == nil && o.containsPlainKey(plain) {
			return true
		}
	}
	minEncoded := base64.RawStdEncoding.EncodedLen(shortest)
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isBase64(r) }) {
		if len(part) < minEncoded {
			continue
		}
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(part, "-_") {
			encoding = base64.RawURLEncoding
		}
		if plain, err := encoding.DecodeString(part); err == nil && o.containsPlainKey(string(plain)) {
			return true
		}
	}
	return false
}

func isBase64(r rune) bool {
	return isAlphanumeric(r) || r == '+' || r == '/' || r == '-' || r == '_'
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// containsPlainKey reports whether a text contains a plain key. Its running time reveals only the lengths of the
// server's keys.
func (o *Options) containsPlainKey(text string) bool {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], keyPrefix)
		if i < 0 {
			break
		}
		at += i
		end := at + storedKeyLength
		if end <= len(text) && !strings.ContainsFunc(text[at+len(keyPrefix):end], func(r rune) bool { return !isAlphanumeric(r) && r != '-' && r != '_' }) {
			return true
		}
	}
	return slices.ContainsFunc(o.configuredKeys(), func(key string) bool {
		return len(key) >= minWholeWord && containsSecret(text, key, func(from, to int) bool {
			return len(key) >= minInsideWord || isDelimited(text, from, to)
		})
	})
}

// configuredKeys returns the server key and the front key, if they are set. They are not in the store.
func (o *Options) configuredKeys() []string {
	return slices.DeleteFunc([]string{o.Key, o.FrontKey}, func(key string) bool { return key == "" })
}

// hashBase is the base of a rolling hash. It is odd, so that every byte affects the hash.
const hashBase = 0x9e3779b97f4a7c15

// containsSecret reports whether a text contains a secret at a position that accept allows. It compares rolling
// hashes, so that a nearly correct text takes the same time as any other text.
func containsSecret(text, secret string, accept func(from, to int) bool) bool {
	var want, got, topPower uint64 = 0, 0, 1
	for i := range len(secret) {
		want = want*hashBase + uint64(secret[i])
		topPower *= hashBase
	}
	for i := range len(text) {
		got = got*hashBase + uint64(text[i])
		from := i + 1 - len(secret)
		if from > 0 {
			got -= topPower * uint64(text[from-1])
		}
		if from >= 0 && got == want && sameKey(text[from:i+1], secret) && accept(from, i+1) {
			return true
		}
	}
	return false
}

// isDelimited reports whether text[from:to] is neither preceded nor followed by a letter or digit.
func isDelimited(text string, from, to int) bool {
	return (from == 0 || !isAlphanumeric(rune(text[from-1]))) && (to == len(text) || !isAlphanumeric(rune(text[to])))
}

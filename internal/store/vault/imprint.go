package vault

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
)

// imprint is what a file said, key by key: of each key with a value, and of the words, a short
// hash of which it is and one of what it says. Links count by the ids that they lead to,
// however they are written. A person changed what differs from it.
type imprint map[imprinted][3]byte

// imprinted is a key, by its hash.
type imprinted [2]byte

// theWords stand among keys under a name that no key has.
const theWords = ""

// imprintOf is what the file of a thing says when it is written.
func imprintOf(t thing) imprint {
	fields := t.fields(func(id string) string { return id })
	m := make(imprint, len(fields)+1)
	for _, f := range fields {
		if f.value != "" {
			m[imprintedOf(f.key)] = shortHash(f.value)
		}
	}
	m[imprintedOf(theWords)] = shortHash(plainWords(t.words()))
	return m
}

func imprintedOf(key string) imprinted {
	sum := sha256.Sum256([]byte(key))
	return imprinted(sum[:])
}

func shortHash(text string) [3]byte {
	sum := sha256.Sum256([]byte(text))
	return [3]byte(sum[:])
}

// same reports whether two files say the same under a key; theWords are the words.
func (m imprint) same(other imprint, key string) bool {
	k := imprintedOf(key)
	a, has := m[k]
	b, hasToo := other[k]
	return has == hasToo && a == b
}

// says reports whether the file had a value under a key, as front matter has it.
func (m imprint) says(key, value string) bool {
	got, has := m[imprintedOf(key)]
	return has && got == shortHash(value)
}

// set notes a value of a key, as front matter has it; "" leaves the key as it is.
func (m imprint) set(key, value string) {
	if value != "" {
		m[imprintedOf(key)] = shortHash(value)
	}
}

// with takes the keys of another one over.
func (m imprint) with(other imprint, keys ...string) {
	for _, key := range keys {
		k := imprintedOf(key)
		if v, has := other[k]; has {
			m[k] = v
		} else {
			delete(m, k)
		}
	}
}

// String writes an imprint as a record keeps it, in the same way each time.
func (m imprint) String() string {
	parts := make([]string, 0, len(m))
	for k, v := range m {
		parts = append(parts, string(k[:])+string(v[:]))
	}
	slices.Sort(parts)
	return base64.RawStdEncoding.EncodeToString([]byte(strings.Join(parts, "")))
}

// readImprint reads what String wrote; nil for nothing, or what is none.
func readImprint(text string) imprint {
	const each = len(imprinted{}) + 3
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(b) == 0 || len(b)%each != 0 {
		return nil
	}
	m := make(imprint, len(b)/each)
	for piece := range slices.Chunk(b, each) {
		m[imprinted(piece)] = [3]byte(piece[2:])
	}
	return m
}

// maxPast is how many texts of a file's past a record knows.
const maxPast = 16

// pastOf are the short hashes of what Loci wrote of a memory before a text with this hash,
// oldest first.
func (r *record) pastOf(sha string) []string {
	if r == nil {
		return nil
	}
	if r.SHA == "" || r.SHA == sha {
		return r.Past
	}
	now := inPast(r.SHA)
	past := append(slices.DeleteFunc(slices.Clone(r.Past), func(one string) bool { return one == now }), now)
	return past[max(0, len(past)-maxPast):]
}

// inPast is how a record keeps the hash of a text that was written over.
func inPast(sha string) string { return sha[:min(len(sha), 16)] }

// wrote reports whether a text is one that Loci wrote over since, however its lines end: git may
// give them other ends.
func (r *record) wrote(text string) bool {
	for _, one := range []string{text, strings.ReplaceAll(text, "\r\n", "\n")} {
		switch sha := hashOf(one); {
		case r == nil || r.own(sha):
			return false
		case slices.Contains(r.Past, inPast(sha)):
			return true
		}
	}
	return false
}

package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// idKey identifies a memory in sixteen bytes: the bytes of a UUID, or the beginning of the hash of an
// id that is not a UUID. The text of such an id is in contents.textIDs.
type idKey [16]byte

const uuidLen = 36

// keyOf returns the key of an id, and whether the id is a UUID.
func keyOf(id string) (k idKey, isUUID bool) {
	if k, ok := parseUUID(id); ok {
		return k, true
	}
	sum := sha256.Sum256([]byte(id))
	return idKey(sum[:len(k)]), false
}

// parseUUID parses a UUID in lower case with dashes. It rejects other spellings, because the id must
// be restored exactly from its bytes.
func parseUUID(id string) (k idKey, ok bool) {
	if len(id) != uuidLen {
		return k, false
	}
	digits := 0
	for i := range uuidLen {
		switch i {
		case 8, 13, 18, 23:
			if id[i] != '-' {
				return k, false
			}
			continue
		}
		d, ok := hexDigit(id[i])
		if !ok {
			return k, false
		}
		k[digits/2] = k[digits/2]<<4 | d
		digits++
	}
	return k, true
}

func hexDigit(c byte) (value byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

func appendUUID(b []byte, k idKey) []byte {
	b = append(hex.AppendEncode(b, k[:4]), '-')
	b = append(hex.AppendEncode(b, k[4:6]), '-')
	b = append(hex.AppendEncode(b, k[6:8]), '-')
	b = append(hex.AppendEncode(b, k[8:10]), '-')
	return hex.AppendEncode(b, k[10:])
}

func (s *contents) idOf(n int32) string {
	if id, odd := s.textIDs[n]; odd {
		return id
	}
	return string(appendUUID(make([]byte, 0, uuidLen), s.docs[n].id))
}

// compareIDs compares the ids of document n of a and document m of b as texts. The keys of UUIDs have
// the same order as their texts.
func compareIDs(a *contents, n int32, b *contents, m int32) int {
	if len(a.textIDs) == 0 && len(b.textIDs) == 0 {
		return bytes.Compare(a.docs[n].id[:], b.docs[m].id[:])
	}
	return strings.Compare(a.idOf(n), b.idOf(m))
}

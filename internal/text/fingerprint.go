package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
)

// codeVersion must be increased by hand if a change of this package's code changes the words, terms, classes
// or dates of a text.
const codeVersion = 4

// Fingerprint returns a hash of the tables and codeVersion. Data derived from texts with another fingerprint
// must be rebuilt.
func Fingerprint() string { return fingerprint() }

var fingerprint = sync.OnceValue(func() string {
	return fingerprintOf(codeVersion, stopTable, irregularTable, synonymTable, classTable)
})

func fingerprintOf(version int, tables ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q", version, tables))
	return hex.EncodeToString(sum[:16])
}

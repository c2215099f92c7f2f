package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
)

// codeVersion is raised by hand whenever the code of this package makes other
// words, terms, marks, classes or dates of some text than it did before.
const codeVersion = 4

// Fingerprint says which language this is: it differs when the tables or the code
// do. What was derived from texts under another one is to be derived anew.
func Fingerprint() string { return fingerprint() }

var fingerprint = sync.OnceValue(func() string {
	return fingerprintOf(codeVersion, stopTable, irregularTable, synonymTable, classTable)
})

func fingerprintOf(version int, tables ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q", version, tables))
	return hex.EncodeToString(sum[:16])
}

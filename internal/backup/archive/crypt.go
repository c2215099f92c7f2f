package archive

import (
	"bytes"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/loci-memory/loci/memory"
)

// ageHeader begins every file that age encrypted, unless it is armored.
const ageHeader = "age-encryption.org/v1\n"

const secretKey = "AGE-SECRET-KEY-" // begins an identity

// NewEncrypted begins an archive that is encrypted for an age recipient, and for the identity that it
// returns, with which whoever made the archive can check it. recipient "": it is not encrypted.
func NewEncrypted(w io.Writer, recipient string) (_ *Writer, identity string, err error) {
	if recipient == "" {
		return NewWriter(w), "", nil
	}
	all, err := age.ParseRecipients(strings.NewReader(recipient))
	if err != nil { // its cause may quote an identity, which is secret
		return nil, "", memory.Errorf(memory.Invalid, "invalid age recipient; one begins with age1, and age-keygen -y FILE prints that of an identity")
	}
	own, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", err
	}
	sealed, err := age.Encrypt(w, append(all, own.Recipient())...)
	if err != nil {
		return nil, "", memory.Errorf(memory.Invalid, "%v", err)
	}
	to := NewWriter(sealed)
	to.sealed = sealed
	return to, own.String(), nil
}

// decrypted returns the plain bytes of a file and their number. They are decrypted as they are
// read: nothing plain is written. identity is one, or a file of some.
func decrypted(f io.ReaderAt, size int64, identity string) (io.ReaderAt, int64, error) {
	head := make([]byte, len(ageHeader))
	if n, _ := f.ReadAt(head, 0); string(head[:n]) != ageHeader {
		return f, size, nil
	}
	text := []byte(identity)
	if !strings.HasPrefix(identity, secretKey) {
		text, _ = os.ReadFile(identity) // of none no identities are parsed
	}
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil { // its cause may quote the identity
		return nil, 0, memory.Errorf(memory.Invalid, "it is encrypted, and %q is not a file of age identities: name one with --identity FILE", identity)
	}
	plain, size, err := age.DecryptReaderAt(f, size, identities...)
	if err != nil {
		err = memory.Errorf(memory.Invalid, "it cannot be decrypted: it was encrypted for another identity, was altered or is not whole: %v", err)
	}
	return plain, size, err
}

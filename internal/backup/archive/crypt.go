package archive

import (
	"bytes"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/loci-memory/loci/memory"
)

// ageHeader is the beginning of every file encrypted by age, except armored files.
const ageHeader = "age-encryption.org/v1\n"

const identityPrefix = "AGE-SECRET-KEY-" // prefix of an age identity

// NewEncrypted begins an archive that two age identities can decrypt: the recipient's identity, and the
// returned identity, with which the caller can check the archive. An empty recipient means no encryption.
func NewEncrypted(w io.Writer, recipient string) (_ *Writer, identity string, err error) {
	if recipient == "" {
		return NewWriter(w), "", nil
	}
	recipients, err := age.ParseRecipients(strings.NewReader(recipient))
	if err != nil { // the error may contain an identity, which is secret
		return nil, "", memory.Errorf(memory.Invalid, "invalid age recipient; a recipient begins with age1, and age-keygen -y FILE prints the recipient of an identity")
	}
	makerIdentity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", err
	}
	encrypted, err := age.Encrypt(w, append(recipients, makerIdentity.Recipient())...)
	if err != nil {
		return nil, "", memory.Errorf(memory.Invalid, "%v", err)
	}
	writer := NewWriter(encrypted)
	writer.encryption = encrypted
	return writer, makerIdentity.String(), nil
}

// decrypt returns a reader of a file's decrypted bytes, and their number; it writes no decrypted bytes to
// disk. The text identityOrPath is an age identity, or the path of a file with identities.
func decrypt(f io.ReaderAt, size int64, identityOrPath string) (io.ReaderAt, int64, error) {
	head := make([]byte, len(ageHeader))
	if n, _ := f.ReadAt(head, 0); string(head[:n]) != ageHeader {
		return f, size, nil
	}
	text := []byte(identityOrPath)
	if !strings.HasPrefix(identityOrPath, identityPrefix) {
		text, _ = os.ReadFile(identityOrPath) // an unreadable file means no identities
	}
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil { // the error may contain the identity
		return nil, 0, memory.Errorf(memory.Invalid, "the file is encrypted, and %q is not a file of age identities; set --identity FILE", identityOrPath)
	}
	plain, size, err := age.DecryptReaderAt(f, size, identities...)
	if err != nil {
		err = memory.Errorf(memory.Invalid, "the file cannot be decrypted: it was encrypted for another identity, was altered or is incomplete: %v", err)
	}
	return plain, size, err
}

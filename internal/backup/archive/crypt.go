package archive

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/loci-memory/loci/memory"
)

// ageHeader begins every file that age encrypted, unless it is armored.
const ageHeader = "age-encryption.org/v1\n"

// Encrypt encrypts for an age recipient.
func Encrypt(to io.Writer, from io.Reader, recipient string) error {
	all, err := age.ParseRecipients(strings.NewReader(recipient))
	if err != nil { // its cause may quote an identity, which is secret
		return memory.Errorf(memory.Invalid, "invalid age recipient; one begins with age1, and age-keygen -y FILE prints that of an identity")
	}
	w, err := age.Encrypt(to, all...)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	return errors.Join(err, w.Close())
}

// decrypted returns the plain bytes of a file and their number. They are decrypted as they are
// read: nothing plain is written.
func decrypted(f *os.File, size int64, identity string) (io.ReaderAt, int64, error) {
	head := make([]byte, len(ageHeader))
	if n, _ := f.ReadAt(head, 0); string(head[:n]) != ageHeader {
		return f, size, nil
	}
	if identity == "" {
		return nil, 0, memory.Errorf(memory.Invalid, "it is encrypted: name the file of its age identity with --identity FILE")
	}
	text, _ := os.ReadFile(identity) // of none no identities are parsed
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil { // its cause may quote the identity
		return nil, 0, memory.Errorf(memory.Invalid, "%s is not a file of age identities; a line of one begins with AGE-SECRET-KEY-", identity)
	}
	plain, size, err := age.DecryptReaderAt(f, size, identities...)
	var other *age.NoIdentityMatchError
	switch {
	case errors.As(err, &other):
		return nil, 0, memory.Errorf(memory.Invalid, "no identity in %s decrypts it: it was encrypted for another", identity)
	case err != nil:
		return nil, 0, damaged("it cannot be decrypted, or is not whole: %v", err)
	}
	return plain, size, nil
}

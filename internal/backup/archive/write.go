package archive

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/loci-memory/loci/memory"
)

// Writer writes an archive.
type Writer struct {
	zip        *zip.Writer
	members    []Member
	encryption io.Closer // completes the encryption; nil for an unencrypted archive
}

// NewWriter begins an archive.
func NewWriter(w io.Writer) *Writer {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestSpeed) })
	return &Writer{zip: z}
}

// Add writes a member. It returns [memory.Invalid] for a name that a backup must not contain, for
// example a name that is not UTF-8.
func (w *Writer) Add(name string, content io.Reader) error {
	if checkMemberName(name) != nil {
		return memory.Errorf(memory.Invalid, "a backup cannot contain a file named %q: rename or remove the file", name)
	}
	member, err := w.zip.Create(name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(member, sum), content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.members = append(w.members, Member{name, n, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// Finish writes the manifest, which lists the added members, and completes the archive.
func (w *Writer) Finish(m Manifest) (Manifest, error) {
	m.Format, m.Members = FormatVersion, w.members
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, err
	}
	member, err := w.zip.Create(manifestName)
	if err != nil {
		return m, err
	}
	if _, err := member.Write(text); err != nil {
		return m, err
	}
	if err := w.zip.Close(); err != nil || w.encryption == nil {
		return m, err
	}
	return m, w.encryption.Close()
}

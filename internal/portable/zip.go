package portable

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/loci-memory/loci/memory"
)

// zipWriter writes a zip of Markdown files: one each for the profile, the contexts and the facts, and
// one for each conversation.
type zipWriter struct {
	zip         *zip.Writer
	header      Record          // header of the export, written to each file
	needsFacts  bool            // whether the file of facts must still be written, even if empty
	currentName string          // name of the current file, without ".md"
	current     *markdownWriter // writer of the current file; nil before the first file
	nameCounts  map[string]int  // number of conversations so far with each file name
}

// NewZipWriter returns a writer of a zip of Markdown files. The order of the records must be that of
// [NewMarkdownWriter]. Files without records are omitted. If writeEmptyFacts is set, the file of facts is
// written even without facts, to replace an older file.
func NewZipWriter(out io.Writer, writeEmptyFacts bool) Writer {
	return &zipWriter{zip: zip.NewWriter(out), needsFacts: writeEmptyFacts, nameCounts: map[string]int{}}
}

func (z *zipWriter) Write(r Record) error {
	var err error
	switch {
	case r.Header != nil:
		z.header = r
		return nil
	case r.Profile != nil:
		err = z.openFile("profile")
	case r.Context != nil:
		err = z.openFile("contexts")
	case r.Fact != nil:
		err = z.openFile("facts")
	case r.Conversation != nil:
		err = z.openFile(z.uniqueName(r.Conversation))
	}
	if err != nil {
		return err
	}
	return z.current.Write(r)
}

func (z *zipWriter) Close() error {
	if z.needsFacts {
		if err := z.openFile("facts"); err != nil {
			return err
		}
	}
	if err := z.endFile(); err != nil {
		return err
	}
	return z.zip.Close()
}

// openFile creates a file and makes it the current file, unless it is the current file already.
func (z *zipWriter) openFile(name string) error {
	if z.currentName == name {
		return nil
	}
	if err := z.endFile(); err != nil {
		return err
	}
	f, err := z.zip.CreateHeader(&zip.FileHeader{Name: name + ".md", Method: zip.Deflate, Modified: z.header.Header.ExportedAt})
	if err != nil {
		return err
	}
	z.currentName, z.current = name, &markdownWriter{out: f, topLevel: 1}
	z.needsFacts = z.needsFacts && name != "facts"
	return z.current.Write(z.header)
}

// endFile ends the current file, if there is one.
func (z *zipWriter) endFile() error {
	if z.current == nil {
		return nil
	}
	return z.current.Close()
}

// uniqueName returns a unique file name for a conversation.
func (z *zipWriter) uniqueName(c *memory.Conversation) string {
	name := fileName(c)
	if z.nameCounts[name]++; z.nameCounts[name] > 1 {
		name = fmt.Sprintf("%s (%d)", name, z.nameCounts[name])
	}
	return "conversations/" + name
}

// fileName returns a name that every file system accepts: the day, and letters and digits of the
// title or, without a title, the time.
func fileName(c *memory.Conversation) string {
	var b strings.Builder
	for _, r := range displayText(c.Title) {
		switch {
		case b.Len() >= 60:
		case unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return c.CreatedAt.Format("2006-01-02 ") + name
	}
	return c.CreatedAt.Format("2006-01-02 15.04")
}

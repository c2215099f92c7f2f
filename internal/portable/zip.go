package portable

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/loci-memory/loci/memory"
)

// pages writes a zip of Markdown files: one of the profile, of the contexts and of the
// facts, and one of each conversation.
type pages struct {
	zip   *zip.Writer
	head  Record
	owed  bool // a file of facts is still to be written, be it of none
	name  string
	page  *page          // of the file of this name
	names map[string]int // how many conversations have it
}

// Pages returns what writes a zip of Markdown files. Records are to come as for [Page]. There is
// a file of what there is something of; with facts there is one of facts even if there are
// none, so that it takes the place of an older one.
func Pages(out io.Writer, facts bool) Writer {
	return &pages{zip: zip.NewWriter(out), owed: facts, names: map[string]int{}}
}

func (z *pages) Write(r Record) error {
	var err error
	switch {
	case r.Header != nil:
		z.head = r
		return nil
	case r.Profile != nil:
		err = z.turnTo("profile")
	case r.Context != nil:
		err = z.turnTo("contexts")
	case r.Fact != nil:
		err = z.turnTo("facts")
	case r.Conversation != nil:
		err = z.turnTo(z.fileName(r.Conversation))
	}
	if err != nil {
		return err
	}
	return z.page.Write(r)
}

func (z *pages) Close() error {
	if z.owed {
		if err := z.turnTo("facts"); err != nil {
			return err
		}
	}
	if err := z.end(); err != nil {
		return err
	}
	return z.zip.Close()
}

// turnTo makes a file the one that is written, and begins it unless it is already.
func (z *pages) turnTo(name string) error {
	if z.name == name {
		return nil
	}
	if err := z.end(); err != nil {
		return err
	}
	f, err := z.zip.CreateHeader(&zip.FileHeader{Name: name + ".md", Method: zip.Deflate, Modified: z.head.Header.ExportedAt})
	if err != nil {
		return err
	}
	z.name, z.page = name, &page{out: f, top: 1}
	z.owed = z.owed && name != "facts"
	return z.page.Write(z.head)
}

// end ends the file that is written, if there is one.
func (z *pages) end() error {
	if z.page == nil {
		return nil
	}
	return z.page.Close()
}

// fileName names a conversation's file, each by another name.
func (z *pages) fileName(c *memory.Conversation) string {
	name := fileName(c)
	if z.names[name]++; z.names[name] > 1 {
		name = fmt.Sprintf("%s (%d)", name, z.names[name])
	}
	return "conversations/" + name
}

// fileName is a name that every file system takes: a day, and letters and digits of
// the title, or the time where there is none.
func fileName(c *memory.Conversation) string {
	var b strings.Builder
	for _, r := range shown(c.Title) {
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

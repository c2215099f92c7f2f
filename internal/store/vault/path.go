package vault

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// maxNameBytes limits the length of an escaped name: with a time before the name, and a conflict
// mark and ".md" after the name, a file's name stays under 255 bytes.
const maxNameBytes = 120

// globalFolder is the folder of memories that belong to no conversation.
const globalFolder = "global"

// conflictMark is in the name of every conflict file, which contains a person's text.
const conflictMark = ".conflict-"

// escape makes a file name of any text. Different texts get different names, even on a disk that
// ignores case. No name is reserved by a system, begins or ends with a dot, or leaves its folder.
// Lower-case letters, digits, "-", "_" and inner dots stay; other bytes become "%" and two hex digits.
// A long text is cut and gets "~" and its hash: unescape cannot restore a cut text.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_',
			c == '.' && i > 0 && i < len(text)-1 && !strings.HasPrefix(text[i:], conflictMark):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	name := b.String()
	switch base, _, _ := strings.Cut(name, "."); {
	case name == "":
		return "%"
	case isReserved(base) || name == globalFolder || strings.HasSuffix(name, ".md"):
		name = fmt.Sprintf("%%%02x", name[0]) + name[1:]
	}
	if len(name) <= maxNameBytes {
		return name
	}
	sum := sha256.Sum256([]byte(text))
	return strings.TrimRight(name[:maxNameBytes/2], "%.") + "~" + hex.EncodeToString(sum[:16])
}

// isReserved reports whether a name is a device name on Windows.
func isReserved(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")) && name[3] >= '0' && name[3] <= '9'
}

// unescape reverses escape, unless escape cut the text.
func unescape(name string) (text string, ok bool) {
	if name == "%" {
		return "", true
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		if i+2 >= len(name) {
			return "", false
		}
		c, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	text = b.String()
	return text, escape(text) == name
}

// ownerFolder returns the folder with an owner's entries/ and deleted/; "" means the vault's folder.
func (s *Store) ownerFolder(owner memory.Owner) string {
	if owner == s.opts.HomeOwner {
		return ""
	}
	folder := "everyone"
	switch owner.Kind() {
	case memory.UserKind:
		folder = path.Join("users", escape(owner.Name()))
	case memory.PoolKind:
		folder = path.Join("pools", escape(owner.Name()))
	}
	if n := owner.Namespace(); n != memory.DefaultNamespace {
		folder = path.Join("namespaces", escape(n), folder)
	}
	return folder
}

// parsedPath is the path of a file, split into its parts.
type parsedPath struct {
	owner        memory.Owner
	deleted      bool   // whether the file is in deleted/
	conversation string // name of the conversation's folder: the escaped id, or globalFolder
	folder       string // "facts", "turns/user", "summaries", "profile", "contexts" or ""
	name         string // name of the file, without ".md"
	lastFolder   string // where Loci last wrote the memory's file: see [fileWriter.lastFolder]
	unchecked    bool   // whether to accept values that a person may not set
}

// Values of parsedPath.lastFolder.
const (
	inEntries = "entries"
	inDeleted = "deleted"
)

// movedAcross reports whether a file was moved to deleted/ or back.
func (p parsedPath) movedAcross() bool {
	return p.lastFolder != "" && (p.lastFolder == inDeleted) != p.deleted
}

// targetPrefix returns the first part of the targets of the folder's memories, such as "fact:".
func (p parsedPath) targetPrefix() string {
	switch p.folder {
	case "facts":
		return factTarget
	case "summaries":
		return summaryTarget
	case "profile":
		return profileTarget
	case contextsFolder:
		return contextTarget
	case "":
		return conversationTarget
	}
	return turnTarget
}

// timeInName returns the time at the beginning of a file's name, or zero.
func (p parsedPath) timeInName() time.Time {
	stamp, _, _ := strings.Cut(p.name, "__")
	t, err := time.Parse("2006-01-02T15-04-05Z", stamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// parsePath parses a path. ok is false if Loci never writes to such a path.
func (s *Store) parsePath(file string) (p parsedPath, ok bool) {
	base, isFile := strings.CutSuffix(file, ".md")
	parts := strings.Split(base, "/")
	if !isFile || strings.HasPrefix(path.Base(file), ".") {
		return parsedPath{}, false
	}
	p.owner, parts = s.splitOwner(parts)
	if len(parts) > 0 && parts[0] == "deleted" {
		p.deleted, parts = true, parts[1:]
	}
	if len(parts) < 3 || parts[0] != "entries" {
		return parsedPath{}, false
	}
	last := len(parts) - 1
	p.conversation, p.folder, p.name = parts[1], strings.Join(parts[2:last], "/"), parts[last]
	switch {
	case p.folder == "facts", p.folder == "summaries", p.folder == "profile", p.folder == contextsFolder, strings.HasPrefix(p.folder, "turns/") && strings.Count(p.folder, "/") == 1:
		return p, true
	}
	return p, p.folder == "" && p.name == conversationName
}

// splitOwner returns the owner of a path's folder, and the rest of the path. If escape cut the owner's
// name, splitOwner searches the owners with files; "" means that no owner matches.
func (s *Store) splitOwner(parts []string) (memory.Owner, []string) {
	namespace, rest, whole := memory.DefaultNamespace, parts, true
	if len(rest) > 2 && rest[0] == "namespaces" {
		namespace, whole = unescape(rest[1])
		rest = rest[2:]
	}
	var owner memory.Owner
	switch {
	case len(rest) > 2 && (rest[0] == "users" || rest[0] == "pools"):
		name, ok := unescape(rest[1])
		whole = whole && ok
		owner = memory.User(namespace, name)
		if rest[0] == "pools" {
			owner = memory.Pool(namespace, name)
		}
		rest = rest[2:]
	case len(rest) > 1 && rest[0] == "everyone":
		owner, rest = memory.Global(namespace), rest[1:]
	default:
		return s.opts.HomeOwner, parts
	}
	if whole {
		return owner, rest
	}
	folder := strings.Join(parts[:len(parts)-len(rest)], "/")
	for _, candidate := range s.OwnersWithFiles() {
		if s.ownerFolder(candidate) == folder {
			return candidate, rest
		}
	}
	return "", rest
}

// folderOf returns the folder for contents of a kind, such as "facts", in a conversation.
func (s *Store) folderOf(owner memory.Owner, conversation string, deleted bool, kind string) string {
	name := conversationFolder(conversation)
	if deleted {
		return path.Join(s.ownerFolder(owner), "deleted", "entries", name, kind)
	}
	return path.Join(s.ownerFolder(owner), "entries", name, kind)
}

// conversationFolder returns the name of a conversation's folder; globalFolder for "".
func conversationFolder(id string) string {
	if id == "" {
		return globalFolder
	}
	return escape(id)
}

// fileName returns the name of a memory's file, without ".md". The name never changes, so that
// links still work when the file is moved.
func fileName(created time.Time, id string) string {
	return created.UTC().Format("2006-01-02T15-04-05Z") + "__" + escape(id)
}

// LogPath returns a file's path for the log. "*" replaces names that people gave to files, and keys
// of profile entries.
func LogPath(file string) string {
	dir, name := path.Split(file)
	if _, ok := idInName(strings.TrimSuffix(name, ".md")); ok && path.Base(dir) != "profile" || name == conversationName+".md" {
		return file
	}
	return dir + "*" + path.Ext(name)
}

// linkTo returns an Obsidian link to the file with a name, or only the id if the name does not contain the
// whole id.
func linkTo(name, id string) string {
	if got, ok := idInName(name); !ok || got != id {
		return id
	}
	if strings.HasSuffix(name, ".md") { // Obsidian would remove this suffix as the file's extension
		name += ".md"
	}
	return "[[" + name + "]]"
}

var linkPattern = lazy.Compile(`\[\[[^\[\]]+\]\]`)

// nameInLink returns the FOLDER/NAME of an Obsidian link [[FOLDER/NAME#HEADING|ALIAS]]; "" if the
// text is not a link.
func nameInLink(text string) string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "[[")
	inner, closed := strings.CutSuffix(inner, "]]")
	if !ok || !closed {
		return ""
	}
	if i := strings.IndexAny(inner, "|#^"); i >= 0 {
		inner = inner[:i]
	}
	return strings.TrimSuffix(strings.TrimSpace(inner), ".md")
}

// idInLink returns the id in a link; text may also be an id.
func idInLink(text string) string {
	name := nameInLink(text)
	if id, ok := idInName(path.Base(name)); ok {
		return id
	}
	if id, ok := unescape(name); ok {
		return cmp.Or(id, text)
	}
	return cmp.Or(name, text)
}

func idInName(name string) (string, bool) {
	_, id, ok := strings.Cut(name, "__")
	if !ok {
		return "", false
	}
	return unescape(id)
}

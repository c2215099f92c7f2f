package archive

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Format is the version of the archives that this program writes, and the newest version that it
// reads.
const Format = 1

// The folders of an archive.
const (
	DataFolder  = "data"
	VaultFolder = "vault"
)

// The files that an archive can have under data/.
const (
	Database  = "loci.db"
	Notes     = "backups.json"         // the list of earlier backups
	Settings  = "backup-settings.yaml" // the settings, without secrets
	embedders = "embedders.json"       // only in old backups; not read any more
)

// DataFiles lists these names.
var DataFiles = []string{Database, Notes, Settings, embedders}

// manifestName is the name of the last member.
const manifestName = "manifest.json"

// Limits of what is read into memory, and of how far deflate can expand data.
const (
	maxManifest = 256 << 20
	maxSmall    = 64 << 20 // for each file under data/ except the database
	maxRatio    = 1100     // deflate reaches 1032 at most
)

// Manifest describes the content of an archive.
type Manifest struct {
	Format  int              `json:"format"`
	Loci    string           `json:"loci"`             // the version that made the archive
	Schema  int64            `json:"schema,omitempty"` // schema version of the database; 0: the archive has no database
	Began   time.Time        `json:"began"`            // everything acknowledged before this time is in the archive
	At      time.Time        `json:"at"`               // nothing written after this time is in the archive
	Counts  map[string]int64 `json:"counts"`           // numbers of things by kind
	Members []Member         `json:"members"`
}

// Member is one file of an archive.
type Member struct {
	Name   string `json:"name"` // slash-separated
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Has reports whether there is a member with this name or in this folder.
func (m Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Members, func(one Member) bool { return one.Name == name || strings.HasPrefix(one.Name, name+"/") })
}

// Size returns the total size of the members.
func (m Manifest) Size() (sum int64) {
	for _, one := range m.Members {
		sum += one.Size
	}
	return sum
}

// check returns an error for a manifest with impossible values.
func (m Manifest) check() error {
	if m.Format < 1 || m.Format > Format {
		return memory.Errorf(memory.Unavailable, "the backup has format %d, but this program supports formats up to %d: use a newer loci", m.Format, Format)
	}
	seen := map[string]bool{}
	var sum int64
	for _, one := range m.Members {
		if err := checkName(one.Name); err != nil {
			return err
		}
		if seen[one.Name] {
			return damaged("%q is there twice", one.Name)
		}
		seen[one.Name] = true
		if sum += one.Size; one.Size < 0 || sum < 0 {
			return damaged("%q has the size %d", one.Name, one.Size)
		}
		if strings.HasPrefix(one.Name, DataFolder+"/") && one.Name != DataFolder+"/"+Database && one.Size > maxSmall {
			return damaged("%q has %d bytes; the limit is %d", one.Name, one.Size, maxSmall)
		}
	}
	return nil
}

// checkName refuses names that leave their folder, and names that no backup contains.
func checkName(name string) error {
	folder, rest, _ := strings.Cut(name, "/")
	switch {
	case !fs.ValidPath(name) || strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)):
		return damaged("the name %q leaves its folder", name)
	case folder == DataFolder && slices.Contains(DataFiles, rest):
		return nil
	case folder != VaultFolder || rest == "":
		return damaged("%q does not belong in a backup", name)
	}
	for part := range strings.SplitSeq(rest, "/") {
		if strings.EqualFold(part, ".git") { // git would run the hooks in it
			return damaged("%q belongs to git, which backups skip", name)
		}
	}
	return nil
}

// damaged returns the error for an archive that differs from what was written.
func damaged(format string, args ...any) error {
	return memory.Errorf(memory.Invalid, "the backup is damaged or was altered: "+format, args...)
}

package archive

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Format is the version of the archives that this program writes, and the newest that
// it reads.
const Format = 1

// The folders of an archive.
const (
	DataFolder  = "data"
	VaultFolder = "vault"
)

// The files that an archive may have under data/.
const (
	Database  = "loci.db"
	Notes     = "backups.json"         // which backups were made before
	Settings  = "backup-settings.yaml" // what was set, without secrets
	embedders = "embedders.json"       // of older backups; nothing reads it
)

// DataFiles are those names.
var DataFiles = []string{Database, Notes, Settings, embedders}

// manifestName is the last member.
const manifestName = "manifest.json"

// Bounds of what is read into memory, and of how far deflate can blow up a byte.
const (
	maxManifest = 256 << 20
	maxSmall    = 64 << 20 // of files under data/ but the database
	maxRatio    = 1100     // 1032 is what deflate can reach
)

// Manifest says what is in an archive.
type Manifest struct {
	Format  int              `json:"format"`
	Loci    string           `json:"loci"`             // the version that made it
	Schema  int64            `json:"schema,omitempty"` // of the database; 0: there is none
	Began   time.Time        `json:"began"`            // what was acknowledged before is in it
	At      time.Time        `json:"at"`               // nothing that was written after is in it
	Counts  map[string]int64 `json:"counts"`           // of what there is, by kind
	Members []Member         `json:"members"`
}

// Member is one file of an archive.
type Member struct {
	Name   string `json:"name"` // with slashes
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Has reports whether there is a member under a folder, or of that name.
func (m Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Members, func(one Member) bool { return one.Name == name || strings.HasPrefix(one.Name, name+"/") })
}

// Size is how many bytes the members have together.
func (m Manifest) Size() (sum int64) {
	for _, one := range m.Members {
		sum += one.Size
	}
	return sum
}

// check refuses a manifest that names what cannot be.
func (m Manifest) check() error {
	if m.Format < 1 || m.Format > Format {
		return memory.Errorf(memory.Unavailable, "it is of format %d, this program knows up to %d: use a newer loci", m.Format, Format)
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
			return damaged("%q is of %d bytes", one.Name, one.Size)
		}
		if strings.HasPrefix(one.Name, DataFolder+"/") && one.Name != DataFolder+"/"+Database && one.Size > maxSmall {
			return damaged("%q is of %d bytes, and may be of %d", one.Name, one.Size, maxSmall)
		}
	}
	return nil
}

// checkName refuses names that lead out of their folder or are not for a backup to write.
func checkName(name string) error {
	folder, rest, _ := strings.Cut(name, "/")
	switch {
	case !fs.ValidPath(name) || strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)):
		return damaged("the name %q leads out of its folder", name)
	case folder == DataFolder && slices.Contains(DataFiles, rest):
		return nil
	case folder != VaultFolder || rest == "":
		return damaged("%q is nothing that a backup has", name)
	}
	for part := range strings.SplitSeq(rest, "/") {
		if strings.EqualFold(part, ".git") { // whose hooks would be run
			return damaged("%q is git's, which a backup leaves out", name)
		}
	}
	return nil
}

// damaged is the error of an archive that is not as it was written.
func damaged(format string, args ...any) error {
	return memory.Errorf(memory.Invalid, "the backup is damaged or was altered: "+format, args...)
}

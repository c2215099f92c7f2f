package archive

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// FormatVersion is the version of the archive format that this program writes, and the newest that it reads.
const FormatVersion = 1

// The folders of an archive.
const (
	DataFolder  = "data"
	VaultFolder = "vault"
)

// The files that an archive can have under data/.
const (
	DatabaseFile   = "loci.db"
	BackupListFile = "backups.json"         // list of earlier backups
	SettingsFile   = "backup-settings.yaml" // settings, without secrets
	embeddersFile  = "embedders.json"       // exists only in old backups; ignored
)

// DataFiles lists the names of all files that an archive can have under data/.
var DataFiles = []string{DatabaseFile, BackupListFile, SettingsFile, embeddersFile}

// manifestName is the name of the last member, with the manifest.
const manifestName = "manifest.json"

// Limits against archives that would fill main memory or the disk.
const (
	maxManifestSize     = 256 << 20 // bytes
	maxSmallFileSize    = 64 << 20  // bytes of each file under data/ except the database
	maxCompressionRatio = 1100      // unpacked size / packed size; deflate reaches at most 1032
)

// Manifest describes the content of an archive.
type Manifest struct {
	Format      int              `json:"format"`
	LociVersion string           `json:"loci"`             // version of Loci that wrote the archive
	Schema      int64            `json:"schema,omitempty"` // schema version of the database; 0 without a database
	StartedAt   time.Time        `json:"began"`            // the archive has all writes acknowledged before this time
	ContentAt   time.Time        `json:"at"`               // the archive has no writes after this time
	Counts      map[string]int64 `json:"counts"`           // number of records by kind, such as facts and turns
	Members     []Member         `json:"members"`
}

// Member is a file in an archive.
type Member struct {
	Name   string `json:"name"` // path with slashes
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Has reports whether a member has this name or is in this folder.
func (m Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Members, func(member Member) bool { return member.Name == name || strings.HasPrefix(member.Name, name+"/") })
}

// Size returns the total size of the members in bytes.
func (m Manifest) Size() (total int64) {
	for _, one := range m.Members {
		total += one.Size
	}
	return total
}

// check returns an error for a manifest with impossible values.
func (m Manifest) check() error {
	if m.Format < 1 || m.Format > FormatVersion {
		return memory.Errorf(memory.Unavailable, "the backup has format %d, but this program supports formats up to %d: use a newer version of loci", m.Format, FormatVersion)
	}
	seen := map[string]bool{}
	var sum int64
	for _, one := range m.Members {
		if err := checkMemberName(one.Name); err != nil {
			return err
		}
		if seen[one.Name] {
			return damagedError("it contains %q twice", one.Name)
		}
		seen[one.Name] = true
		if sum += one.Size; one.Size < 0 || sum < 0 {
			return damagedError("%q has the invalid size %d", one.Name, one.Size)
		}
		if strings.HasPrefix(one.Name, DataFolder+"/") && one.Name != DataFolder+"/"+DatabaseFile && one.Size > maxSmallFileSize {
			return damagedError("%q has %d bytes; the limit is %d", one.Name, one.Size, maxSmallFileSize)
		}
	}
	return nil
}

// checkMemberName refuses a member's name that is a path out of its folder, or that a backup must not contain.
func checkMemberName(name string) error {
	folder, rest, _ := strings.Cut(name, "/")
	switch {
	case !fs.ValidPath(name) || strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)):
		return damagedError("the name %q is a path out of its folder", name)
	case folder == DataFolder && slices.Contains(DataFiles, rest):
		return nil
	case folder != VaultFolder || rest == "":
		return damagedError("%q does not belong in a backup", name)
	}
	for part := range strings.SplitSeq(rest, "/") {
		if strings.EqualFold(part, ".git") { // git would run hooks in this folder
			return damagedError("%q belongs to git, which backups skip", name)
		}
	}
	return nil
}

// damagedError returns the error for an archive that was damaged or altered.
func damagedError(format string, args ...any) error {
	return memory.Errorf(memory.Invalid, "the backup is damaged or was altered: "+format, args...)
}

package core

import (
	"strings"

	"github.com/loci-memory/loci/memory"
)

// FilesRoot is the folder of the files that a model keeps. Such a file is a context whose
// title is its path.
const FilesRoot = "/memories"

// IsFile reports whether a context is a model's file.
func IsFile(c memory.Context) bool { return strings.HasPrefix(c.Title, FilesRoot+"/") }

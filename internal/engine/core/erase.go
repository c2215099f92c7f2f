package core

import (
	"strings"

	"github.com/loci-memory/loci/memory"
)

// EveryStatus is the statuses of all that there ever was.
var EveryStatus = []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}

// WasErased reports whether nothing is left of a fact but its id and its times.
func WasErased(f memory.Fact) bool { return f.Status == memory.Retired && f.Content == "" }

// ErrErased is about a thing whose words are gone.
func ErrErased(target string) error {
	return memory.Errorf(memory.Conflict, "%s was erased: its words are gone for good", strings.Replace(target, ":", " ", 1))
}

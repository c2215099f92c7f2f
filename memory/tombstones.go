package memory

import "context"

// Tombstones recognize deleted or excluded text when a client sends it again, in a copy of the chat under
// another id or in turns after an edited message. For each such turn the store has a keyed hash of role and
// text. The key is random, one for each owner; case, spaces and final punctuation do not change the hash.
type Tombstones interface {
	// AddTombstones records turns that are stored without text. It uses only the id, role and content of each
	// turn and ignores turns without content. A tombstone is permanent. Retired and erased turns need no
	// tombstones.
	AddTombstones(ctx context.Context, owner Owner, turns ...Turn) error

	// HasTombstones reports for each turn whether a turn with a tombstone, or an erased or retired turn,
	// has the same role and text. Restored turns do not count.
	HasTombstones(ctx context.Context, owner Owner, turns ...Turn) ([]bool, error)
}

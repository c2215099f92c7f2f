package memory

import "context"

// Tombstones recognize text that the store no longer has, so that it does not come back: when a
// client sends a chat again under another id, or turns after an edited message. For each excluded
// turn the store keeps a keyed hash of role and text. The key is random and belongs to the owner;
// case, spaces and final punctuation do not matter.
type Tombstones interface {
	// Bury records turns that are stored without text. It uses only the id, role and content of
	// each turn; turns without content are ignored. A buried turn stays buried. Retired and erased
	// turns need not be buried.
	Bury(ctx context.Context, owner Owner, turns ...Turn) error

	// Buried reports for each turn whether a buried, erased or retired turn has the same role and
	// text. Restored turns do not count.
	Buried(ctx context.Context, owner Owner, turns ...Turn) ([]bool, error)
}

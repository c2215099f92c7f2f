package memory

import "context"

// Tombstones recognize text that the store no longer has, so that it does not return by another
// way: a client that sends a chat again under another id, or turns behind an edited message. The
// store keeps a keyed hash of role and text of each turn out of recall; the key is random and the
// owner's own, and text is compared ignoring case, spaces and final punctuation.
type Tombstones interface {
	// Bury records turns that are stored without text. It uses only the id, the role and the
	// content of each; a buried turn stays buried, and empty content is ignored. Retired and
	// erased turns need not be buried.
	Bury(ctx context.Context, owner Owner, turns ...Turn) error

	// Buried reports for each turn whether a buried, erased or retired turn has its role and text.
	// A restored turn does not count.
	Buried(ctx context.Context, owner Owner, turns ...Turn) ([]bool, error)
}

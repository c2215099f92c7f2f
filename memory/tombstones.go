package memory

import "context"

// Tombstones know again what was said in words that the store keeps no more, so that they do
// not come back by another path: a client that sends a chat again under another name, or what
// stood behind a message that was edited. A keyed hash is kept of the role and the words of each
// turn that is out of recall; the key is the owner's alone and random, and words are compared
// whatever their case, spaces and last punctuation.
type Tombstones interface {
	// Bury lets turns be known again that are kept without words. Only the id, the role
	// and the content of each count; one that is buried already stays so, and empty
	// content is not kept. A turn that is retired or erased need not be buried.
	Bury(ctx context.Context, owner Owner, turns ...Turn) error

	// Buried reports of each of the turns whether its role said its words in a turn that
	// was buried or erased, or is retired. A retired turn that comes back is not counted
	// any more.
	Buried(ctx context.Context, owner Owner, turns ...Turn) ([]bool, error)
}

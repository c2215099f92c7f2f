package memory

import "context"

type patienceKey struct{}

// ForWrite returns a ctx that marks reads as part of a write. A store on an unavailable server
// retries such reads as long as writes, since the write needs them; ctx ends that sooner.
func ForWrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

// IsForWrite reports whether ctx has the mark of [ForWrite].
func IsForWrite(ctx context.Context) bool {
	is, _ := ctx.Value(patienceKey{}).(bool)
	return is
}

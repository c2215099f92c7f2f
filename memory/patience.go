package memory

import "context"

type patienceKey struct{}

// ForWrite marks reads with ctx as part of a write. A store on an unavailable server retries such
// reads as long as writes, unless ctx ends earlier, since the write needs them.
func ForWrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

// IsForWrite reports whether ctx has the mark of [ForWrite].
func IsForWrite(ctx context.Context) bool {
	is, _ := ctx.Value(patienceKey{}).(bool)
	return is
}

package memory

import "context"

type forWriteKey struct{}

// ForWrite marks reads with ctx as needed by a write. A store on an unavailable server retries such reads as
// long as it retries writes, unless ctx ends earlier.
func ForWrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, forWriteKey{}, true)
}

// IsForWrite reports whether ctx comes from [ForWrite].
func IsForWrite(ctx context.Context) bool {
	forWrite, _ := ctx.Value(forWriteKey{}).(bool)
	return forWrite
}

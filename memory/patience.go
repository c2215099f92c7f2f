package memory

import "context"

type patienceKey struct{}

// ForWrite returns ctx with the mark that what is read under it is read for the sake of a
// write. A store on a server that is away for a while tries such reads again for as long as
// it tries writes, since without them there is no write; ctx ends it sooner.
func ForWrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

// IsForWrite reports whether ctx bears the mark of [ForWrite].
func IsForWrite(ctx context.Context) bool {
	is, _ := ctx.Value(patienceKey{}).(bool)
	return is
}

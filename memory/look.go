package memory

import "context"

// Look is a set of reads of one owner's data.
type Look struct {
	IDs     []string // ids of memories
	Queries []Query
}

// Seen is the result of a [Look].
type Seen struct {
	Version  int64    // the owner's version; all results are of this version or a later one
	Memories []Memory // results of [Facts.Get] for the ids
	Pages    []Page   // results of [Facts.List] for each query
}

// Looker is a [Store] that answers a [Look] with fewer round trips. A server needs one, and reads
// from one snapshot.
type Looker interface {
	Look(ctx context.Context, owner Owner, l Look) (Seen, error)
}

// LookAt answers a Look with any store.
func LookAt(ctx context.Context, store Store, owner Owner, l Look) (Seen, error) {
	if looker, ok := store.(Looker); ok {
		return looker.Look(ctx, owner, l)
	}
	versions, err := store.Versions(ctx, []Owner{owner}) // first, so that the other results are of this version or later
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Version: versions[0]}
	if len(l.IDs) > 0 {
		if seen.Memories, err = store.Get(ctx, owner, l.IDs...); err != nil {
			return Seen{}, err
		}
	}
	for _, q := range l.Queries {
		page, err := store.List(ctx, owner, q)
		if err != nil {
			return Seen{}, err
		}
		seen.Pages = append(seen.Pages, page)
	}
	return seen, nil
}

type versionKey struct{ owner Owner }

// WithVersion returns a context that carries the owner's version. A [Source] then need not read the
// version, and reads need not see later commits.
func WithVersion(ctx context.Context, owner Owner, version int64) context.Context {
	return context.WithValue(ctx, versionKey{owner}, version)
}

// VersionOf returns the owner's version that [WithVersion] put into ctx.
func VersionOf(ctx context.Context, owner Owner) (version int64, found bool) {
	version, found = ctx.Value(versionKey{owner}).(int64)
	return version, found
}

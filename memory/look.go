package memory

import "context"

// Look is a set of reads of one owner.
type Look struct {
	IDs     []string // of memories
	Queries []Query
}

// Seen is the result of a [Look].
type Seen struct {
	Version  int64    // the owner's: all results are of that version or later
	Memories []Memory // of [Facts.Get] for the ids
	Pages    []Page   // of [Facts.List] for each query
}

// Looker is a [Store] that answers a [Look] in fewer round trips: a server in one, from one
// snapshot.
type Looker interface {
	Look(ctx context.Context, owner Owner, l Look) (Seen, error)
}

// LookAt answers a Look from any store.
func LookAt(ctx context.Context, store Store, owner Owner, l Look) (Seen, error) {
	if looker, ok := store.(Looker); ok {
		return looker.Look(ctx, owner, l)
	}
	versions, err := store.Versions(ctx, []Owner{owner}) // first: the rest must be of it or later
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

// WithVersion returns ctx for reads that need not see commits after the owner's version, which the
// caller knows: a [Source] need not ask for it again.
func WithVersion(ctx context.Context, owner Owner, version int64) context.Context {
	return context.WithValue(ctx, versionKey{owner}, version)
}

// VersionOf returns the owner's version from [WithVersion].
func VersionOf(ctx context.Context, owner Owner) (version int64, found bool) {
	version, found = ctx.Value(versionKey{owner}).(int64)
	return version, found
}

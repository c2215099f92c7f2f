package memory

import "context"

// ReadSet is a set of reads of one owner's data.
type Look struct {
	IDs     []string // ids of memories
	Queries []Query
}

// ReadResults are the results of a [ReadSet].
type Seen struct {
	Version  int64    // owner's version; all results are of this version or a later one
	Memories []Memory // results of [Facts.Get] for the ids
	Pages    []Page   // one page for each of the Queries, from [Facts.List]
}

// BatchReader is implemented by a [Store] that executes a [ReadSet] with fewer round trips. A store on a
// database server needs it, and reads from one database snapshot.
type Looker interface {
	Look(ctx context.Context, owner Owner, l Look) (Seen, error)
}

// ReadBatch executes a ReadSet with any store.
func LookAt(ctx context.Context, store Store, owner Owner, l Look) (Seen, error) {
	if looker, ok := store.(Looker); ok {
		return looker.Look(ctx, owner, l)
	}
	versions, err := store.Versions(ctx, []Owner{owner}) // read the version first: the other results are of this version or later
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

// WithVersion returns a context that contains the owner's version. With this context an [IndexSource] need
// not read the version, and reads need not return later commits.
func WithVersion(ctx context.Context, owner Owner, version int64) context.Context {
	return context.WithValue(ctx, versionKey{owner}, version)
}

// VersionOf returns the owner's version if [WithVersion] has put it into ctx.
func VersionOf(ctx context.Context, owner Owner) (version int64, found bool) {
	version, found = ctx.Value(versionKey{owner}).(int64)
	return version, found
}

package memory

import "context"

// Look is what somebody wants to know of an owner together.
type Look struct {
	IDs     []string // of memories
	Queries []Query
}

// Seen is what a [Look] sees.
type Seen struct {
	Version  int64    // the owner's: what is seen is of that version or later
	Memories []Memory // what [Facts.Get] says of the ids
	Pages    []Page   // what [Facts.List] says to each of the queries
}

// Looker is a [Store] that answers a [Look] in fewer ways than one question after the
// other: a server, in one way there and back, of one moment.
type Looker interface {
	Look(ctx context.Context, owner Owner, l Look) (Seen, error)
}

// LookAt asks any store what [Looker] tells.
func LookAt(ctx context.Context, store Store, owner Owner, l Look) (Seen, error) {
	if looker, ok := store.(Looker); ok {
		return looker.Look(ctx, owner, l)
	}
	versions, err := store.Versions(ctx, []Owner{owner}) // before all that is to be of it
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

// WithVersion returns ctx for reads that need not see what was committed after the owner's
// version, which the caller knows: a [Source] need not ask for it again.
func WithVersion(ctx context.Context, owner Owner, version int64) context.Context {
	return context.WithValue(ctx, versionKey{owner}, version)
}

// VersionOf returns the version that [WithVersion] gave ctx for the owner.
func VersionOf(ctx context.Context, owner Owner) (version int64, known bool) {
	version, known = ctx.Value(versionKey{owner}).(int64)
	return version, known
}

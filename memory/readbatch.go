package memory

import "context"

// ReadSet is a set of reads of one owner's data.
type ReadSet struct {
	IDs     []string // ids of memories
	Queries []Query
}

// ReadResults are the results of a [ReadSet].
type ReadResults struct {
	Version  int64    // owner's version; all results are of this version or a later one
	Memories []Memory // results of [Facts.Get] for the ids
	Pages    []Page   // one page for each of the Queries, from [Facts.List]
}

// BatchReader is implemented by a [Store] that executes a [ReadSet] with fewer round trips. A store on a
// database server needs it, and reads from one database snapshot.
type BatchReader interface {
	ReadBatch(ctx context.Context, owner Owner, set ReadSet) (ReadResults, error)
}

// ReadBatch executes a ReadSet with any store.
func ReadBatch(ctx context.Context, store Store, owner Owner, set ReadSet) (ReadResults, error) {
	if reader, ok := store.(BatchReader); ok {
		return reader.ReadBatch(ctx, owner, set)
	}
	versions, err := store.Versions(ctx, []Owner{owner}) // read the version first: the other results are of this version or later
	if err != nil {
		return ReadResults{}, err
	}
	results := ReadResults{Version: versions[0]}
	if len(set.IDs) > 0 {
		if results.Memories, err = store.Get(ctx, owner, set.IDs...); err != nil {
			return ReadResults{}, err
		}
	}
	for _, q := range set.Queries {
		page, err := store.List(ctx, owner, q)
		if err != nil {
			return ReadResults{}, err
		}
		results.Pages = append(results.Pages, page)
	}
	return results, nil
}

type versionKey struct{ owner Owner }

// WithVersion returns a context that contains the owner's version. With this context an [IndexSource] need
// not read the version again, and reads need not contain later commits.
func WithVersion(ctx context.Context, owner Owner, version int64) context.Context {
	return context.WithValue(ctx, versionKey{owner}, version)
}

// VersionOf returns the owner's version if [WithVersion] has put it into ctx.
func VersionOf(ctx context.Context, owner Owner) (version int64, ok bool) {
	version, ok = ctx.Value(versionKey{owner}).(int64)
	return version, ok
}

package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

const versionsOf = `SELECT owner, version FROM owners WHERE owner IN (SELECT value FROM json_each(?))`

// Owners returns every owner with a write to memory: see [memory.Facts].
func (s *Store) Owners(ctx context.Context) ([]memory.Owner, error) {
	owners, err := queryAll(ctx, s.reads, `SELECT owner FROM owners WHERE version > 0`, nil, scanText[memory.Owner])
	slices.Sort(owners)
	return owners, wrap("list owners", err)
}

// VectorModels returns the models of an owner's vectors: see [memory.Facts].
func (s *Store) VectorModels(ctx context.Context, owner memory.Owner) ([]string, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	models, err := queryAll(ctx, s.reads, `SELECT DISTINCT model FROM vectors WHERE owner = ? AND dims > 0`, []any{owner}, scanText[string])
	slices.Sort(models)
	return models, wrap("list models of vectors", err)
}

// Versions returns each owner's version: see [memory.Source].
func (s *Store) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	for _, o := range owners {
		if err := checkOwner(o); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	versions := make([]int64, len(owners))
	if toldVersions(ctx, owners, versions) {
		return versions, nil
	}
	return versions, s.readVersions(ctx, owners, versions)
}

// versionsFromContext reads versions from ctx, and reports whether ctx has all of them.
func toldVersions(ctx context.Context, owners []memory.Owner, versions []int64) (all bool) {
	for i, o := range owners {
		if versions[i], all = memory.VersionOf(ctx, o); !all {
			return false
		}
	}
	return all
}

func (s *Store) readVersions(ctx context.Context, owners []memory.Owner, versions []int64) error {
	found, err := queryAll(ctx, s.reads, versionsOf, []any{listOf(owners)}, func(row scanner) (h head, err error) {
		err = row.Scan((*string)(&h.owner), &h.version)
		return h, err
	})
	byOwner := make(map[memory.Owner]int64, len(found))
	for _, h := range found {
		byOwner[h.owner] = h.version
	}
	for i, o := range owners {
		versions[i] = byOwner[o]
	}
	return wrap("read versions", err)
}

// Since yields the items written after a version: see [memory.Source].
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	return s.pull(ctx, owner, pulling{of: followed, model: model, after: after, yield: func(p pulled) error { return yield(p.item()) }})
}

// sinceRequest is the argument of readSince: the items to read, and the function that receives them.
type pulling struct {
	of    []source // [sinceTables] or [indexTables]
	model string
	after int64
	yield func(pulled) error
}

// storedItem is an item with its encoded vector.
type pulled struct {
	memory.Item
	vector []byte
}

func (p pulled) compare(q pulled) int {
	return cmp.Or(cmp.Compare(p.Version, q.Version), strings.Compare(p.ID, q.ID))
}

func (p pulled) item() memory.Item {
	p.Vector = vector.FromBytes(p.vector)
	return p.Item
}

// readSince reads one page of each table in one round trip. If a table has more rows, readSince starts
// again in a snapshot, in which it reads page by page.
func (s *Store) pull(ctx context.Context, owner memory.Owner, p pulling) (version int64, err error) {
	var horizon int64
	var streams []*stream
	begin := func(v *view) ([]ask, error) {
		version, horizon, streams = 0, 0, nil
		asks := []ask{v.asking(`SELECT version, horizon FROM owners WHERE owner = ?`, nil, func(row scanner) error { return row.Scan(&version, &horizon) })}
		for _, from := range p.of {
			next := &stream{from: from}
			streams, asks = append(streams, next), append(asks, next.more(v, p))
		}
		return asks, nil
	}
	if err := s.follows.together(ctx, owner, begin); err != nil {
		return 0, err
	}
	finish := func(v *view) error {
		if err := followable(owner, p.after, horizon, version); err != nil {
			return err
		}
		return merge(streams, v, p)
	}
	if !slices.ContainsFunc(streams, (*stream).hasMore) {
		return version, finish(nil)
	}
	err = s.follows.see(ctx, owner, func(v *view) error {
		asks, err := begin(v)
		if err == nil {
			err = v.conn.ask(ctx, asks...)
		}
		if err != nil {
			return err
		}
		return finish(v)
	})
	return version, err
}

// checkAvailable returns an error unless all items after afterVersion are available.
func followable(owner memory.Owner, after, horizon, version int64) error {
	if after > version || after > 0 && after < horizon {
		return memory.Errorf(memory.Gone, "version %d of %s is not within %d to %d; start from 0", after, owner, horizon, version)
	}
	return nil
}

// sinceTables lists the tables that Since reads.
var followed = []source{facts, links, turns, summaries}

// sincePageSize is the number of rows that are read from a table at a time.
const followPage = 1024

// rowStream is a table's rows after a version, page by page.
type stream struct {
	from source
	page []pulled
	last pulled // last item of the last page
	read int    // number of items on the last page
}

// nextPageStatement returns the query that reads the next page.
func (s *stream) more(v *view, p pulling) ask {
	query, args := s.from.since(p.after), []any{p.model, max(p.after, s.last.Version)}
	if s.last.ID != "" { // other memories may have the same version
		query, args = strings.Replace(query, `version > ?3`, `(version, id) > (?3, ?4)`, 1), append(args, s.last.ID)
	}
	s.page, s.read = nil, 0
	return v.asking(query+` ORDER BY version, id`+limitOf(followPage), args, func(row scanner) (err error) {
		s.last, err = s.from.pulled(v.owner, row)
		s.page, s.read = append(s.page, s.last), s.read+1
		return err
	})
}

// hasMore reports whether the table may have another page.
func (s *stream) hasMore() bool { return s.read >= followPage }

// mergeStreams yields the streams' items ordered by version. It reads further pages in the snapshot v;
// v may be nil if there are none.
func merge(streams []*stream, v *view, p pulling) error {
	for {
		streams = slices.DeleteFunc(streams, func(s *stream) bool { return len(s.page) == 0 })
		if len(streams) == 0 {
			return nil
		}
		from := slices.MinFunc(streams, func(a, b *stream) int { return a.page[0].compare(b.page[0]) })
		next := from.page[0]
		if !next.Removed || p.after > 0 {
			if v != nil {
				*v.yielded = true
			}
			if err := p.yield(next); err != nil {
				return err
			}
		}
		if from.page = from.page[1:]; len(from.page) > 0 || !from.hasMore() {
			continue
		}
		if err := v.askPage(from.more(v, p)); err != nil {
			return fmt.Errorf("read the changes of %s: %w", from.from.table, err)
		}
	}
}

// sinceQuery returns the query for the rows of an owner (?1) after a version (?3), with the vectors
// of a model (?2). The caller adds ORDER BY and LIMIT.
func (s source) since(after int64) string {
	query := `SELECT ` + s.columns + `,
		(SELECT data FROM vectors v WHERE v.owner = m.owner AND v.memory = m.id AND v.model = ?2)
		FROM ` + s.table + ` m WHERE owner = ?1 AND version > ?3`
	if after == 0 {
		query += ` AND status = 'active'`
	}
	return query
}

// scanItem reads a row of sinceQuery.
func (s source) pulled(owner memory.Owner, row scanner) (pulled, error) {
	var k pulled
	m, err := s.scan(owner, row, &k.vector)
	if err != nil {
		return pulled{}, fmt.Errorf("read %s: %w", s.table, err)
	}
	k.ID, k.Version = m.ID(), m.Version()
	if k.Removed = m.Status() != memory.Active || m.Turn != nil && m.Content() == ""; k.Removed {
		k.vector = nil
		return k, nil
	}
	k.Memory = m
	return k, nil
}

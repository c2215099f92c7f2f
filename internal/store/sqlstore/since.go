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

const versionsQuery = `SELECT owner, version FROM owners WHERE owner IN (SELECT value FROM json_each(?))`

// Owners returns every owner to whose memory something was written: see [memory.Facts].
func (s *Store) Owners(ctx context.Context) ([]memory.Owner, error) {
	owners, err := queryAll(ctx, s.reader, `SELECT owner FROM owners WHERE version > 0`, nil, scanText[memory.Owner])
	slices.Sort(owners)
	return owners, wrap("list owners", err)
}

// VectorModels returns the models of an owner's vectors: see [memory.Facts].
func (s *Store) VectorModels(ctx context.Context, owner memory.Owner) ([]string, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	models, err := queryAll(ctx, s.reader, `SELECT DISTINCT model FROM vectors WHERE owner = ? AND dims > 0`, []any{owner}, scanText[string])
	slices.Sort(models)
	return models, wrap("list models of vectors", err)
}

// Versions returns each owner's version: see [memory.IndexSource].
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
	if versionsFromContext(ctx, owners, versions) {
		return versions, nil
	}
	return versions, s.readVersions(ctx, owners, versions)
}

// versionsFromContext copies the owners' versions from ctx, and reports whether ctx has all of them.
func versionsFromContext(ctx context.Context, owners []memory.Owner, versions []int64) (complete bool) {
	for i, o := range owners {
		if versions[i], complete = memory.VersionOf(ctx, o); !complete {
			return false
		}
	}
	return complete
}

func (s *Store) readVersions(ctx context.Context, owners []memory.Owner, versions []int64) error {
	found, err := queryAll(ctx, s.reader, versionsQuery, []any{toTextList(owners)}, func(row scanner) (h ownerVersion, err error) {
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

// Since yields the items written after a version: see [memory.IndexSource].
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, afterVersion int64, yield func(memory.IndexItem) error) (int64, error) {
	return s.readSince(ctx, owner, sinceRequest{tables: sinceTables, model: model, afterVersion: afterVersion, yield: func(p storedItem) error { return yield(p.decode()) }})
}

// sinceRequest is the argument of readSince: the items to read, and the function that receives them.
type sinceRequest struct {
	tables       []memoryTable // [sinceTables] or [indexTables]
	model        string
	afterVersion int64
	yield        func(storedItem) error
}

// storedItem is an item whose vector is still encoded.
type storedItem struct {
	memory.IndexItem
	vectorData []byte
}

func (p storedItem) compare(q storedItem) int {
	return cmp.Or(cmp.Compare(p.Version, q.Version), strings.Compare(p.ID, q.ID))
}

func (p storedItem) decode() memory.IndexItem {
	p.Vector = vector.ValuesFromBytes(p.vectorData)
	return p.IndexItem
}

// readSince reads one page of each table in one round trip. If a table has more rows, it begins again in
// a snapshot, and reads page by page, so that all pages are of one time.
func (s *Store) readSince(ctx context.Context, owner memory.Owner, request sinceRequest) (version int64, err error) {
	var oldestVersion int64
	var streams []*rowStream
	begin := func(v *view) ([]statement, error) {
		version, oldestVersion, streams = 0, 0, nil
		asks := []statement{v.ownerStatement(`SELECT version, horizon FROM owners WHERE owner = ?`, nil, func(row scanner) error { return row.Scan(&version, &oldestVersion) })}
		for _, from := range request.tables {
			next := &rowStream{table: from}
			streams, asks = append(streams, next), append(asks, next.nextPageStatement(v, request))
		}
		return asks, nil
	}
	if err := s.sinceReader.readBatch(ctx, owner, begin); err != nil {
		return 0, err
	}
	finish := func(v *view) error {
		if err := checkAvailable(owner, request.afterVersion, oldestVersion, version); err != nil {
			return err
		}
		return mergeStreams(streams, v, request)
	}
	if !slices.ContainsFunc(streams, (*rowStream).hasMore) {
		return version, finish(nil)
	}
	err = s.sinceReader.withSnapshot(ctx, owner, func(v *view) error {
		asks, err := begin(v)
		if err == nil {
			err = v.session.runBatch(ctx, asks...)
		}
		if err != nil {
			return err
		}
		return finish(v)
	})
	return version, err
}

// checkAvailable returns [memory.Gone] unless the store has all items written after afterVersion.
func checkAvailable(owner memory.Owner, afterVersion, oldestVersion, version int64) error {
	if afterVersion > version || afterVersion > 0 && afterVersion < oldestVersion {
		return memory.Errorf(memory.Gone, "the changes since version %d of %s are not available (available: since versions %d to %d); read from version 0", afterVersion, owner, oldestVersion, version)
	}
	return nil
}

var sinceTables = []memoryTable{facts, links, turns, summaries}

// sincePageSize is the number of rows that are read from a table at a time.
const sincePageSize = 1024

// rowStream is a table's rows after a version, page by page.
type rowStream struct {
	table        memoryTable
	pendingItems []storedItem // items of the last page that were not yielded yet
	lastItem     storedItem   // last item of the last page, after which the next page begins
	lastPageSize int          // number of items on the last page
}

// nextPageStatement returns the query that reads the next page.
func (s *rowStream) nextPageStatement(v *view, request sinceRequest) statement {
	query, args := s.table.sinceQuery(request.afterVersion), []any{request.model, max(request.afterVersion, s.lastItem.Version)}
	if s.lastItem.ID != "" { // rows not read yet may have the same version
		query, args = strings.Replace(query, `version > ?3`, `(version, id) > (?3, ?4)`, 1), append(args, s.lastItem.ID)
	}
	s.pendingItems, s.lastPageSize = nil, 0
	return v.ownerStatement(query+` ORDER BY version, id`+limitClause(sincePageSize), args, func(row scanner) (err error) {
		s.lastItem, err = s.table.scanItem(v.owner, row)
		s.pendingItems, s.lastPageSize = append(s.pendingItems, s.lastItem), s.lastPageSize+1
		return err
	})
}

// hasMore reports whether the table may have another page: the last page was full.
func (s *rowStream) hasMore() bool { return s.lastPageSize >= sincePageSize }

// mergeStreams yields the streams' items ordered by version. It reads further pages through v, which may
// be nil if no stream has more.
func mergeStreams(streams []*rowStream, v *view, request sinceRequest) error {
	for {
		streams = slices.DeleteFunc(streams, func(s *rowStream) bool { return len(s.pendingItems) == 0 })
		if len(streams) == 0 {
			return nil
		}
		from := slices.MinFunc(streams, func(a, b *rowStream) int { return a.pendingItems[0].compare(b.pendingItems[0]) })
		next := from.pendingItems[0]
		if !next.Removed || request.afterVersion > 0 {
			if v != nil {
				*v.hasYielded = true
			}
			if err := request.yield(next); err != nil {
				return err
			}
		}
		if from.pendingItems = from.pendingItems[1:]; len(from.pendingItems) > 0 || !from.hasMore() {
			continue
		}
		if err := v.runPageBatch(from.nextPageStatement(v, request)); err != nil {
			return fmt.Errorf("read the changes of %s: %w", from.table.name, err)
		}
	}
}

// sinceQuery returns the query for an owner's (?1) rows after a version (?3), with the vectors of a model
// (?2). The caller adds ORDER BY and LIMIT.
func (s memoryTable) sinceQuery(afterVersion int64) string {
	query := `SELECT ` + s.columns + `,
		(SELECT data FROM vectors v WHERE v.owner = m.owner AND v.memory = m.id AND v.model = ?2)
		FROM ` + s.name + ` m WHERE owner = ?1 AND version > ?3`
	if afterVersion == 0 {
		query += ` AND status = 'active'`
	}
	return query
}

// scanItem reads a row of sinceQuery.
func (s memoryTable) scanItem(owner memory.Owner, row scanner) (storedItem, error) {
	var k storedItem
	m, err := s.scan(owner, row, &k.vectorData)
	if err != nil {
		return storedItem{}, fmt.Errorf("read %s: %w", s.name, err)
	}
	k.ID, k.Version = m.ID(), m.Version()
	if k.Removed = m.Status() != memory.Active || m.Turn != nil && m.Content() == ""; k.Removed {
		k.vectorData = nil
		return k, nil
	}
	k.Memory = m
	return k, nil
}

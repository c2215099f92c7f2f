package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

const versionsOf = `SELECT owner, version FROM owners WHERE owner IN (SELECT value FROM json_each(?))`

// Owners returns who was ever written: see [memory.Facts].
func (s *Store) Owners(ctx context.Context) ([]memory.Owner, error) {
	var owners []memory.Owner
	err := s.reads.again(ctx, func() error {
		rows, err := s.reads.ask(ctx, `SELECT owner FROM owners WHERE version > 0`)
		owners, err = collect(rows, err, func(row scanner) (owner memory.Owner, err error) {
			err = row.Scan((*string)(&owner))
			return owner, err
		})
		return wrap("list owners", err)
	})
	slices.Sort(owners)
	return owners, err
}

// VectorModels returns the models by which an owner has vectors: see [memory.Facts].
func (s *Store) VectorModels(ctx context.Context, owner memory.Owner) (models []string, err error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	err = s.reads.again(ctx, func() error {
		rows, err := s.reads.ask(ctx, `SELECT DISTINCT model FROM vectors WHERE owner = ? AND dims > 0`, owner)
		models, err = collect(rows, err, func(row scanner) (model string, err error) { return model, row.Scan(&model) })
		return wrap("list models of vectors", err)
	})
	slices.Sort(models)
	return models, err
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
	if err := s.readVersions(ctx, owners, versions); err != nil {
		return nil, err
	}
	return versions, nil
}

// toldVersions reads the versions that ctx knows, and reports whether it knows all.
func toldVersions(ctx context.Context, owners []memory.Owner, versions []int64) (all bool) {
	for i, o := range owners {
		if versions[i], all = memory.VersionOf(ctx, o); !all {
			return false
		}
	}
	return all
}

func (s *Store) readVersions(ctx context.Context, owners []memory.Owner, versions []int64) error {
	clear(versions)
	names := make([]string, len(owners))
	place := make(map[string][]int, len(owners))
	for i, o := range owners {
		names[i] = string(o)
		place[names[i]] = append(place[names[i]], i)
	}
	return s.reads.again(ctx, func() error {
		rows, err := s.reads.ask(ctx, versionsOf, listed(names))
		_, err = collect(rows, err, func(row scanner) (version int64, err error) {
			var name string
			err = row.Scan(&name, &version)
			for _, i := range place[name] {
				versions[i] = version
			}
			return version, err
		})
		return wrap("read versions", err)
	})
}

// Since yields what was written after a version: see [memory.Source].
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	return s.pull(ctx, owner, pulling{of: followed, model: model, after: after, yield: func(p pulled) error { return yield(p.item()) }})
}

// pulling is one pull of what was written after a version.
type pulling struct {
	of    []source // [followed], or [lean]
	model string
	after int64
	yield func(pulled) error
}

// pulled is an item whose vector is as it is in the database.
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

func (s *Store) pull(ctx context.Context, owner memory.Owner, p pulling) (version int64, err error) {
	if s.follows.into != nil {
		if version, all, err := s.pullInOne(ctx, owner, p); all || err != nil {
			return version, err
		}
	}
	err = s.follows.see(ctx, owner, func(v *view) error {
		var horizon int64
		changed := make([]bool, len(p.of))
		rows, err := v.query(changedSince, p.after)
		_, err = collect(rows, err, func(row scanner) (struct{}, error) {
			into := []any{&version, &horizon}
			for i := range changed {
				into = append(into, &changed[i])
			}
			return struct{}{}, row.Scan(into...)
		})
		if err != nil {
			return fmt.Errorf("read the owner's version: %w", err)
		}
		if err := goesOn(owner, p.after, horizon, version); err != nil {
			return err
		}
		var from []source
		for i, table := range p.of {
			if changed[i] {
				from = append(from, table)
			}
		}
		p.of = from
		return v.pull(p)
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// pullInOne is pull with one question to a server, if each table has no more than a page;
// else it yields nothing.
func (s *Store) pullInOne(ctx context.Context, owner memory.Owner, p pulling) (version int64, all bool, err error) {
	var horizon int64
	pages := make([][]pulled, len(p.of))
	err = s.follows.together(ctx, owner, func(v *view) ([]ask, error) {
		version, horizon = 0, 0
		asks := []ask{v.asking(`SELECT version, horizon FROM owners WHERE owner = ?`, nil, func(row scanner) error { return row.Scan(&version, &horizon) })}
		for i, from := range p.of {
			pages[i] = nil
			asks = append(asks, v.asking(from.since(p.after)+inOrder+limitOf(followPage), []any{p.model, p.after}, func(row scanner) error {
				one, err := from.pulled(owner, row)
				pages[i] = append(pages[i], one)
				return err
			}))
		}
		return asks, nil
	})
	if err != nil || slices.ContainsFunc(pages, func(page []pulled) bool { return len(page) >= followPage }) {
		return 0, false, err
	}
	if err := goesOn(owner, p.after, horizon, version); err != nil {
		return 0, true, err
	}
	found := slices.Concat(pages...)
	slices.SortFunc(found, pulled.compare)
	for _, one := range found {
		if one.Removed && p.after == 0 {
			continue
		}
		if err := p.yield(one); err != nil {
			return 0, true, err
		}
	}
	return version, true, nil
}

// goesOn reports whether a version can be followed from.
func goesOn(owner memory.Owner, after, horizon, version int64) error {
	if after > version || after > 0 && after < horizon {
		return memory.Errorf(memory.Gone, "version %d of %s is not within %d to %d; start from 0", after, owner, horizon, version)
	}
	return nil
}

// followed are the tables that Since reads, and changedSince asks which of them
// have something newer: mostly one, the turns.
var (
	followed     = []source{facts, links, turns, summaries}
	changedSince = func() string {
		query := `SELECT version, horizon`
		for _, s := range followed {
			query += `, EXISTS (SELECT 1 FROM ` + s.table + ` WHERE owner = ?1 AND version > ?2)`
		}
		return query + ` FROM owners WHERE owner = ?1`
	}()
)

// pull merges what each of the tables has, which is sorted alike.
func (v *view) pull(p pulling) error {
	var streams []*stream
	for _, from := range p.of {
		s, err := v.stream(from, p)
		if err != nil {
			return fmt.Errorf("follow %s: %w", from.table, err)
		}
		defer s.stop()
		streams = append(streams, s)
	}
	return v.merge(streams, p)
}

// merge yields what the streams have, in order.
func (v *view) merge(streams []*stream, p pulling) error {
	for {
		streams = slices.DeleteFunc(streams, func(s *stream) bool { return s.done })
		if len(streams) == 0 {
			return nil
		}
		next := slices.MinFunc(streams, func(a, b *stream) int { return a.head.compare(b.head) })
		if !next.head.Removed || p.after > 0 {
			*v.told = true
			if err := p.yield(next.head); err != nil {
				return err
			}
		}
		if err := next.advance(); err != nil {
			return err
		}
	}
}

// stream is what a table has to say after a version, one item ahead.
type stream struct {
	from source
	next func() (pulled, error) // [io.EOF] at the end
	stop func()
	head pulled
	done bool
}

func (v *view) stream(from source, p pulling) (*stream, error) {
	s := &stream{from: from, stop: func() {}}
	if v.conn.into != nil {
		s.next = v.paged(from, p)
		return s, s.advance()
	}
	rows, err := v.query(from.since(p.after)+inOrder, p.model, p.after)
	if err != nil {
		return nil, err
	}
	s.stop = func() { _ = rows.Close() }
	s.next = func() (pulled, error) {
		if !rows.Next() {
			return pulled{}, cmp.Or(rows.Err(), io.EOF)
		}
		return from.pulled(v.owner, rows.Rows)
	}
	return s, s.advance()
}

// since is the question of what a table has of an owner (1), with vectors of a model (2),
// after a version (3), without its end.
func (s source) since(after int64) string {
	query := `SELECT ` + s.columns + `,
		(SELECT data FROM vectors v WHERE v.owner = m.owner AND v.memory = m.id AND v.model = ?2)
		FROM ` + s.table + ` m WHERE owner = ?1 AND version > ?3`
	if after == 0 {
		query += ` AND status = 'active'`
	}
	return query
}

const inOrder = ` ORDER BY version, id`

// followPage is how many memories are read at a time from a server.
const followPage = 1024

// paged reads a page at a time, since a connection to PostgreSQL answers one question
// at a time. The pages are of one snapshot.
func (v *view) paged(from source, p pulling) func() (pulled, error) {
	var page []pulled
	ended := false
	query := from.since(p.after)
	last := memory.Item{Version: p.after}
	return func() (pulled, error) {
		if len(page) == 0 && !ended {
			more, args := query, []any{p.model, last.Version}
			if last.ID != "" { // of that version there may be others
				more, args = strings.Replace(query, `version > ?3`, `(version, id) > (?3, ?4)`, 1), append(args, last.ID)
			}
			rows, err := v.queryPage(more+inOrder+limitOf(followPage), args...)
			page, err = collect(rows, err, func(row scanner) (pulled, error) { return from.pulled(v.owner, row) })
			if err != nil {
				return pulled{}, err
			}
			ended = len(page) < followPage
		}
		if len(page) == 0 {
			return pulled{}, io.EOF
		}
		next := page[0]
		last, page = next.Item, page[1:]
		return next, nil
	}
}

// pulled reads a row of a stream.
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

func (s *stream) advance() (err error) {
	s.head, err = s.next()
	if s.done = errors.Is(err, io.EOF); s.done {
		return nil
	}
	return err
}

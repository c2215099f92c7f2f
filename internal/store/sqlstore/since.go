package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

const versionsOf = `SELECT owner, version FROM owners WHERE owner IN (SELECT value FROM json_each(?))`

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
	commits, all := s.writer.heads.find(owners, versions)
	if all {
		return versions, nil
	}
	if err := s.readVersions(ctx, owners, versions); err != nil {
		return nil, err
	}
	s.writer.heads.learn(owners, versions, commits)
	return versions, nil
}

func (s *Store) readVersions(ctx context.Context, owners []memory.Owner, versions []int64) error {
	clear(versions)
	names := make([]string, len(owners))
	place := make(map[string][]int, len(owners))
	for i, o := range owners {
		names[i] = string(o)
		place[names[i]] = append(place[names[i]], i)
	}
	rows, err := s.versions.QueryContext(ctx, orNone(names))
	_, err = collect(rows, err, func(row scanner) (version int64, err error) {
		var name string
		err = row.Scan(&name, &version)
		for _, i := range place[name] {
			versions[i] = version
		}
		return version, err
	})
	return wrap("read versions", err)
}

// Since yields what was written after a version: see [memory.Source].
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	if after <= 0 || ctx.Err() != nil {
		return s.readSince(ctx, owner, model, after, yield)
	}
	turns, version, ok := s.writer.tails.since(owner, after)
	if !ok {
		return s.readSince(ctx, owner, model, after, yield)
	}
	for _, t := range turns {
		if err := yield(t.item(model)); err != nil {
			return 0, err
		}
	}
	return version, nil
}

func (s *Store) readSince(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	var version int64
	err := s.follows.see(ctx, owner, func(v *view) error {
		var horizon int64
		changed := make([]bool, len(followed))
		rows, err := v.query(changedSince, after)
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
		if after > version || after > 0 && after < horizon {
			return memory.Errorf(memory.Gone, "version %d of %s is not within %d to %d; start from 0", after, owner, horizon, version)
		}
		var from []source
		for i, table := range followed {
			if changed[i] {
				from = append(from, table)
			}
		}
		return v.since(from, model, after, yield)
	})
	if err != nil {
		return 0, err
	}
	return version, nil
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

// since merges what each of the tables has, which is sorted alike.
func (v *view) since(tables []source, model string, after int64, yield func(memory.Item) error) error {
	var streams []*stream
	for _, from := range tables {
		s, err := v.stream(from, model, after)
		if err != nil {
			return fmt.Errorf("follow %s: %w", from.table, err)
		}
		defer s.rows.Close()
		streams = append(streams, s)
	}
	for {
		streams = slices.DeleteFunc(streams, func(s *stream) bool { return s.done })
		if len(streams) == 0 {
			return nil
		}
		next := slices.MinFunc(streams, func(a, b *stream) int {
			return cmp.Or(cmp.Compare(a.head.Version, b.head.Version), strings.Compare(a.head.ID, b.head.ID))
		})
		if item := next.head; !item.Removed || after > 0 {
			if err := yield(item); err != nil {
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
	from  source
	owner memory.Owner
	rows  *sql.Rows
	head  memory.Item
	done  bool
}

func (v *view) stream(from source, model string, after int64) (*stream, error) {
	query := `SELECT ` + from.columns + `,
		(SELECT data FROM vectors v WHERE v.owner = m.owner AND v.memory = m.id AND v.model = ?2)
		FROM ` + from.table + ` m WHERE owner = ?1 AND version > ?3`
	if after == 0 {
		query += ` AND status = 'active'`
	}
	rows, err := v.query(query+` ORDER BY version, id`, model, after)
	if err != nil {
		return nil, err
	}
	s := &stream{from: from, owner: v.owner, rows: rows}
	return s, s.advance()
}

func (s *stream) advance() error {
	if s.done = !s.rows.Next(); s.done {
		return s.rows.Err()
	}
	var data []byte
	m, err := s.from.scan(s.owner, s.rows, &data)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.from.table, err)
	}
	s.head = memory.Item{ID: m.ID(), Version: m.Version()}
	if s.head.Removed = m.Status() != memory.Active || m.Turn != nil && m.Content() == ""; !s.head.Removed {
		s.head.Memory, s.head.Vector = m, decodeHalves(data)
	}
	return nil
}

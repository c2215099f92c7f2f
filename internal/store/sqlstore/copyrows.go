package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// perTable are numbers of rows, in the order of the tables.
type perTable []int64

func (p perTable) all() (sum int64) {
	for _, n := range p {
		sum += n
	}
	return sum
}

func (p perTable) byName() map[string]int64 {
	out := map[string]int64{}
	for i, t := range tables {
		out[t.name] = p[i]
	}
	return out
}

// counts returns how many rows each table has.
func (s *side) counts(ctx context.Context) (perTable, error) {
	out := make(perTable, len(tables))
	for i, t := range tables {
		rows, err := s.conn.query(ctx, `SELECT COUNT(*) FROM `+t.name)
		if err := only(rows, err, &out[i]); err != nil {
			return nil, fmt.Errorf("count %s: %w", t.name, err)
		}
	}
	return out, nil
}

// Each is a probe of every table's key.
var (
	nextOwner = `SELECT COALESCE(MIN(o), '') FROM (` + eachTable(`SELECT MIN(owner) AS o FROM @ WHERE owner > ?1`, ` UNION ALL `) + `) AS f`
	sizeOf    = `SELECT ` + eachTable(`(SELECT COUNT(*) FROM @ WHERE owner = ?1)`, ` + `)
)

func eachTable(text, between string) string {
	var parts []string
	for _, t := range tables {
		parts = append(parts, strings.ReplaceAll(text, "@", t.name))
	}
	return strings.Join(parts, between)
}

// next returns the first owner after one, "" if there is none.
func (s *side) next(ctx context.Context, after string) (owner string, err error) {
	rows, err := s.conn.query(ctx, nextOwner, after)
	return owner, wrap("look for the next owner", only(rows, err, &owner))
}

// size returns how many rows there are of an owner.
func (s *side) size(ctx context.Context, owner string) (n int64, err error) {
	rows, err := s.conn.query(ctx, sizeOf, owner)
	return n, wrap("count an owner's rows", only(rows, err, &n))
}

// read calls with with a table's rows of the span's owners, by key. next returns a row's
// values as both dialects have them (nil, int64, float64, string or []byte), nil after
// the last; it is good until it is called again.
func (s *side) read(ctx context.Context, table, key string, of span, with func(columns []string, next func() ([]any, error)) error) error {
	found, err := s.conn.query(ctx, `SELECT * FROM `+table+` WHERE owner BETWEEN ? AND ? ORDER BY `+key, of.first, of.last)
	if err != nil {
		return s.explained(err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	next := func() ([]any, error) {
		if !found.Next() {
			return nil, s.explained(found.Err())
		}
		if err := found.Rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, v := range values {
			switch v := v.(type) {
			case bool:
				values[i] = int64(0)
				if v {
					values[i] = int64(1)
				}
			case string:
				if s.conn.into != nil {
					values[i] = unescape(v)
				}
			}
		}
		return values, nil
	}
	return with(columns, next)
}

// digest is a count and a hash of rows, in whatever order they come.
type digest struct {
	rows int64
	sum  [4]uint64 // of the rows' SHA-256
}

func (d *digest) add(row [sha256.Size]byte) {
	d.rows++
	for i := range d.sum {
		d.sum[i] += binary.LittleEndian.Uint64(row[8*i:])
	}
}

// digests returns one for each of the span's owners, over all tables.
func (s *side) digests(ctx context.Context, of span) (map[string]digest, error) {
	out := map[string]digest{}
	var buf []byte
	for _, t := range tables {
		err := s.read(ctx, t.name, t.key, of, func(columns []string, next func() ([]any, error)) error {
			for {
				values, err := next()
				if err != nil || values == nil {
					return err
				}
				buf = append(buf[:0], t.name...)
				for i, v := range values {
					buf = canonical(append(append(buf, 0), columns[i]...), v)
				}
				owner := values[0].(string)
				d := out[owner]
				d.add(sha256.Sum256(buf))
				out[owner] = d
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read %s of owners %q to %q at %s: %w", t.name, of.first, of.last, s.shown, err)
		}
	}
	return out, nil
}

// canonical appends a value: its kind, its length where that may vary, its bytes.
func canonical(buf []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(buf, 0)
	case int64:
		return binary.LittleEndian.AppendUint64(append(buf, 1), uint64(v)) //nolint:gosec // its bits
	case float64:
		return binary.LittleEndian.AppendUint64(append(buf, 2), math.Float64bits(v))
	case string:
		return append(binary.LittleEndian.AppendUint64(append(buf, 3), uint64(len(v))), v...)
	case []byte:
		return append(binary.LittleEndian.AppendUint64(append(buf, 4), uint64(len(v))), v...)
	}
	panic(fmt.Sprintf("sqlstore: a database has no values of type %T", v))
}

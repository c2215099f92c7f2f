package sqlstore

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// On a server with pgvector, the store also writes each vector as a halfvec, in the same transaction
// (migrations/pgvector/seed.sql). The database then searches the vectors: exactly or, after
// [Store.IndexVectors] for the owner, by an HNSW index. Loci itself reads the column data, so removing
// the extension loses no vectors.

const (
	// minPgvectorVersion is the first version with hnsw.iterative_scan, which continues an index scan
	// until enough rows pass a filter.
	minPgvectorVersion = "0.8"
	// maxHalfvecDims is the maximum length of a halfvec, maxIndexedDims that of an indexed halfvec.
	maxHalfvecDims = 16_000
	maxIndexedDims = 4000
	// minSearchEffort and maxSearchEffort limit the number of candidates of an index search (hnsw.ef_search).
	minSearchEffort, maxSearchEffort = 100, 1000
	// buildMemory is the minimum of maintenance_work_mem in KiB for building an index.
	buildMemory = 256 << 10
	// buildPoll is the interval at which a store checks whether another store's index build has ended.
	buildPoll = 5 * time.Second
	// fillBatchSize is the number of halfvecs that fillHalfvecs writes in one statement.
	fillBatchSize = 500
)

// pgvector describes the extension pgvector of a database.
type pgvector struct {
	version   string
	schema    string // quoted name of the schema with the extension's types and operators
	upsertSQL string // SQL statement that writes a vector and its halfvec
}

// seedPreparedQuery reports whether the columns and views of the current seed.sql exist.
const seedPreparedQuery = `EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('vectors') AND attname = 'values' AND NOT attisdropped)
	AND coalesce(obj_description(to_regclass('memory_updates'), 'pg_class') = 'Loci 2', false)`

// vectorID and metadataOf are SQL expressions of an owner, a memory's id and a model (%[1]s to %[3]s) for
// the columns id and metadata, which other programs read.
const (
	vectorID   = `%[1]s || '/' || %[2]s || '/' || left(md5(%[3]s), 8)`
	metadataOf = `coalesce((SELECT jsonb_build_object('content', m.content, 'type', m.type, 'created_at', m.created_at)
		FROM remembered m WHERE m.owner = %[1]s AND m.id = %[2]s LIMIT 1), '{}')`
)

// preparePgvector creates the columns and views that use the extension, and adds missing halfvecs. If the
// extension is missing or too old, it returns nil, and description says so.
func preparePgvector(ctx context.Context, conn *sql.Conn) (extension *pgvector, description string, err error) {
	extension = &pgvector{}
	var prepared, tooOld bool
	err = conn.QueryRowContext(ctx, `SELECT e.extversion, string_to_array(substring(e.extversion from '^[0-9]+[.][0-9]+'), '.')::int[] < string_to_array('`+minPgvectorVersion+`', '.')::int[], quote_ident(n.nspname), `+seedPreparedQuery+`
		FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`).Scan(&extension.version, &tooOld, &extension.schema, &prepared)
	switch {
	case isNoRows(err):
		return nil, "no pgvector", nil
	case err != nil:
		return nil, "", fmt.Errorf("check for pgvector: %w", err)
	case tooOld:
		return nil, "pgvector " + extension.version + ", which is too old; the oldest supported version is " + minPgvectorVersion, nil
	}
	if !prepared {
		if err := createPgvectorColumns(ctx, conn, extension.schema); err != nil {
			return nil, "", fmt.Errorf("create the columns of pgvector: %w", err)
		}
	}
	for hasMore := true; hasMore; {
		if hasMore, err = extension.fillHalfvecs(ctx, conn); err != nil {
			return nil, "", fmt.Errorf("write vectors as halfvec: %w", err)
		}
	}
	extension.upsertSQL = fmt.Sprintf(`INSERT INTO vectors (owner, memory, model, dims, data, id, "values", metadata)
		VALUES (?1::text, ?2::text, ?3::text, ?4, ?5, `+vectorID+`, NULLIF(?6::text, '')::`+extension.schema+`.halfvec, `+metadataOf+`)
		ON CONFLICT (owner, memory, model) DO UPDATE SET dims = excluded.dims, data = excluded.data, id = excluded.id, "values" = excluded."values", metadata = excluded.metadata`,
		"?1::text", "?2::text", "?3::text")
	return extension, "pgvector " + extension.version, nil
}

func createPgvectorColumns(ctx context.Context, conn *sql.Conn, schema string) error {
	text, err := migrations.ReadFile("migrations/pgvector/seed.sql")
	if err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit this does nothing
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, migrationLock); err != nil {
		return err
	}
	for _, step := range []string{`SELECT set_config('search_path', current_setting('search_path') || ', ' || '` + strings.ReplaceAll(schema, `'`, `''`) + `', true)`, string(text)} {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// fillHalfvecs adds one batch of missing halfvecs. hasMore reports whether more may be missing.
func (p *pgvector) fillHalfvecs(ctx context.Context, conn *sql.Conn) (hasMore bool, err error) {
	found, err := conn.QueryContext(ctx, `SELECT owner, memory, model, data FROM vectors WHERE metadata IS NULL LIMIT $1`, fillBatchSize)
	var owners, memories, models, values []string
	_, err = collect(rows{Rows: found}, err, func(row scanner) (struct{}, error) {
		var owner, id, model string
		var data []byte
		err := row.Scan(&owner, &id, &model, &data)
		owners, memories, models, values = append(owners, owner), append(memories, id), append(models, model), append(values, halfvecText(vector.ValuesFromBytes(data)))
		return struct{}{}, err
	})
	if err != nil || len(owners) == 0 {
		return false, err
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf(`UPDATE vectors v SET id = `+vectorID+`, "values" = NULLIF(u.halves, '')::`+p.schema+`.halfvec, metadata = `+metadataOf+`
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u (owner, memory, model, halves)
		WHERE v.owner = u.owner AND v.memory = u.memory AND v.model = u.model`, "u.owner", "u.memory", "u.model"), owners, memories, models, values)
	return len(owners) == fillBatchSize, err
}

// SupportsVectorSearch reports whether the database supports vector search.
func (s *Store) SupportsVectorSearch() bool { return s.pgvector() != nil }

func (s *Store) pgvector() *pgvector {
	if s.reader.translator == nil {
		return nil
	}
	return s.reader.translator.pgvector.Load()
}

// Nearest returns the n active memories whose vectors of a model are nearest to questionVector by cosine.
// If ids is not nil, it compares only these memories. Without pgvector it returns [memory.NotFound].
func (s *Store) Nearest(ctx context.Context, owner memory.Owner, model string, questionVector []float32, ids []string, n int) (neighbors []memory.Neighbor, err error) {
	p, questionText := s.pgvector(), halfvecText(questionVector)
	if p == nil {
		return nil, memory.Errorf(memory.NotFound, "the database has no pgvector")
	}
	if questionText == "" || n <= 0 {
		return nil, nil
	}
	err = s.reader.withSnapshot(ctx, owner, func(v *view) error {
		if _, err := v.session.exec(ctx, `SELECT set_config('hnsw.ef_search', ?, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
			set_config('plan_cache_mode', 'force_custom_plan', true)`, strconv.Itoa(min(max(n, minSearchEffort), maxSearchEffort))); err != nil {
			return err
		}
		if neighbors, err = p.nearest(v, model, questionText, len(questionVector), ids, n); err != nil || len(neighbors) >= n || ids != nil {
			return err
		}
		// the index search returned too few vectors, so compare all vectors
		if _, err := v.session.exec(ctx, `SELECT set_config('enable_indexscan', 'off', true)`); err != nil {
			return err
		}
		neighbors, err = p.nearest(v, model, questionText, len(questionVector), ids, n)
		return err
	})
	if isUndefinedObject(err) {
		s.reader.translator.pgvector.CompareAndSwap(p, nil)
		err = memory.Errorf(memory.NotFound, "pgvector was removed from the database: %w", err)
	}
	return neighbors, wrap("search vectors in the database", err)
}

func (p *pgvector) nearest(v *view, model, questionText string, dims int, ids []string, n int) ([]memory.Neighbor, error) {
	typed := `::` + p.schema + `.halfvec(` + strconv.Itoa(dims) + `)`
	distance := `(v."values"` + typed + `) OPERATOR(` + p.schema + `.<=>) ?4::text` + typed
	among, args := ``, []any{model, dims, questionText, n, hnswKey(v.owner, model)}
	if ids != nil {
		among, args = ` AND v.memory = ANY (?7::text[])`, append(args, textList(ids))
	}
	rows, err := v.query(`SELECT v.memory, 1 - (`+distance+`) FROM vectors v WHERE v.owner = ?1 AND v.model = ?2 AND v.dims = ?3 AND v."values" IS NOT NULL AND `+hnswKeyExpr+` = ?6`+among+`
		AND (SELECT m.active FROM remembered m WHERE m.owner = v.owner AND m.id = v.memory LIMIT 1) ORDER BY `+distance+` LIMIT ?5`, args...)
	return collect(rows, err, func(row scanner) (memory.Neighbor, error) {
		near := memory.Neighbor{Owner: v.owner}
		var cosine float64
		err := row.Scan(&near.ID, &cosine)
		near.Cosine = float32(cosine)
		return near, err
	})
}

// Vectors returns a model's vectors by memory id, as [vector.Pack] encodes them.
func (s *Store) Vectors(ctx context.Context, owner memory.Owner, model string, ids []string) (map[string][]uint16, error) {
	type packed struct {
		id   string
		data []byte
	}
	found, err := queryOwner(ctx, s.reader, owner, `SELECT memory, data FROM vectors WHERE owner = ?1 AND model = ?2 AND memory IN (SELECT value FROM json_each(?3))`,
		[]any{model, textList(ids)}, func(row scanner) (p packed, err error) {
			err = row.Scan(&p.id, &p.data)
			return p, err
		})
	byID := map[string][]uint16{}
	for _, p := range found {
		byID[p.id] = vector.RowFromBytes(p.data)
	}
	return byID, wrap("read vectors", err)
}

// OwnersWithVectorsAbove returns the owners with more than vectorCount vectors of a model.
func (s *Store) OwnersWithVectorsAbove(ctx context.Context, model string, vectorCount int) ([]memory.Owner, error) {
	owners, err := queryAll(ctx, s.reader, `SELECT owner FROM vectors WHERE model = ? GROUP BY owner HAVING count(*) > ?`, []any{model, vectorCount}, scanText[memory.Owner])
	return owners, wrap("count vectors", err)
}

// hnswKeyExpr is the SQL expression that selects the HNSW index of an owner and a model. Its value, equal
// to hnswKey's, is a hash, so that the schema contains no user names.
const hnswKeyExpr = `md5(owner || '/' || model)`

func hnswKey(owner memory.Owner, model string) string {
	sum := md5.Sum([]byte(string(owner) + "/" + escape(model)))
	return hex.EncodeToString(sum[:])
}

// IndexVectors creates the HNSW index of an owner's vectors of a model, if missing. Until it is
// built, searches compare all vectors. Only one server builds at a time.
func (s *Store) IndexVectors(ctx context.Context, owner memory.Owner, model string) (err error) {
	p := s.pgvector()
	if p == nil {
		return memory.Errorf(memory.NotFound, "the database has no pgvector")
	}
	patient := s.committer.(*server).notifier.config.Copy()
	patient.RuntimeParams["statement_timeout"] = "0"
	db := stdlib.OpenDB(*patient)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // closing the connection releases the lock
	for mine := false; !mine; {
		// two builds at once would deadlock, and so would a build and a store that waits for the lock
		if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(hashtextextended('loci vectors', 'vectors'::regclass::oid::bigint))`).Scan(&mine); err != nil {
			return err
		}
		if mine {
			break
		}
		select {
		case <-time.After(buildPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	key := hnswKey(owner, model)
	name := "vectors_near_" + key
	var valid bool
	var dims int
	err = conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND indisvalid),
		coalesce((SELECT dims FROM vectors WHERE owner = $2 AND model = $3 AND dims > 0 LIMIT 1), 0)`, name, string(owner), escape(model)).Scan(&valid, &dims)
	if err != nil || valid || dims == 0 || dims > maxIndexedDims {
		return wrap("find the vector index", err)
	}
	for _, step := range []string{
		fmt.Sprintf(`SELECT set_config('maintenance_work_mem', '%[1]d', false) FROM pg_settings WHERE name = 'maintenance_work_mem' AND setting::bigint < %[1]d`, buildMemory),
		`DROP INDEX CONCURRENTLY IF EXISTS ` + name, // an interrupted build leaves an invalid index
		fmt.Sprintf(`CREATE INDEX CONCURRENTLY %s ON vectors USING hnsw (("values"::%s.halfvec(%d)) %s.halfvec_cosine_ops) WHERE %s = '%s' AND dims = %d::bigint AND "values" IS NOT NULL`,
			name, p.schema, dims, p.schema, hnswKeyExpr, key, dims),
		`ANALYZE vectors`,
	} {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("create the vector index: %w", explainServer(err))
		}
	}
	return nil
}

// halfvecText returns a vector in pgvector's text form, "" if the vector is zero, not finite or too long.
func halfvecText(values []float32) string {
	if len(values) > maxHalfvecDims {
		return ""
	}
	out := make([]byte, 1, 8*len(values)+2)
	out[0] = '['
	zero := true
	for i, x := range values {
		x = vector.DecodeHalf(vector.EncodeHalf(x))
		if x-x != 0 { // infinite or NaN
			return ""
		}
		zero = zero && x == 0
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(out, float64(x), 'g', -1, 32)
	}
	if zero {
		return ""
	}
	return string(append(out, ']'))
}

// isUndefinedObject reports whether err says that a table, column, type or function does not exist.
func isUndefinedObject(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains([]string{"42P01", "42703", "42704", "42883"}, e.Code)
}

// retryWithoutPgvector disables pgvector if err says that the extension was dropped, and returns an error
// that makes the write run again. It returns other errors unchanged.
func (p *server) retryWithoutPgvector(err error) error {
	if has := p.translator.pgvector.Load(); has != nil && isUndefinedObject(err) && p.translator.pgvector.CompareAndSwap(has, nil) {
		return &notWrittenError{err}
	}
	return err
}

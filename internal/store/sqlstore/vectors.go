package sqlstore

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

const upsertVector = `INSERT INTO vectors (owner, memory, model, dims, data) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (owner, memory, model) DO UPDATE SET dims = excluded.dims, data = excluded.data`

// writeVectors stores vectors of existing memories, and raises the memories' versions.
func (w *ownerWrite) writeVectors(vectors []memory.Vector) error {
	if err := w.raiseVersions(vectors); err != nil {
		return err
	}
	for _, v := range vectors {
		if !w.writtenIDs[v.Memory] {
			continue
		}
		data := vector.EncodeBytes(v.Values)
		upsert, args := upsertVector, []any{w.owner, v.Memory, v.Model, len(v.Values), data}
		if w.session.translator != nil {
			if extension := w.session.translator.pgvector.Load(); extension != nil {
				upsert, args = extension.upsertSQL, append(args, halfvecText(v.Values))
			}
		}
		err := w.exec(upsert, args...)
		if err != nil {
			return fmt.Errorf("write the vector of %s: %w", v.Memory, err)
		}
	}
	return nil
}

// raiseVersions sets the version of the vectors' memories, if they exist, to the write's version, so that
// Since yields the memories again. It runs one statement per table, since there may be many vectors.
func (w *ownerWrite) raiseVersions(vectors []memory.Vector) error {
	var missing textList
	for _, v := range vectors {
		if !w.writtenIDs[v.Memory] {
			missing = append(missing, v.Memory)
		}
	}
	for _, table := range []string{"turns", "facts", "links", "summaries"} {
		if len(missing) == 0 {
			return nil
		}
		rows, err := w.query(`UPDATE `+table+` SET version = ? WHERE owner = ? AND id IN (SELECT value FROM json_each(?)) RETURNING id`,
			w.version, string(w.owner), missing)
		updated, err := collect(rows, err, scanText[string])
		if err != nil {
			return fmt.Errorf("update the versions in %s: %w", table, err)
		}
		for _, id := range updated {
			w.writtenIDs[id] = true
		}
		missing = slices.DeleteFunc(missing, func(id string) bool { return w.writtenIDs[id] })
	}
	return nil
}

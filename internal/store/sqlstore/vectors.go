package sqlstore

import (
	"encoding/binary"
	"fmt"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// vectors keeps the vectors of memories that are there, and makes those come
// again in Since.
func (w *write) vectors(vectors []memory.Vector) error {
	for _, v := range vectors {
		there, err := w.touch(v.Memory)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		data := encodeHalves(v.Values)
		err = w.exec(`INSERT INTO vectors (owner, memory, model, dims, data) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (owner, memory, model) DO UPDATE SET dims = excluded.dims, data = excluded.data`,
			w.owner, v.Memory, v.Model, len(v.Values), data)
		if err != nil {
			return fmt.Errorf("write the vector of %s: %w", v.Memory, err)
		}
		w.keep(v.Memory, packed{v.Model, data})
	}
	return nil
}

// keep puts a vector beside the turn that was added.
func (w *write) keep(turn string, v packed) {
	for i := range w.said {
		if w.said[i].turn.ID == turn {
			w.said[i].vectors = append(w.said[i].vectors, v)
		}
	}
}

// touch gives a memory the write's version and reports whether there is one.
func (w *write) touch(id string) (bool, error) {
	if w.wrote[id] {
		return true, nil
	}
	for _, table := range []string{"turns", "facts", "links", "summaries"} {
		n, err := w.count(`UPDATE `+table+` SET version = ? WHERE owner = ? AND id = ?`, w.version, w.owner, id)
		if err != nil {
			return false, fmt.Errorf("touch %s: %w", id, err)
		}
		if n > 0 {
			w.wrote[id] = true
			w.stale("turn:"+id, "fact:"+id, "link:"+id, "summary:"+id)
			return true, nil
		}
	}
	return false, nil
}

// encodeHalves returns the values as float16 in the form of [vector.Pack], little
// endian.
func encodeHalves(values []float32) []byte {
	row := make([]uint16, len(values))
	for i, x := range values {
		row[i] = vector.EncodeHalf(x)
	}
	packed := vector.Pack(make([]uint16, 0, len(row)), row)
	data := make([]byte, 0, 2*len(packed))
	for _, word := range packed {
		data = binary.LittleEndian.AppendUint16(data, word)
	}
	return data
}

// decodeHalves reads what encodeHalves wrote, and rows that were never packed. It
// is nil for nothing and for what is neither: such a memory is found by its words.
func decodeHalves(data []byte) []float32 {
	row := halvesOf(data)
	if row == nil {
		return nil
	}
	values := make([]float32, vector.Dims(row))
	vector.Unpack(values, row)
	return values
}

// halvesOf is decodeHalves without unpacking.
func halvesOf(data []byte) []uint16 {
	row := make([]uint16, len(data)/2)
	for i := range row {
		row[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	if size, _, ok := vector.Packed(row, len(row)); !ok || size != len(row) || size == 0 {
		return nil
	}
	return row
}

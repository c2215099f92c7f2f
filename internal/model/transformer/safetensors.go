package transformer

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/vector"
)

// maxHeader is the maximum length of a header in bytes. Even the largest models have headers below 1 MiB.
const maxHeader = 8 << 20

// tensors are the arrays of a safetensors file, which contains the header's length in eight bytes, the header
// in JSON, and the values, little-endian. The header is compared with the file's size before memory is
// allocated.
type tensors struct {
	file    io.ReaderAt
	entries map[string]arrayEntry
}

type arrayEntry struct {
	dtype  string
	shape  []int64
	offset int64 // offset of the first value in the file
	end    int64
	count  int64 // number of values
}

// valueSizes are the bytes of a value of each supported type.
var valueSizes = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I8": 1, "I32": 4, "I64": 8}

func readTensors(file io.ReaderAt, size int64) (*tensors, error) {
	var length [8]byte
	if _, err := file.ReadAt(length[:], 0); err != nil {
		return nil, fmt.Errorf("read the header's length: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d bytes: the file is cut off or not a safetensors file; if it is a git lfs pointer, git lfs pull downloads the model", n, size)
	}
	header := make([]byte, n)
	if _, err := file.ReadAt(header, 8); err != nil && n > 0 {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(header, &parts); err != nil {
		return nil, fmt.Errorf("parse the header: %w", err)
	}
	t := &tensors{file: file, entries: map[string]arrayEntry{}}
	for name, raw := range parts {
		if name == "__metadata__" {
			continue
		}
		e, err := parseEntry(raw, 8+int64(n), size)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		t.entries[name] = e
	}
	return t, t.checkOverlap()
}

// checkOverlap returns an error if two arrays overlap. Otherwise a small file could describe a large model and
// exhaust memory.
func (t *tensors) checkOverlap() error {
	all := slices.SortedFunc(maps.Values(t.entries), func(a, b arrayEntry) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.end, b.end)) })
	for i, e := range all {
		if i > 0 && all[i-1].end > e.offset {
			return fmt.Errorf("two tensors overlap at byte %d", e.offset)
		}
	}
	return nil
}

// parseEntry reads an array's entry in the header. start is the file offset of all values, size the file's size.
func parseEntry(raw []byte, start, size int64) (arrayEntry, error) {
	var header struct {
		Kind    string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw, &header); err != nil {
		return arrayEntry{}, err
	}
	if len(header.Offsets) != 2 || len(header.Shape) > 8 {
		return arrayEntry{}, fmt.Errorf("%d offsets (want 2) and %d axes (want at most 8)", len(header.Offsets), len(header.Shape))
	}
	begin, end := header.Offsets[0], header.Offsets[1]
	if begin < 0 || end < begin || end > size-start {
		return arrayEntry{}, fmt.Errorf("bytes %d to %d of %d: the file is cut off or damaged", begin, end, size-start)
	}
	n := int64(1)
	for _, d := range header.Shape {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return arrayEntry{}, fmt.Errorf("invalid shape %v", header.Shape)
		}
		n *= d
	}
	// arrays of other types are allowed if they are not read
	if width, ok := valueSizes[header.Kind]; ok && (n > size || n*width != end-begin) {
		return arrayEntry{}, fmt.Errorf("%d bytes do not fit the shape %v and the type %s", end-begin, header.Shape, header.Kind)
	}
	return arrayEntry{header.Kind, header.Shape, start + begin, start + end, n}, nil
}

func (t *tensors) hasTensor(name string) bool {
	_, ok := t.entries[name]
	return ok
}

// firstPresent returns the first of names for which there is an array.
func (t *tensors) firstPresent(names ...string) (string, error) {
	for _, name := range names {
		if t.hasTensor(name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("missing tensor %q", names[0])
}

// floats reads an array, which must have this shape; -1 allows any length of an axis. I8 values are read as
// whole numbers, since the format has no scale for them.
func (t *tensors) floats(name string, shape ...int64) ([]float32, error) {
	e, err := t.checkedEntry(name, shape)
	if err != nil {
		return nil, err
	}
	return t.readFloats(name, e)
}

// eachRow reads an array of this shape, and calls use with each row.
func (t *tensors) eachRow(name string, rows, width int, use func(row []float32)) error {
	e, err := t.checkedEntry(name, []int64{int64(rows), int64(width)})
	if err != nil {
		return err
	}
	for done := 0; done < rows; {
		count := min(1024, rows-done)
		part := e
		part.count = int64(count * width)
		part.offset += int64(done*width) * valueSizes[e.dtype]
		values, err := t.readFloats(name, part)
		if err != nil {
			return err
		}
		for row := range slices.Chunk(values, width) {
			use(row)
		}
		done += count
	}
	return nil
}

func (t *tensors) readFloats(name string, e arrayEntry) ([]float32, error) {
	decode, ok := valueDecoders[e.dtype]
	if !ok {
		return nil, fmt.Errorf("tensor %q has the type %s, which is not supported", name, e.dtype)
	}
	out, err := readValues(t.file, e, decode)
	if err == nil && !isFinite(out) {
		err = fmt.Errorf("tensor %q has values that are NaN or infinite: the file is damaged, or the training failed", name)
	}
	return out, err
}

// isFinite reports whether all values are finite: the product with 0 is NaN for any other value.
func isFinite(v []float32) bool {
	var zeros [1024]float32
	for part := range slices.Chunk(v, len(zeros)) {
		if vector.Dot(part, zeros[:len(part)]) != 0 {
			return false
		}
	}
	return true
}

func (t *tensors) ints(name string) ([]int64, error) {
	e, err := t.checkedEntry(name, []int64{-1})
	if err != nil {
		return nil, err
	}
	switch e.dtype {
	case "I32":
		return readValues(t.file, e, func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) })
	case "I64":
		return readValues(t.file, e, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
	}
	return nil, fmt.Errorf("tensor %q has the type %s, want integers", name, e.dtype)
}

func (t *tensors) checkedEntry(name string, shape []int64) (arrayEntry, error) {
	e, ok := t.entries[name]
	if !ok {
		return e, fmt.Errorf("missing tensor %q, which config.json requires", name)
	}
	if !slices.EqualFunc(e.shape, shape, func(is, want int64) bool { return is == want || want < 0 }) {
		return e, fmt.Errorf("tensor %q has shape %v, want %v: it belongs to another config.json or tokenizer", name, e.shape, shape)
	}
	return e, nil
}

var valueDecoders = map[string]func([]byte) float32{
	"F64": func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) },
	"F32": func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) },
	"F16": func(b []byte) float32 { return vector.DecodeHalf(binary.LittleEndian.Uint16(b)) },
	"BF16": func(b []byte) float32 {
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
	},
	"I8": func(b []byte) float32 { return float32(int8(b[0])) },
}

// readValues decodes an array piece by piece, so that encoded and decoded values are not in memory together.
func readValues[T any](file io.ReaderAt, e arrayEntry, decode func([]byte) T) ([]T, error) {
	width := valueSizes[e.dtype]
	out := make([]T, 0, e.count)
	piece := make([]byte, min(e.count*width, 1<<20))
	for at := e.offset; int64(len(out)) < e.count; at += int64(len(piece)) {
		piece = piece[:min(int64(len(piece)), (e.count-int64(len(out)))*width)]
		if _, err := file.ReadAt(piece, at); err != nil {
			return nil, err
		}
		for i := int64(0); i < int64(len(piece)); i += width {
			out = append(out, decode(piece[i:i+width]))
		}
	}
	return out, nil
}

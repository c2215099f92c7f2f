package ownerdata

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Digest returns a hash of the data. The hash does not depend on the store from which the data was read:
// an empty list or map has the same hash as nil.
func (s *Data) Digest() (sum [sha256.Size]byte) {
	h := sha256.New()
	writeDigest(h, reflect.ValueOf(*s))
	h.Sum(sum[:0])
	return sum
}

func writeDigest(h io.Writer, v reflect.Value) {
	if t, isTime := v.Interface().(time.Time); isTime {
		fmt.Fprint(h, t.UnixMicro(), ";")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			writeDigest(h, v.Field(i))
		}
	case reflect.Pointer:
		if fmt.Fprint(h, v.IsNil(), ";"); !v.IsNil() {
			writeDigest(h, v.Elem())
		}
	case reflect.Slice:
		fmt.Fprint(h, v.Len(), "[")
		for i := range v.Len() {
			writeDigest(h, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprintf("%q", a), fmt.Sprintf("%q", b)) })
		fmt.Fprint(h, len(keys), "{")
		for _, k := range keys {
			fmt.Fprintf(h, "%q:", k)
			writeDigest(h, v.MapIndex(k))
		}
	case reflect.Float32, reflect.Float64:
		_ = binary.Write(h, binary.LittleEndian, math.Float64bits(v.Float())) // writing to a hash never fails
	default:
		fmt.Fprintf(h, "%q;", fmt.Sprint(v.Interface()))
	}
}

// EntryCounts returns the number of entries by kind: states, turns, jobs and so on.
func (s *Data) EntryCounts() map[string]int {
	n := map[string]int{
		"turns": len(s.Turns), "conversations": len(s.Conversations), "journal": len(s.Journal), "runs": len(s.Runs), "vectors": len(s.Vectors),
		"jobs": len(s.Jobs), "traces": len(s.Traces), "ledger": len(s.Usage), "tombstones": len(s.Tombstones),
		"api_keys": len(s.Keys), "sign_ins": len(s.Sessions), "audit": len(s.Audit),
	}
	for target := range s.States {
		kind, _, _ := strings.Cut(target, ":")
		n[kind]++
	}
	return n
}

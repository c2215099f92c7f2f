package mongostore

import (
	"reflect"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci/memory"
)

// registry encodes times by [toMicros], and a [memory.Core] as true if it is CoreAlways, otherwise as text.
var registry = newRegistry()

func newRegistry() *bson.Registry {
	r := bson.NewRegistry()
	core := reflect.TypeFor[memory.Core]()
	r.RegisterTypeEncoder(core, bson.ValueEncoderFunc(func(_ bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
		if c := memory.Core(v.String()); c != memory.CoreAlways {
			return w.WriteString(string(c))
		}
		return w.WriteBoolean(true)
	}))
	r.RegisterTypeDecoder(core, bson.ValueDecoderFunc(func(_ bson.DecodeContext, in bson.ValueReader, v reflect.Value) error {
		if in.Type() == bson.TypeBoolean {
			pinned, err := in.ReadBoolean()
			v.SetString(string(memory.Pin(pinned)))
			return err
		}
		c, err := in.ReadString()
		v.SetString(c)
		return err
	}))
	when := reflect.TypeFor[time.Time]()
	r.RegisterTypeEncoder(when, bson.ValueEncoderFunc(func(_ bson.EncodeContext, w bson.ValueWriter, v reflect.Value) error {
		return w.WriteInt64(toMicros(v.Interface().(time.Time)))
	}))
	r.RegisterTypeDecoder(when, bson.ValueDecoderFunc(func(_ bson.DecodeContext, in bson.ValueReader, v reflect.Value) error {
		n, err := in.ReadInt64()
		v.Set(reflect.ValueOf(fromMicros(n)))
		return err
	}))
	return r
}

// yearOne is the zero time in Unix microseconds.
var yearOne = time.Time{}.UnixMicro()

// toMicros returns the stored form of a time: microseconds since the year 1 in UTC; 0 is the zero
// time. BSON's own dates have only milliseconds.
func toMicros(t time.Time) int64 { return t.UnixMicro() - yearOne }

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n + yearOne).UTC()
}

// bsonDate returns a BSON date, for people and programs that read the collections.
func bsonDate(t time.Time) bson.DateTime { return bson.NewDateTimeFromTime(t) }

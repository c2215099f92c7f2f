package mongostore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci/memory"
)

// fill gives every field another value than it has in the zero value.
func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n) + 1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"x":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n+100)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(n), 123_456_000).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n+i)
		}
	}
}

// comesBack writes a document as a server keeps it, and reads it.
func comesBack[D any](t *testing.T, in D) {
	t.Helper()
	fill(reflect.ValueOf(&in).Elem(), 1)
	raw, err := marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out D
	dec := bson.NewDecoder(bson.NewDocumentReader(strings.NewReader(string(raw))))
	dec.SetRegistry(registry)
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	kept := cmp.FilterPath(func(p cmp.Path) bool { // what is not kept: it is counted, or of an answer alone
		name := p.Last().String()
		return name == ".MessageCount" && !strings.Contains(p.String(), "Summar") || name == ".Again" || name == ".Traces" || name == ".TextRemainsIn"
	}, cmp.Ignore())
	if diff := cmp.Diff(in, out, kept, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("%T (-in +out):\n%s", in, diff)
	}
	names := map[string]bool{}
	elements, _ := raw.Elements()
	for _, e := range elements {
		if names[e.Key()] {
			t.Errorf("%T has two fields %q", in, e.Key())
		}
		names[e.Key()] = true
	}
}

func TestDocumentsKeepEveryField(t *testing.T) {
	comesBack(t, factDoc{})
	comesBack(t, linkDoc{})
	comesBack(t, turnDoc{})
	comesBack(t, summaryDoc{})
	comesBack(t, profileDoc{})
	comesBack(t, relationDoc{})
	comesBack(t, contextDoc{})
	comesBack(t, conversationDoc{})
	comesBack(t, jobDoc{})
	comesBack(t, changeDoc{})
	comesBack(t, runDoc{})
	comesBack(t, tombstoneDoc{})
	comesBack(t, commitDoc{})
	comesBack(t, auditDoc{})
}

// A field that is renamed in package memory, or gets another tag, must not change what databases have.
func TestDocumentsAreAsFormat1HasThem(t *testing.T) {
	for want, doc := range map[string]any{
		"e425ef98795b9bd6": factDoc{},
		"b8f8103254895f2c": linkDoc{},
		"6fd03d501e3392c7": turnDoc{},
		"bbfdc3b877b48254": summaryDoc{},
		"96495f4d8a01faee": profileDoc{},
		"b583b5a0ab4e7a2b": relationDoc{},
		"578cf1c8453b2e82": contextDoc{},
		"c941031933baf367": conversationDoc{},
		"d7bceebcfb0b882d": jobDoc{},
		"2945c57d6472a73c": changeDoc{},
		"73228cf8d83d5c77": runDoc{},
		"b68ab4f3877ac521": tombstoneDoc{},
		"dc4b0c863a90655f": commitDoc{},
		"8d9526acd5dfebac": keyDoc{},
		"726920cd43dd2cff": signInDoc{},
		"a4080f91d155f9d8": traceDoc{},
	} {
		filled := reflect.New(reflect.TypeOf(doc)).Elem()
		fill(filled, 1)
		raw, err := marshal(filled.Interface())
		if got := fmt.Sprintf("%x", sha256.Sum256(raw))[:16]; err != nil || got != want {
			t.Errorf("%T: its bytes have the hash %s (%v), want %s: %v", doc, got, err, want, raw)
		}
	}
}

func TestServerErrorsAreExplained(t *testing.T) {
	const secret = "not authorized on loci at db.example:27017"
	for code, want := range map[int32]string{
		13:    "readWrite",
		18:    "user or the password",
		10107: "does not accept writes now", // it is a secondary by now
		11600: "does not answer",     // it shuts down
		10334: "16 MB",
	} {
		err := publicError(fmt.Errorf("write: %w", mongo.CommandError{Code: code, Message: secret}))
		var known *memory.Error
		if !errors.As(err, &known) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "db.example") {
			t.Errorf("code %d: got %v, want it to say %q and not where the server is", code, err, want)
		}
	}
	own := memory.Errorf(memory.Conflict, "it is there already")
	if got := publicError(fmt.Errorf("change 1: %w", own)); !errors.Is(got, memory.Conflict) || errors.Is(got, memory.Unavailable) {
		t.Errorf("got %v, want the conflict as it was", got)
	}
}

func TestMicrosKeepTheZeroTimeAndOrder(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(-1, 1000).UTC(), time.Unix(1_700_000_000, 123_456_000).UTC(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
		if got := fromMicros(toMicros(at)); !got.Equal(at) || got.IsZero() != at.IsZero() {
			t.Errorf("%v came back as %v", at, got)
		}
	}
}

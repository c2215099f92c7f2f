package rest

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// anyValue sets v to a value that is not zero, of odd texts and numbers.
func anyValue(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1+r.Int64N(1<<32), r.Int64N(1e9)).UTC()))
		return
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a": [1, "<b>"]}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			anyValue(r, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		anyValue(r, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			anyValue(r, v.Index(i))
		}
	case reflect.String:
		odd := []rune("aé東😀\u2028\u2029\"\\\n\t\r\b\f\x00\x1f\x7f<>&' \ufffd")
		s := []byte{"xyz"[r.IntN(3)]}
		for range r.IntN(9) {
			s = append(s, string(odd[r.IntN(len(odd))])...)
		}
		if r.IntN(4) == 0 {
			s = append(s, 0xff, 'a', 0xe2, 0x80)
		}
		v.SetString(string(s))
	case reflect.Float64:
		v.SetFloat([]float64{1, -0.25, 1.0 / 3, 1e-7, -1e21, 1e20, 123456.789, math.SmallestNonzeroFloat64}[r.IntN(8)])
	case reflect.Int:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Type().String())
	}
}

// TestAnswersAreWrittenAsJSONDoes compares with encoding/json, reflection and all:
// with every field set, with each of them empty, and with none.
func TestAnswersAreWrittenAsJSONDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		a := client.SearchAnswer{Hits: []client.Hit{}}
		if r.IntN(2) == 0 {
			anyValue(r, reflect.ValueOf(&a).Elem())
		}
		for i := range a.Hits {
			for _, v := range []reflect.Value{reflect.ValueOf(&a.Hits[i]).Elem(), reflect.ValueOf(&a.Hits[i].Memory).Elem()} {
				if f := v.Field(r.IntN(v.NumField())); i == 1 && r.IntN(3) > 0 {
					f.SetZero()
				}
			}
		}
		var got, want bytes.Buffer
		if err := jsonFormat.Marshal(&got, a); err != nil {
			t.Fatal(err)
		}
		if err := huma.DefaultJSONFormat.Marshal(&want, a); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("got %s, want %s", &got, &want)
		}
	}
}

func TestAnswersThatJSONCannotSayAreErrors(t *testing.T) {
	for name, spoil := range map[string]func(*client.Hit){
		"score":    func(h *client.Hit) { h.Score = math.NaN() },
		"why":      func(h *client.Hit) { h.Why = &memory.Why{{Name: "x", Value: math.Inf(1)}} },
		"time":     func(h *client.Hit) { h.CreatedAt = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"metadata": func(h *client.Hit) { h.Metadata = json.RawMessage("{") },
	} {
		a := client.SearchAnswer{Hits: make([]client.Hit, 2)}
		spoil(&a.Hits[1])
		var b bytes.Buffer
		if err := jsonFormat.Marshal(&b, a); err == nil || b.Len() > 0 {
			t.Errorf("%s: got %v and %s, want an error and nothing", name, err, &b)
		}
	}
}

func BenchmarkSearchAnswer(b *testing.B) {
	a := client.SearchAnswer{Trace: "0190c7f4-3d7e-7c3a-9d5e-1f2a3b4c5d6e"}
	for i := range 10 {
		a.Hits = append(a.Hits, client.Hit{Score: 1 / float64(3+i), Memory: client.Memory{
			ID: a.Trace, Kind: memory.KindTurn, Content: "What was said back then, and on the way to the harbour, of boats and tea.",
			Status: memory.Active, Conversation: a.Trace, Role: memory.RoleUser, CreatedAt: time.Unix(1<<30, 123_456_000).UTC(),
		}})
	}
	for name, format := range map[string]huma.Format{"by hand": jsonFormat, "encoding/json": huma.DefaultJSONFormat} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				if err := format.Marshal(&out, a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

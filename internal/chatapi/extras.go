package chatapi

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// Modes of a request: whether it reads and writes memory.
const (
	ModeReadWrite = "read_write"
	ModeRead      = "read"
	ModeWrite     = "write"
	ModeOff       = "off"
)

// MaxTopK is the maximum number of memories that a request may ask for.
const MaxTopK = 100

// maxNameBytes is the maximum length in bytes of the names of conversations and projects.
const maxNameBytes = 512

// Extras are a request's parameters for Loci. A zero value means that the request does not set the parameter,
// so that Loci's setting applies.
type Extras struct {
	ID             string // memory_id: id of the conversation
	TopK           *int   // memory_top_k; 0 or less disables retrieval
	RecencyWeight  *float64
	ScoreThreshold *float64
	Mode           string // memory_mode: one of the modes, or ""
	Project        string // memory_project
	Hits           bool   `json:",omitempty"` // memory_hits: true for "stream", which adds the recalled memories to the end of a stream
}

// extraField is one field of [Extras] with its name in a body and the names of its headers. The first header
// with a value applies.
type extraField struct {
	name    string
	headers []string
	pointer func(e *Extras) any // returns a pointer to the field
}

var extraFields = []extraField{
	{"memory_id", []string{"X-Loci-Id", "X-Loci-Memory-Id"}, func(e *Extras) any { return &e.ID }},
	{"memory_top_k", []string{"X-Loci-Top-K"}, func(e *Extras) any { return &e.TopK }},
	{"memory_recency_weight", []string{"X-Loci-Recency-Weight"}, func(e *Extras) any { return &e.RecencyWeight }},
	{"memory_score_threshold", []string{"X-Loci-Score-Threshold"}, func(e *Extras) any { return &e.ScoreThreshold }},
	{"memory_mode", []string{"X-Loci-Mode"}, func(e *Extras) any { return &e.Mode }},
	{"memory_project", []string{"X-Loci-Project"}, func(e *Extras) any { return &e.Project }},
	{"memory_hits", []string{"X-Loci-Memory-Hits"}, func(e *Extras) any { return &e.Hits }},
}

// setValue sets the field in e to v. If v is invalid, it returns a description of valid values.
func (x extraField) setValue(e *Extras, v string) (valid string) {
	n, err := strconv.ParseFloat(v, 64)
	switch to := x.pointer(e).(type) {
	case **int:
		if err != nil || n != math.Trunc(n) || n > MaxTopK {
			return "a whole number up to " + strconv.Itoa(MaxTopK)
		}
		*to = new(int(max(0, n)))
	case **float64:
		if err != nil || !(n >= 0 && n <= 1) {
			return "a number from 0 to 1"
		}
		*to = &n
	case *bool:
		if *to = v == "stream"; !*to {
			return "stream"
		}
	case *string:
		if x.name == "memory_mode" && !slices.Contains([]string{ModeReadWrite, ModeRead, ModeWrite, ModeOff}, v) {
			return "one of read_write, read, write and off"
		}
		if len(v) > maxNameBytes {
			return "a string of at most " + strconv.Itoa(maxNameBytes) + " bytes"
		}
		*to = v
	}
	return ""
}

func isExtraField(name string) bool {
	return slices.ContainsFunc(extraFields, func(x extraField) bool { return x.name == name })
}

// readExtras reads the [Extras] among the fields of a body. A null field counts as absent.
func readExtras(fields []member) (Extras, error) {
	var e Extras
	for _, f := range fields {
		i := slices.IndexFunc(extraFields, func(x extraField) bool { return x.name == f.name })
		if i < 0 || f.value.Type == gjson.Null {
			continue
		}
		x := extraFields[i]
		value, kind := stringOf(f.value), gjson.String
		switch x.pointer(&e).(type) {
		case **int, **float64:
			value, kind = f.value.Raw, gjson.Number
		}
		want := x.setValue(&e, value)
		if want == "" && f.value.Type != kind {
			want = "a string"
		}
		if want != "" {
			return Extras{}, memory.Errorf(memory.Invalid, "%s must be %s", x.name, want)
		}
	}
	return e, nil
}

// WithHeaders sets unset fields from the X-Loci-* headers. header returns a header's value, "" if the header is
// missing. For an invalid value the error is [memory.Invalid] with the header's name.
func (e Extras) WithHeaders(header func(name string) string) (Extras, error) {
	for _, x := range extraFields {
		if !reflect.ValueOf(x.pointer(&e)).Elem().IsZero() {
			continue
		}
		for _, name := range x.headers {
			value := strings.TrimSpace(header(name))
			if value == "" {
				continue
			}
			if want := x.setValue(&e, value); want != "" {
				return Extras{}, memory.Errorf(memory.Invalid, "header %s must be %s", name, want)
			}
			break
		}
	}
	return e, nil
}

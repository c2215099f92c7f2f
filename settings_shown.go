package loci

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Shown is a setting as people are shown it.
type Shown struct {
	Key   string `json:"key"`
	Env   string `json:"env"`
	Value string `json:"value"` // of a secret only "set"
	From  string `json:"from"`  // default, profile NAME, file, environment or flag
	Doc   string `json:"doc"`
}

// Own reports whether somebody set it.
func (s Shown) Own() bool { return s.From != fromDefault }

// Shown returns all settings in the order of Config's fields: what each is and where that is
// from. Of a secret it only says that it is set.
func (c Config) Shown() []Shown {
	values := map[string]reflect.Value{}
	valuesOf(reflect.ValueOf(c), "", values)
	var out []Shown
	for _, s := range settings() {
		value := values[s.Key]
		shown := fmt.Sprint(value.Interface())
		if list, ok := value.Interface().([]string); ok {
			if s.Key == "learn.providers" {
				list = slices.Clone(list)
				for i, entry := range list {
					list[i] = shownProvider(entry)
				}
			}
			shown = strings.Join(list, ", ")
		}
		switch {
		case s.Secret && shown != "":
			shown = "set"
		case s.Key == "upstream.url", s.Key == "learn.url", s.Key == "models_url":
			shown = shownURL(shown)
		}
		from := c.from[s.Key]
		if from == "" {
			from = fromDefault
		}
		doc := s.Doc
		if len(s.Valid) > 0 {
			doc += " Valid: " + strings.Join(s.Valid, ", ") + "."
		}
		out = append(out, Shown{Key: s.Key, Env: s.Env, Value: shown, From: from, Doc: doc})
	}
	return out
}

func valuesOf(v reflect.Value, prefix string, into map[string]reflect.Value) {
	for f := range fields(v.Type()) {
		key := prefix + f.Tag.Get("koanf")
		if field := v.FieldByIndex(f.Index); f.Type.Kind() == reflect.Struct {
			valuesOf(field, key+".", into)
		} else {
			into[key] = field
		}
	}
}

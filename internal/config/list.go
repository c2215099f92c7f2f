package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/loci-memory/loci/client"
)

// ListSettings returns all settings with their values and sources, in the order of Config's fields. The
// value of a secret appears as "set".
func (c Config) ListSettings() []client.Setting {
	values := map[string]reflect.Value{}
	collectValues(reflect.ValueOf(c), "", values)
	var out []client.Setting
	for _, s := range settings() {
		value := values[s.Key]
		shown := fmt.Sprint(value.Interface())
		if list, ok := value.Interface().([]string); ok {
			if s.Key == "learn.providers" {
				list = slices.Clone(list)
				for i, entry := range list {
					name, base, _ := strings.Cut(entry, "=")
					list[i] = name + "=" + RedactURL(base)
				}
			}
			shown = strings.Join(list, ", ")
		}
		switch {
		case s.Secret && shown != "":
			shown = "set"
		case s.Key == "upstream.url", s.Key == "learn.url", s.Key == "models_url":
			shown = RedactURL(shown)
		}
		doc := s.Doc
		if len(s.Valid) > 0 {
			doc += " Valid: " + strings.Join(s.Valid, ", ") + "."
		}
		out = append(out, client.Setting{Key: s.Key, Env: s.Env, Value: shown, From: c.SourceOf(s.Key), Doc: doc})
	}
	return out
}

func collectValues(v reflect.Value, prefix string, values map[string]reflect.Value) {
	for f, field := range v.Fields() {
		switch key := f.Tag.Get("koanf"); {
		case key == "":
		case f.Type.Kind() == reflect.Struct:
			collectValues(field, prefix+key+".", values)
		default:
			values[prefix+key] = field
		}
	}
}

// PortableYAML returns the settings from the file, the environment and flags as a settings file, without
// secrets and without settings that depend on the machine (addr and data).
func (c Config) PortableYAML() ([]byte, error) {
	flat := map[string]string{}
	for _, s := range c.ListSettings() {
		switch s.From {
		case "file", "environment", "flag":
			flat[s.Key] = s.Value
		}
	}
	for _, s := range settings() {
		switch list, ok := flat[s.Key]; {
		case s.Secret, s.Key == "data", s.Key == "addr":
			delete(flat, s.Key)
		case ok && s.valueType == reflect.TypeFor[[]string]():
			flat[s.Key] = strings.ReplaceAll(list, ", ", ",")
		}
	}
	if len(flat) == 0 {
		return []byte("# File, environment and flags set no settings.\n"), nil
	}
	text, err := yaml.Marshal(nestKeys(flat))
	return append([]byte("# Settings at the time of the backup, without secrets.\n"), text...), err
}

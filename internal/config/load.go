package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-viper/mapstructure/v2"
	"github.com/goccy/go-yaml"
	"github.com/knadh/koanf/v2"

	"github.com/loci-memory/loci/memory"
)

// Sources are the sources of settings, in order of precedence.
type Sources struct {
	Flags map[string]string // values by key, such as "recall.top_k", of flags on the command line
	Env   []string          // NAME=VALUE, as from os.Environ
	File  string            // path of a YAML file; empty means no file
}

// Load reads the settings. For an unknown key or an invalid value it returns [memory.Invalid] with the
// key and the valid values.
func Load(s Sources) (Config, error) {
	file, err := readFile(s.File)
	if err != nil {
		return Config{}, err
	}
	env, unknown, err := readEnv(s.Env)
	if err != nil {
		return Config{}, err
	}
	flags, err := readFlags(s.Flags)
	if err != nil {
		return Config{}, err
	}
	name, err := profileName([]map[string]any{file, env, flags})
	if err != nil {
		return Config{}, err
	}
	profile, preset, err := loadProfile(name)
	if err != nil {
		return Config{}, err
	}
	k := koanf.New(".")
	from := map[string]string{}
	for _, source := range []struct {
		name   string
		values map[string]any
	}{
		{sourceDefault, defaultValues()}, {profileSource(name), profile}, {"file", file}, {"environment", env}, {"flag", flags},
	} {
		for _, key := range keysOf(source.values) {
			from[key] = source.name
		}
		if err := k.Load(mapProvider(source.values), nil); err != nil {
			return Config{}, fmt.Errorf("read settings: %w", err)
		}
	}
	for _, set := range settings() {
		if err := set.check(k.Get(set.Key)); err != nil {
			return Config{}, err
		}
	}
	c := Config{Preset: preset, sources: from, unknownEnv: unknown}
	if err := decode(k.Raw(), &c); err != nil {
		return Config{}, memory.Errorf(memory.Invalid, "read settings: %w", err)
	}
	if err := c.replaceMissingModels(profile); err != nil {
		return Config{}, err
	}
	return c, c.check()
}

func decode(input, result any) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToTimeDurationHookFunc(),
			mapstructure.TextUnmarshallerHookFunc(),
			func(input, to reflect.Type, value any) (any, error) { // allow a space after a comma in a list
				if text, ok := value.(string); ok && to == reflect.SliceOf(input) {
					value = strings.ReplaceAll(text, ", ", ",")
				}
				return value, nil
			},
			mapstructure.StringToSliceHookFunc(","),
		),
		WeaklyTypedInput: true,
		TagName:          "koanf",
		Result:           result,
	})
	if err != nil {
		return err
	}
	return d.Decode(input)
}

// sourceDefault is the source of a default value.
const sourceDefault = "default"

// keysOf returns the keys in a source, such as "recall.top_k".
func keysOf(values map[string]any) []string {
	k := koanf.New(".")
	_ = k.Load(mapProvider(values), nil) // loading a map cannot fail
	return k.Keys()
}

// mapProvider is a nested map as a koanf.Provider.
type mapProvider map[string]any

func (v mapProvider) Read() (map[string]any, error) { return v, nil }
func (v mapProvider) ReadBytes() ([]byte, error)    { return nil, errors.ErrUnsupported }

// Setting describes a setting on the reference page.
type Setting struct {
	Key, Env, Default, Doc string
	Valid                  []string // valid values; nil if every value of its type is valid
	Secret                 bool

	valueType reflect.Type
}

// settings lists every setting in the order of Config's fields.
func settings() []Setting { return allSettings() }

var allSettings = sync.OnceValue(func() []Setting { return settingsOfType(reflect.TypeFor[Config](), "") })

func settingsOfType(t reflect.Type, prefix string) []Setting {
	var out []Setting
	for f := range t.Fields() {
		key := prefix + f.Tag.Get("koanf")
		if key == prefix {
			continue
		}
		if f.Type.Kind() == reflect.Struct {
			out = append(out, settingsOfType(f.Type, key+".")...)
			continue
		}
		s := Setting{
			Key:       key,
			Env:       envName(key),
			Default:   f.Tag.Get("default"),
			Doc:       f.Tag.Get("doc"),
			Secret:    f.Tag.Get("secret") != "",
			valueType: f.Type,
		}
		if v := f.Tag.Get("valid"); v != "" {
			s.Valid = strings.Split(v, "|")
		}
		out = append(out, s)
	}
	return out
}

// envName returns the environment variable of a setting.
func envName(key string) string { return "LOCI_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")) }

func (s Setting) check(value any) error {
	if value == nil {
		return nil
	}
	if text, isText := value.(string); len(s.Valid) > 0 && (!isText || !slices.Contains(s.Valid, text)) {
		return memory.Errorf(memory.Invalid, "%s: invalid value %v; valid: %s", s.Key, value, strings.Join(s.Valid, ", "))
	}
	err := decode(value, reflect.New(s.valueType).Interface())
	if err != nil && s.valueType == reflect.TypeFor[Bytes]() {
		return memory.Errorf(memory.Invalid, "%s: %v is not a valid number of bytes (example: 512MiB)", s.Key, value)
	}
	if err != nil {
		return memory.Errorf(memory.Invalid, "%s: invalid value %v; it must be of type %s", s.Key, value, s.valueType)
	}
	return nil
}

func defaultValues() map[string]any {
	flat := map[string]string{}
	for _, s := range settings() {
		if s.Default != "" {
			flat[s.Key] = s.Default
		}
	}
	return nestKeys(flat)
}

func readFlags(flags map[string]string) (map[string]any, error) {
	for key := range flags {
		if err := checkKey("flag", key); err != nil {
			return nil, err
		}
	}
	return nestKeys(flags), nil
}

// readEnv returns the settings in the environment. A secret can also be in a file: the secret's variable
// with the suffix _FILE contains the path. The result unknownNames lists LOCI_ variables that are not settings,
// such as variables set by Kubernetes. For a misspelt setting readEnv returns [memory.Invalid].
func readEnv(environ []string) (values map[string]any, unknownNames []string, err error) {
	byEnv, secretFiles, files := map[string]string{}, map[string]string{}, map[string]string{}
	for _, s := range settings() {
		byEnv[s.Env] = s.Key
		if s.Secret {
			secretFiles[s.Env+"_FILE"] = s.Key
		}
	}
	flat := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		key, ok := byEnv[name]
		secretKey, isFile := secretFiles[name]
		switch {
		case ok:
			flat[key] = value
		case isFile:
			text, err := os.ReadFile(value)
			if err != nil {
				return nil, nil, memory.Errorf(memory.Invalid, "%s: %w", name, err)
			}
			files[secretKey] = strings.TrimSpace(string(text))
		case !strings.HasPrefix(name, "LOCI_"):
		case isTypo(name):
			return nil, nil, unknownSettingError("environment", name, strings.ToLower(strings.TrimPrefix(name, "LOCI_")), envName)
		default:
			unknownNames = append(unknownNames, name)
		}
	}
	for key, value := range files {
		if _, both := flat[key]; both {
			return nil, nil, memory.Errorf(memory.Invalid, "%s and %s_FILE are both set; set only one of them", envName(key), envName(key))
		}
		flat[key] = value
	}
	return nestKeys(flat), unknownNames, nil
}

func readFile(path string) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "read the settings file: %w", err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n") // the rest of the message quotes the file, which may contain a key
		return nil, memory.Errorf(memory.Invalid, "%s: %s", path, line)
	}
	k := koanf.New(".")
	if err := k.Load(mapProvider(tree), nil); err != nil {
		return nil, memory.Errorf(memory.Invalid, "%s: %w", path, err)
	}
	for _, key := range k.Keys() {
		if err := checkKey(path, key); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

func checkKey(source, key string) error {
	if slices.ContainsFunc(settings(), func(s Setting) bool { return s.Key == key }) {
		return nil
	}
	return unknownSettingError(source, key, key, func(key string) string { return key })
}

// unknownSettingError returns the error for an unknown setting, with suggestions. The function format
// converts a key to the notation of the source.
func unknownSettingError(source, name, key string, format func(key string) string) error {
	suggestions := suggestKeys(key)
	for i, k := range suggestions {
		suggestions[i] = format(k)
	}
	hint := ""
	if len(suggestions) > 0 {
		hint = "did you mean " + strings.Join(suggestions, ", or ") + "? "
	}
	return memory.Errorf(memory.Invalid, "%s: %s is not a valid setting; %sloci settings lists all settings", source, name, hint)
}

// nestKeys converts keys with dots to nested maps.
func nestKeys(flat map[string]string) map[string]any {
	k := koanf.New(".")
	for key, value := range flat {
		_ = k.Set(key, value) // fails only with koanf's strict merge
	}
	return k.Raw()
}

// WithDefaults fills zero fields of a Config that a program created with the defaults. A Config from
// [Load] is already complete.
func (c Config) WithDefaults() (Config, error) {
	if c.sources != nil {
		return c, nil
	}
	values := map[string]reflect.Value{}
	collectValues(reflect.ValueOf(c), "", values)
	set := map[string]string{}
	for key, value := range values {
		switch v := value.Interface().(type) {
		case []string:
			if len(v) > 0 {
				set[key] = strings.Join(v, ",")
			}
		case StoreAddress: // its String method would omit the password
			if v != "" {
				set[key] = string(v)
			}
		default:
			if !value.IsZero() {
				set[key] = fmt.Sprint(v)
			}
		}
	}
	out, err := Load(Sources{Flags: set})
	for key := range set {
		out.SetSource(key, "program")
	}
	return out, err
}

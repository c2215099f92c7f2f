package assembly

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/loci-memory/loci/internal/config"
)

// load reads settings, and what a profile would decide: "preset.NAME".
func load(set map[string]string) (config.Config, error) {
	settings := maps.Clone(set)
	maps.DeleteFunc(settings, func(key, _ string) bool { return strings.HasPrefix(key, "preset.") })
	c, err := config.Load(config.Sources{Flags: settings})
	for key, value := range set {
		if name, ok := strings.CutPrefix(key, "preset."); ok {
			err = errors.Join(err, yaml.UnmarshalWithOptions([]byte(name+": "+value), &c.Preset, yaml.Strict()))
		}
	}
	return c, err
}

// openWith opens a memory in memory with these settings.
func openWith(t *testing.T, flags map[string]string) *Loci {
	t.Helper()
	set := map[string]string{"store": "memory", "data": t.TempDir()}
	maps.Copy(set, flags)
	config := try(load(set)).orFail(t)
	l := try(Open(context.Background(), config, Options{})).orFail(t)
	t.Cleanup(func() { noError(t)(l.Close()) })
	return l
}

package config

import (
	"reflect"
	"slices"
)

// reloadableKeys lists the settings that a running server can change.
var reloadableKeys = []string{
	"log.level", "limits.requests", "limits.tokens", "limits.concurrent", "hosts", "trusted", "proxies", "cors.origins", "audit.keep",
	"tls.cert", "tls.key",
}

// Reload returns the settings with the changes of next that a running server can apply. It also
// returns the keys of the applied changes, and the keys of changes that need a restart.
func (c *Config) Reload(next Config) (out Config, applied, needRestart []string) {
	out = *c
	current, wanted := map[string]reflect.Value{}, map[string]reflect.Value{}
	collectValues(reflect.ValueOf(&out).Elem(), "", current)
	collectValues(reflect.ValueOf(next), "", wanted)
	for _, s := range settings() {
		switch {
		case reflect.DeepEqual(current[s.Key].Interface(), wanted[s.Key].Interface()):
		case slices.Contains(reloadableKeys, s.Key):
			current[s.Key].Set(wanted[s.Key])
			applied = append(applied, s.Key)
		default:
			needRestart = append(needRestart, s.Key)
		}
	}
	return out, applied, needRestart
}

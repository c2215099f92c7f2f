package config

import (
	"reflect"
	"slices"
)

// reloadable lists the settings that a running server can change.
var live = []string{
	"log.level", "limits.requests", "limits.tokens", "limits.concurrent", "hosts", "trusted", "proxies", "cors.origins", "audit.keep",
	"tls.cert", "tls.key",
}

// Reload returns the settings with the changes of next that a running server can apply. It also
// returns the keys of the applied changes, and the keys of changes that need a restart.
func (c *Config) Reload(next Config) (out Config, taken, atStart []string) {
	out = *c
	is, will := map[string]reflect.Value{}, map[string]reflect.Value{}
	valuesOf(reflect.ValueOf(&out).Elem(), "", is)
	valuesOf(reflect.ValueOf(next), "", will)
	for _, s := range settings() {
		switch {
		case reflect.DeepEqual(is[s.Key].Interface(), will[s.Key].Interface()):
		case slices.Contains(live, s.Key):
			is[s.Key].Set(will[s.Key])
			taken = append(taken, s.Key)
		default:
			atStart = append(atStart, s.Key)
		}
	}
	return out, taken, atStart
}

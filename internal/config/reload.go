package config

import (
	"reflect"
	"slices"
)

// live are the settings that a running server can take over.
var live = []string{
	"log.level", "limits.requests", "limits.tokens", "limits.concurrent", "hosts", "trusted", "proxies", "cors.origins", "audit.keep",
	"tls.cert", "tls.key",
}

// Reload returns the keys of the settings that differ in next: those that a running server takes
// over, and those that it reads at its start alone.
func (c *Config) Reload(next Config) (taken, atStart []string) {
	is, will := map[string]reflect.Value{}, map[string]reflect.Value{}
	valuesOf(reflect.ValueOf(*c), "", is)
	valuesOf(reflect.ValueOf(next), "", will)
	for _, s := range settings() {
		switch {
		case reflect.DeepEqual(is[s.Key].Interface(), will[s.Key].Interface()):
		case slices.Contains(live, s.Key):
			taken = append(taken, s.Key)
		default:
			atStart = append(atStart, s.Key)
		}
	}
	return taken, atStart
}

// Taking returns the settings with what a running server takes over from next.
func (c *Config) Taking(next Config) Config {
	out := *c
	out.Log.Level, out.Limits, out.Hosts, out.Trusted, out.Proxies, out.CORS.Origins, out.Audit = next.Log.Level, next.Limits, next.Hosts, next.Trusted, next.Proxies, next.CORS.Origins, next.Audit
	out.Limits.Body, out.Limits.Text = c.Limits.Body, c.Limits.Text
	out.TLS.Cert, out.TLS.Key = next.TLS.Cert, next.TLS.Key
	return out
}

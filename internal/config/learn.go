package config

import (
	"net/url"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// The values of learn.model that name no model: the smallest of the upstream, the one that the chat
// asks, and the rules alone.
const (
	LearnAuto = "auto"
	LearnChat = "chat"
	LearnNone = "none"
)

// Provider is one entry of learn.providers.
type Provider struct{ Name, url, key string }

// ProviderList returns those of learn.providers. [memory.Invalid] for what is none.
func (c LearnConfig) ProviderList() ([]Provider, error) {
	var out []Provider
	for _, entry := range c.Providers {
		name, base, _ := strings.Cut(entry, "=")
		u, err := url.Parse(base)
		if name == "" || strings.Contains(name, "/") || err != nil || u.Host == "" { // what cannot be read may hold a key
			return nil, memory.Errorf(memory.Invalid, "learn.providers: invalid provider %q (example: google=https://KEY@example.com/v1)", name)
		}
		key := u.User.Username()
		u.User = nil
		out = append(out, Provider{Name: name, url: u.String(), key: key})
	}
	return out, nil
}

// At lets the settings of the model that learns be those of a provider.
func (p *Provider) At(c Config) Config {
	if p != nil {
		c.Learn.URL, c.Learn.Key = p.url, p.key
	}
	return c
}

// UsesClientKeys reports whether what learns is asked with the key of each client.
func (c Config) UsesClientKeys() bool {
	return c.Learn.ClientKeys && c.Upstream.Key == "" && c.Learn.URL == "" && c.Learn.Key == ""
}

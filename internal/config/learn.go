package config

import (
	"net/url"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// The values of learn.model that name no model: LearnAuto means the first available model of learn.prefer
// or the smallest model of the upstream, LearnChat the model of the chat, LearnNone only the rules.
const (
	LearnAuto = "auto"
	LearnChat = "chat"
	LearnNone = "none"
)

// Provider is an entry of learn.providers: a server of learning models.
type Provider struct{ Name, url, key string }

// ProviderList parses learn.providers. The error is [memory.Invalid] if an entry is malformed.
func (c LearnConfig) ProviderList() ([]Provider, error) {
	var out []Provider
	for _, entry := range c.Providers {
		name, base, _ := strings.Cut(entry, "=")
		u, err := url.Parse(base)
		if name == "" || strings.Contains(name, "/") || err != nil || u.Host == "" { // the error omits the URL, which may contain a key
			return nil, memory.Errorf(memory.Invalid, "learn.providers: invalid provider %q (example: google=https://KEY@example.com/v1)", name)
		}
		key := u.User.Username()
		u.User = nil
		out = append(out, Provider{Name: name, url: u.String(), key: key})
	}
	return out, nil
}

// ApplyTo returns c with the provider as the server of the learning model. A nil provider changes nothing.
func (p *Provider) ApplyTo(c Config) Config {
	if p != nil {
		c.Learn.URL, c.Learn.Key = p.url, p.key
	}
	return c
}

// UsesClientKeys reports whether requests to the learning model use the client's key.
func (c Config) UsesClientKeys() bool {
	return c.Learn.ClientKeys && c.Upstream.Key == "" && c.Learn.URL == "" && c.Learn.Key == ""
}

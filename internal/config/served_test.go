package config_test

import (
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

func TestCommandsAskServerOfAllInterfacesAtLoopback(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:7077": "http://127.0.0.1:7077", "[::]:7077": "http://127.0.0.1:7077", ":7077": "http://127.0.0.1:7077",
		"127.0.0.1:7077": "http://127.0.0.1:7077", "[::1]:7077": "http://[::1]:7077", "10.0.0.0:80": "http://10.0.0.0:80", "https://loci.example.com": "https://loci.example.com",
	} {
		c := config.Config{Addr: addr}
		if got := c.ServerURL(); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}

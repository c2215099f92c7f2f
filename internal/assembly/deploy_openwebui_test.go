package assembly

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

const openWebUICompose = "../../deploy/openwebui/compose.yaml"

// openWebUIFile is deploy/openwebui/compose.yaml.
type openWebUIFile struct {
	Name     string
	Services struct {
		Loci struct {
			Build           struct{ Context, Dockerfile string }
			Environment     map[string]string
			Volumes         []string
			StopGracePeriod time.Duration `yaml:"stop_grace_period"`
			Restart         string
		}
		OpenWebUI struct {
			Image, Restart string
			Environment    map[string]string
			Volumes, Ports []string
			DependsOn      []string `yaml:"depends_on"`
		} `yaml:"open-webui"`
	}
	Volumes map[string]struct{}
}

// TestOpenWebUIComposeFits holds the two services to each other and to Loci's settings.
func TestOpenWebUIComposeFits(t *testing.T) {
	given := map[string]string{
		"LOCI_API_KEY": "a-key-of-some-length", "LOCI_FRONT_KEY": "a-key-of-a-front-end", "USER_JWT_SECRET": "of-the-users", "WEBUI_SECRET_KEY": "of-open-webui",
		"LOCI_UPSTREAM_URL": "https://api.example.com/v1", "LOCI_UPSTREAM_KEY": "of-the-provider",
	}
	c := decoded[openWebUIFile](t, openWebUICompose)
	server, webui := c.Services.Loci, c.Services.OpenWebUI.Environment
	for _, environment := range []map[string]string{server.Environment, webui} {
		for name, value := range environment {
			if strings.HasPrefix(value, "${") {
				environment[name] = os.Expand(value, func(s string) string {
					name, _, _ := strings.Cut(s, ":") // what follows is said where there is none
					return given[name]
				})
			}
		}
	}
	config := inImage(t, server.Environment)
	api := "http://loci" + strings.TrimPrefix(config.Addr, "0.0.0.0") + "/v1"
	var connections map[string]struct{ Headers map[string]string }
	if err := json.Unmarshal([]byte(webui["OPENAI_API_CONFIGS"]), &connections); err != nil {
		t.Fatal(err)
	}
	agree(t, []agreement{
		{"Dockerfile", filepath.ToSlash(filepath.Join("../../deploy/openwebui", server.Build.Context, server.Build.Dockerfile)), dockerfile},
		{"users", config.Users, "multi"},
		{"upstream", config.Upstream.URL, given["LOCI_UPSTREAM_URL"]},
		{"folder", server.Volumes, []string{"loci:" + config.Data}},
		{"volumes", len(c.Volumes), 2},
		{"server has time to stop", server.StopGracePeriod > toldToStop(t), true},
		{"chats", webui["OPENAI_API_BASE_URL"], api},
		{"key", webui["OPENAI_API_KEY"], given["LOCI_FRONT_KEY"]},
		{"server knows the key", config.Front, given["LOCI_FRONT_KEY"]},
		{"embeddings", webui["RAG_OPENAI_API_BASE_URL"], api},
		{"key of embeddings", webui["RAG_OPENAI_API_KEY"], given["LOCI_FRONT_KEY"]},
		{"users' secret", webui["FORWARD_USER_INFO_HEADER_JWT_SECRET"], string(config.JWT)},
		{"users are named", webui["ENABLE_FORWARD_USER_INFO_HEADERS"], "true"},
		{"tasks", connections["0"].Headers["X-Loci-Task"], "{{TASK}}"},
		{"the server's own key stays with it", slices.Contains(slices.Collect(maps.Values(webui)), given["LOCI_API_KEY"]), false},
		{"version", c.Services.OpenWebUI.Image, "ghcr.io/open-webui/open-webui:v" + sole(t, "../../e2e/openwebui/run.sh", `(?m)^version=(.+)$`)},
	})
}

// TestFrontKeyOfTheSettingsIsNoAdmins asks with it as the front end does, and for what is the admin's.
func TestFrontKeyOfTheSettingsIsNoAdmins(t *testing.T) {
	l := openWith(t, map[string]string{"api_key": "a-key-of-some-length", "front_key": "a-key-of-a-front-end", "users": "multi"})
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	front := client.New(server.URL, client.Options{Key: "a-key-of-a-front-end", User: "ana"})
	if _, _, err := front.Add(t.Context(), client.AddMemory{Content: "User plays the oboe"}); err != nil {
		t.Fatal(err)
	}
	if page, err := front.List(t.Context(), client.ListQuery{}); err != nil || len(page.Memories) != 1 {
		t.Errorf("got %d memories, %v; want what it wrote", len(page.Memories), err)
	}
	if _, err := front.EraseUser(t.Context(), "ana"); !errors.Is(err, memory.Forbidden) {
		t.Errorf("erasing a user: %v, want it forbidden", err)
	}
	if _, err := front.Keys(t.Context()); !errors.Is(err, memory.Forbidden) {
		t.Errorf("listing keys: %v, want it forbidden", err)
	}
}

// TestOpenWebUIFilter runs the filter's own tests, where there is a Python.
func TestOpenWebUIFilter(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err := exec.CommandContext(t.Context(), python, "../../deploy/openwebui/loci_filter_test.py").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

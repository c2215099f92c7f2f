package loci

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// deployed returns the files under deploy that say how Loci is run.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 5 {
		t.Fatalf("got %d files under deploy, want the Dockerfile, compose.yaml and the manifests", len(files))
	}
	return files
}

func TestDeployedFilesNameSettingsThatExist(t *testing.T) {
	var known []string
	for _, s := range settings() {
		known = append(known, s.Env)
	}
	for path, text := range deployed(t) {
		for _, name := range regexp.MustCompile(`\bLOCI_\w+`).FindAllString(text, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: got %s, which is no setting", path, name)
			}
		}
	}
}

// TestDeployedSettingsAreTaken loads each manifest's plain values as Loci would.
func TestDeployedSettingsAreTaken(t *testing.T) {
	for path, text := range deployed(t) {
		env := []string{"LOCI_API_KEY=a-key-of-some-length"}
		for _, m := range regexp.MustCompile(`(?m)name: (LOCI_\w+), value: "?([^"}]+)"?}|^\s+(LOCI_\w+): ([^$\s]+)$`).FindAllStringSubmatch(text, -1) {
			env = append(env, m[1]+m[3]+"="+m[2]+m[4])
		}
		if len(env) == 1 {
			continue
		}
		if _, err := LoadConfig(Sources{Env: env}); err != nil {
			t.Errorf("%s: got %v of %q, want no error", path, err, env)
		}
	}
}

func TestDeployedYAMLIsWhole(t *testing.T) {
	for path, text := range deployed(t) {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		dec := yaml.NewDecoder(strings.NewReader(text), yaml.Strict())
		for {
			var document map[string]any
			err := dec.Decode(&document)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", path, err)
				break
			}
			if kind := document["kind"]; strings.Contains(path, "kubernetes") && kind == nil {
				t.Errorf("%s: got a document without a kind", path)
			}
		}
	}
}

// manifest is what of a Kubernetes manifest has to fit the others.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Selector            any
		ScaleTargetRef      struct{ Kind, Name string }
		Ports               []struct{ TargetPort string }
		PodMetricsEndpoints []struct {
			Port, Path    string
			Authorization struct{ Credentials secretKey }
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Containers []struct {
					Ports []struct {
						Name          string
						ContainerPort int
					}
					Env []struct {
						Name, Value string
						ValueFrom   struct{ SecretKeyRef secretKey }
					}
					StartupProbe, ReadinessProbe, LivenessProbe struct {
						HTTPGet struct{ Path, Port string }
					}
				}
			}
		}
	}
	StringData map[string]string
}

type secretKey struct{ Name, Key string }

// TestManifestsFitEachOther holds names, labels, ports and keys of the secret to those that
// they mean, and each variable of the server's to a setting.
func TestManifestsFitEachOther(t *testing.T) {
	of := map[string]manifest{}
	for path, text := range deployed(t) {
		if filepath.Ext(path) != ".yaml" || !strings.Contains(path, "kubernetes") {
			continue
		}
		var m manifest
		inJSON, err := yaml.YAMLToJSON([]byte(text)) // which takes names in any case
		if err == nil {
			err = json.Unmarshal(inJSON, &m)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		of[m.Kind] = m
	}
	pods := of["Deployment"]
	if len(pods.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("got %+v, want a deployment of one container", pods)
	}
	server := pods.Spec.Template.Spec.Containers[0]
	secret := func(where string, k secretKey) {
		t.Helper()
		if _, ok := of["Secret"].StringData[k.Key]; !ok || k.Name != of["Secret"].Metadata.Name {
			t.Errorf("%s: got %+v, which the example of a secret has not", where, k)
		}
	}
	var addr string
	for _, e := range server.Env {
		if !slices.ContainsFunc(settings(), func(s Setting) bool { return s.Env == e.Name }) {
			t.Errorf("the server is given %s, which is no setting", e.Name)
		}
		if e.Name == "LOCI_ADDR" {
			addr = e.Value
		}
		if e.Value == "" {
			secret(e.Name, e.ValueFrom.SecretKeyRef)
		}
	}
	if len(server.Ports) != 1 || addr != fmt.Sprint("0.0.0.0:", server.Ports[0].ContainerPort) {
		t.Fatalf("the server listens on %q, want its port of %+v on all addresses", addr, server.Ports)
	}
	meant := []string{server.StartupProbe.HTTPGet.Port, server.ReadinessProbe.HTTPGet.Port, server.LivenessProbe.HTTPGet.Port}
	for _, p := range of["Service"].Spec.Ports {
		meant = append(meant, p.TargetPort)
	}
	for _, e := range of["PodMonitor"].Spec.PodMetricsEndpoints {
		meant = append(meant, e.Port)
		secret("the monitor", e.Authorization.Credentials)
		if e.Path != "/metrics" {
			t.Errorf("the monitor asks %s, want /metrics", e.Path)
		}
	}
	if len(meant) != 5 || slices.ContainsFunc(meant, func(port string) bool { return port != server.Ports[0].Name }) {
		t.Errorf("got the ports %q, want five of the name %q", meant, server.Ports[0].Name)
	}
	probes := []string{server.StartupProbe.HTTPGet.Path, server.ReadinessProbe.HTTPGet.Path, server.LivenessProbe.HTTPGet.Path}
	if want := []string{"/health/live", "/health/ready", "/health/live"}; !slices.Equal(probes, want) {
		t.Errorf("got probes %q, want %q: a server lives without its database", probes, want)
	}
	if target := of["HorizontalPodAutoscaler"].Spec.ScaleTargetRef; target.Kind != pods.Kind || target.Name != pods.Metadata.Name {
		t.Errorf("the autoscaler is of %+v, want the deployment %s", target, pods.Metadata.Name)
	}
	labels := fmt.Sprint(pods.Spec.Template.Metadata.Labels)
	for kind, selector := range map[string]any{
		"Service": of["Service"].Spec.Selector, "Deployment": matched(pods), "PodDisruptionBudget": matched(of["PodDisruptionBudget"]), "PodMonitor": matched(of["PodMonitor"]),
	} {
		if fmt.Sprint(selector) != labels {
			t.Errorf("%s: selects %v, want the pods' %s", kind, selector, labels)
		}
	}
}

// matched returns the labels of a selector that has them under matchLabels.
func matched(m manifest) any {
	selector, _ := m.Spec.Selector.(map[string]any)
	return selector["matchLabels"]
}

// TestProbesNeedNoKey asks what the manifests let Kubernetes ask, by the host that
// they name, of a server that has a key and answers to one name alone.
func TestProbesNeedNoKey(t *testing.T) {
	manifest := deployed(t)[filepath.Join("deploy", "kubernetes", "deployment.yaml")]
	paths := regexp.MustCompile(`path: (/\S+),`).FindAllStringSubmatch(manifest, -1)
	if len(paths) != 3 {
		t.Fatalf("got probes %q, want three", paths)
	}
	l := openWith(t, map[string]string{"api_key": "a-key-of-some-length", "hosts": "loci.example.com"})
	for _, path := range paths {
		r := httptest.NewRequest(http.MethodGet, path[1], nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if l.Handler().ServeHTTP(w, r); w.Code >= 300 {
			t.Errorf("%s: got %d %s, want it answered", path[1], w.Code, w.Body)
		}
	}
}

package assembly

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// chart has the Helm chart's output for its files of values, which tests in tools/helm compare with the chart.
const deploy, chart = "../../deploy/", "../../tools/helm/testdata/"

// deployedEnv stands for what the person who deploys sets.
var deployedEnv = map[string]string{
	"LOCI_API_KEY": "a-key-of-some-length", "LOCI_FRONT_KEY": "a-key-of-a-front-end", "USER_JWT_SECRET": "of-the-users", "WEBUI_SECRET_KEY": "of-open-webui",
	"LOCI_UPSTREAM_URL": "https://api.example.com/v1", "LOCI_UPSTREAM_KEY": "of-the-provider", "POSTGRES_PASSWORD": "of-the-database",
	"LOCI_USERS": "single",
}

func contents(t *testing.T, path string) string { t.Helper(); return string(readFile(t, path)) }

// sole returns the group of a pattern that matches once in a file.
func sole(t *testing.T, path, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(contents(t, path), -1)
	if len(found) != 1 {
		t.Fatalf("%s: %s matches %d times: %q", path, pattern, len(found), found)
	}
	return found[0][1]
}

// valueAt returns the value at a path of a YAML file, with ${NAME:-…} replaced from deployedEnv.
func valueAt(t *testing.T, file, path string) any {
	t.Helper()
	p := try(yaml.PathString("$." + path)).orFail(t)
	text := regexp.MustCompile(`\$\{(\w+)[^}]*\}`).ReplaceAllStringFunc(contents(t, file), func(s string) string {
		return deployedEnv[regexp.MustCompile(`\w+`).FindString(s)]
	})
	var value any
	if err := p.Read(strings.NewReader(text), &value); err != nil {
		t.Fatalf("%s: %s: %v", file, path, err)
	}
	return value
}

// textMap returns a YAML mapping as text by its keys.
func textMap(value any) map[string]string {
	out := map[string]string{}
	pairs, _ := value.(map[string]any)
	for k, v := range pairs {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// says compares values of a YAML file, each as fmt.Sprint writes it, by their paths.
func says(t *testing.T, file string, want map[string]string) {
	t.Helper()
	for path, want := range want {
		if got := fmt.Sprint(valueAt(t, file, path)); got != want {
			t.Errorf("%s: %s is %s, want %s", file, path, got, want)
		}
	}
}

// inImage returns the settings of a server in the image: the Dockerfile's, and an environment's.
func inImage(t *testing.T, env map[string]string) config.Config {
	t.Helper()
	set := strings.Fields(sole(t, deploy+"Dockerfile", `(?m)^ENV (.+)$`))
	for name, value := range env {
		set = append(set, name+"="+value)
	}
	c, err := config.Load(config.Sources{Env: set})
	if err != nil {
		t.Fatalf("%q: %v", set, err)
	}
	return c
}

// stopTime returns how long a server takes at most to stop.
func stopTime(t *testing.T, c config.Config) (longest time.Duration) {
	t.Helper()
	c, err := c.WithDefaults()
	noError(t)(err)
	last := try(strconv.Atoi(sole(t, "../cli/serve.go", `cancelGrace = (\d+) \* time\.Second`))).orFail(t)
	return c.Drain/6 + c.Drain + time.Duration(last)*time.Second
}

func TestDeployedFilesNameSettingsThatExist(t *testing.T) {
	var known []string
	for _, s := range (config.Config{}).ListSettings() {
		known = append(known, s.Env)
	}
	for root, least := range map[string]int{deploy: 20, chart: 14} {
		files := 0
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".json" {
				return err
			}
			files++
			for _, name := range regexp.MustCompile(`\bLOCI_\w+`).FindAllString(contents(t, path), -1) {
				if !slices.Contains(known, name) {
					t.Errorf("%s: %s is not a setting", path, name)
				}
			}
			return nil
		})
		if err != nil || files < least {
			t.Fatalf("%s: %d files: %v", root, files, err)
		}
	}
}

func TestImageServes(t *testing.T) {
	const file = deploy + "Dockerfile"
	c := inImage(t, map[string]string{"LOCI_API_KEY": "a-key-of-some-length"})
	for pattern, want := range map[string]string{
		`FROM golang:(\S+) `: sole(t, "../../go.mod", `(?m)^go (\d+\.\d+)`), `(?m)^EXPOSE (\d+)$`: strings.TrimPrefix(c.Addr, "0.0.0.0:"),
		`go build .* -o (\S+) \./cmd/loci\b`: "/loci", `COPY --from=build (/loci /loci)\n`: "/loci /loci", `(?m)^ENTRYPOINT (.+)$`: `["/loci"]`, `(?m)^CMD (.+)$`: `["serve"]`,
		`(?m)^HEALTHCHECK .* CMD (.+)$`:                           `["/loci", "health"]`,
		`COPY --from=build --chown=nonroot:nonroot /data (\S+)\n`: c.Data,
	} {
		if got := sole(t, file, pattern); got != want {
			t.Errorf("%s: %s is %s, want %s", file, pattern, got, want)
		}
	}
}

// TestBuildContextHasEveryPackage compares .dockerignore with the packages of the binary.
func TestBuildContextHasEveryPackage(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "../../cmd/loci")
	rules := strings.Fields(contents(t, "../../.dockerignore"))
	packages := 0
	for path := range strings.FieldsSeq(string(try(list.Output()).orFail(t))) {
		inside, ours := strings.CutPrefix(path, "github.com/loci-memory/loci/")
		if !ours {
			continue
		}
		packages++
		if folder, _, _ := strings.Cut(inside, "/"); !slices.Contains(rules, "!"+folder) {
			t.Errorf("%s is not in the build context", path)
		}
	}
	if packages < 50 || !slices.Contains(rules, "*") {
		t.Errorf("%d packages, rules %q", packages, rules)
	}
}

// runsConfined checks what all compose files have in common.
func runsConfined(t *testing.T, file string) {
	t.Helper()
	const server = "services.loci."
	says(t, file, map[string]string{
		server + "healthcheck.test": "[CMD /loci health]", server + "read_only": "true", server + "cap_drop": "[ALL]", server + "security_opt": "[no-new-privileges:true]",
	})
	if grace, err := time.ParseDuration(fmt.Sprint(valueAt(t, file, server+"stop_grace_period"))); err != nil || grace <= stopTime(t, config.Config{}) {
		t.Errorf("%s: the server has %v to stop, %v; want more than %v", file, grace, err, stopTime(t, config.Config{}))
	}
	c := inImage(t, textMap(valueAt(t, file, server+"environment")))
	hasRoom(t, c, fmt.Sprint(valueAt(t, file, server+"deploy.resources.limits.memory"))+"iB")
}

// hasRoom checks that memory is enough for a server with full indexes; deploy/README.md explains the numbers.
func hasRoom(t *testing.T, c config.Config, room string) {
	t.Helper()
	var bytes config.Bytes
	if err := bytes.UnmarshalText([]byte(room)); err != nil || bytes <= c.Index.Budget*111/100+40<<20 {
		t.Errorf("the server has %s for indexes of %v, %v", room, c.Index.Budget, err)
	}
}

func TestComposeFits(t *testing.T) {
	const file = deploy + "compose.yaml"
	runsConfined(t, file)
	c := inImage(t, textMap(valueAt(t, file, "services.loci.environment")))
	port := strings.TrimPrefix(c.Addr, "0.0.0.0")
	says(t, file, map[string]string{
		"services.loci.build": "map[context:.. dockerfile:deploy/Dockerfile]", "services.loci.volumes": "[loci:" + c.Data + "]", "services.loci.ports": "[127.0.0.1" + port + port + "]",
	})
	if c.Store.IsServer() || c.APIKey != "a-key-of-some-length" || c.Users != "single" {
		t.Errorf("the server is set to %+v", c)
	}
}

func TestPostgresComposeFits(t *testing.T) {
	const file = deploy + "compose.postgres.yaml"
	runsConfined(t, file)
	c := inImage(t, textMap(valueAt(t, file, "services.loci.environment")))
	port := strings.TrimPrefix(c.Addr, "0.0.0.0")
	says(t, file, map[string]string{
		"services.postgres.environment":      "map[POSTGRES_DB:loci POSTGRES_PASSWORD:of-the-database POSTGRES_USER:loci]",
		"services.postgres.healthcheck.test": "[CMD-SHELL pg_isready -U loci -d loci]",
		"services.postgres.volumes":          "[postgres:/var/lib/postgresql/data]",
		"services.loci.build":                "map[context:.. dockerfile:deploy/Dockerfile]",
		"services.loci.volumes":              "[" + c.Data + "]",
		"services.loci.depends_on":           "map[postgres:map[condition:service_healthy]]",
		"services.proxy.command":             "[caddy reverse-proxy --from " + port + " --to loci" + port + "]",
		"services.proxy.ports":               "[127.0.0.1" + port + port + "]",
	})
	if c.Users != "multi" || c.APIKey != "a-key-of-some-length" || !strings.HasPrefix(string(c.Store), "postgres://loci:of-the-database@postgres:5432/loci?") || len(c.Proxies) != 2 {
		t.Errorf("the server is set to %+v", c)
	}
}

func TestSystemdUnitFits(t *testing.T) {
	const file = deploy + "systemd/loci.service"
	for pattern, want := range map[string]string{
		`(?m)^ExecStart=(.+)$`: "/usr/bin/loci serve $ARGS", `(?m)^EnvironmentFile=(.+)$`: "-/etc/loci/loci.env", `(?m)^ExecReload=(.+)$`: `/bin/sh -c "kill -HUP $MAINPID"`,
		`(?m)^Environment=LOCI_DATA=(.+)$`: "/var/lib/" + sole(t, file, `(?m)^StateDirectory=(.+)$`), `(?m)^RestartPreventExitStatus=(.+)$`: "2",
	} {
		if got := sole(t, file, pattern); got != want {
			t.Errorf("%s: %s is %s, want %s", file, pattern, got, want)
		}
	}
	if grace, err := time.ParseDuration(sole(t, file, `(?m)^TimeoutStopSec=(.+)$`)); err != nil || grace <= stopTime(t, config.Config{}) {
		t.Errorf("the server has %v to stop, %v", grace, err)
	}
}

// TestChartFits compares the chart's deployments with Loci's settings.
func TestChartFits(t *testing.T) {
	const pod = "spec.template.spec."
	secret := map[string]string{"store": "postgres://loci:of-the-database@db:5432/loci", "api-key": "a-key-of-some-length", "front-key": "a-key-of-a-front-end", "upstream-key": "of-the-provider"}
	files, _ := filepath.Glob(chart + "*/deployment.yaml")
	if len(files) != 3 {
		t.Fatalf("got %q", files)
	}
	for _, file := range files {
		env := map[string]string{}
		list, _ := valueAt(t, file, pod+"containers[0].env").([]any)
		for _, e := range list {
			one := textMap(e)
			env[one["name"]] = one["value"]
			if from, ok := e.(map[string]any)["valueFrom"].(map[string]any); ok {
				ref := textMap(from["secretKeyRef"])
				if env[one["name"]] = secret[ref["key"]]; ref["name"] != "loci" || secret[ref["key"]] == "" {
					t.Errorf("%s: %s is %v, which the secret lacks", file, one["name"], ref)
				}
			}
		}
		c := inImage(t, env)
		if c.Users != "multi" || !c.Store.IsPostgres() || c.APIKey != secret["api-key"] || c.FrontKey != secret["front-key"] || c.Upstream.Key != secret["upstream-key"] {
			t.Errorf("%s: the server is set to %+v", file, c)
		}
		says(t, file, map[string]string{
			pod + "containers[0].args": "[serve]", pod + "containers[0].ports": "[map[containerPort:" + strings.TrimPrefix(c.Addr, "0.0.0.0:") + " name:http]]",
			pod + "containers[0].volumeMounts[0].mountPath": c.Data, pod + "containers[0].volumeMounts[0].name": "data", pod + "volumes[0].name": "data",
			pod + "containers[0].securityContext":             "map[allowPrivilegeEscalation:false capabilities:map[drop:[ALL]] readOnlyRootFilesystem:true]",
			pod + "securityContext":                           "map[fsGroup:65532 runAsGroup:65532 runAsNonRoot:true runAsUser:65532 seccompProfile:map[type:RuntimeDefault]]",
			pod + "containers[0].readinessProbe.httpGet.path": "/health/ready",
			pod + "containers[0].livenessProbe.httpGet.path":  "/health/live", // a restart brings no database back
			pod + "containers[0].startupProbe.httpGet.path":   "/health/live",
		})
		grace := try(strconv.Atoi(fmt.Sprint(valueAt(t, file, pod+"terminationGracePeriodSeconds")))).orFail(t)
		if stop := stopTime(t, c); time.Duration(grace)*time.Second <= stop {
			t.Errorf("%s: the server has %d s to stop, want more than %v", file, grace, stop)
		}
		hasRoom(t, c, fmt.Sprint(valueAt(t, file, pod+"containers[0].resources.requests.memory"))+"B")
	}
}

// TestProbesNeedNoKey asks what the chart lets Kubernetes ask, by the host that
// it names, of a server that has a key and answers to one name alone.
func TestProbesNeedNoKey(t *testing.T) {
	l := openWith(t, map[string]string{"api_key": "a-key-of-some-length", "hosts": "loci.example.com"})
	for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		const file, pod = chart + "ingress/deployment.yaml", "spec.template.spec.containers[0]."
		r := httptest.NewRequest(http.MethodGet, fmt.Sprint(valueAt(t, file, pod+probe+".httpGet.path")), nil)
		r.Host = fmt.Sprint(valueAt(t, file, pod+probe+".httpGet.httpHeaders[0].value"))
		w := httptest.NewRecorder()
		if l.Handler().ServeHTTP(w, r); w.Code >= 300 {
			t.Errorf("%s of %s: got %d %s, want it answered", r.URL.Path, r.Host, w.Code, w.Body)
		}
	}
}

// TestOpenWebUIComposeFits compares the two services with each other and with Loci's settings.
func TestOpenWebUIComposeFits(t *testing.T) {
	const file, webui = deploy + "openwebui/compose.yaml", "services.open-webui.environment."
	c := inImage(t, textMap(valueAt(t, file, "services.loci.environment")))
	api := "http://loci" + strings.TrimPrefix(c.Addr, "0.0.0.0") + "/v1"
	if c.Users != "multi" || c.Upstream.URL != deployedEnv["LOCI_UPSTREAM_URL"] || c.FrontKey != deployedEnv["LOCI_FRONT_KEY"] {
		t.Errorf("the server is set to %+v", c)
	}
	says(t, file, map[string]string{
		"services.loci.build": "map[context:../.. dockerfile:deploy/Dockerfile]", "services.loci.volumes": "[loci:" + c.Data + "]",
		webui + "OPENAI_API_BASE_URL": api, webui + "OPENAI_API_KEY": c.FrontKey, webui + "RAG_OPENAI_API_BASE_URL": api, webui + "RAG_OPENAI_API_KEY": c.FrontKey,
		webui + "FORWARD_USER_INFO_HEADER_JWT_SECRET": string(c.JWTSecret), webui + "ENABLE_FORWARD_USER_INFO_HEADERS": "true",
		"services.open-webui.image": "ghcr.io/open-webui/open-webui:v" + sole(t, "../../e2e/openwebui/run.sh", `(?m)^version=(.+)$`),
	})
	environment := textMap(valueAt(t, file, strings.TrimSuffix(webui, ".")))
	if !strings.Contains(environment["OPENAI_API_CONFIGS"], `"X-Loci-Task": "{{TASK}}"`) || slices.Contains(slices.Collect(maps.Values(environment)), c.APIKey) {
		t.Errorf("Open WebUI is set to %v; want tasks marked, and the server's own key kept from it", environment)
	}
	runsConfined(t, file)
}

func TestFrontKeyIsNoAdmins(t *testing.T) {
	l := openWith(t, map[string]string{"api_key": "a-key-of-some-length", "front_key": "a-key-of-a-front-end", "users": "multi"})
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	front := client.New(server.URL, client.Options{Key: "a-key-of-a-front-end", User: "ana"})
	noError(t)(front.Add(t.Context(), client.AddMemory{Content: "User plays the oboe"}))
	if page, err := front.List(t.Context(), client.ListQuery{}); err != nil || len(page.Memories) != 1 {
		t.Errorf("got %d memories, %v; want what it wrote", len(page.Memories), err)
	}
	_, erase := front.EraseUser(t.Context(), "ana")
	_, keys := front.Keys(t.Context())
	if !errors.Is(erase, memory.Forbidden) || !errors.Is(keys, memory.Forbidden) {
		t.Errorf("erase a user: %v, list keys: %v; want both forbidden", erase, keys)
	}
}

// TestOpenWebUIFilter runs the filter's own tests, where there is a Python.
func TestOpenWebUIFilter(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err := exec.CommandContext(t.Context(), python, deploy+"openwebui/loci_filter_test.py").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

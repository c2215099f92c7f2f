package assembly

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/loci-memory/loci/internal/config"
)

// deployed returns the files under deploy that say how Loci is run.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".json" {
			return err
		}
		files[filepath.ToSlash(path)] = contents(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 5 {
		t.Fatalf("got %d files under deploy, want the Dockerfile, compose.yaml and the manifests", len(files))
	}
	return files
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sole returns what the one match of a pattern in the file holds in its parentheses.
func sole(t *testing.T, path, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(contents(t, path), -1)
	if len(found) != 1 {
		t.Fatalf("%s: got %q, want %s once", path, found, pattern)
	}
	return found[0][1]
}

// decoded reads a file of one document into a struct that has every name the file may
// use, each in its case: another is an error, as in Kubernetes, which would drop it.
func decoded[T any](t *testing.T, path string) (document T) {
	t.Helper()
	dec := yaml.NewDecoder(strings.NewReader(contents(t, path)), yaml.Strict())
	if err := dec.Decode(&document); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := dec.Decode(new(any)); err != io.EOF {
		t.Fatalf("%s: got %v after the first document, want its end", path, err)
	}
	return document
}

// agreement is one thing that two files say, and have to say alike.
type agreement struct {
	what      string
	got, want any
}

func agree(t *testing.T, all []agreement) {
	t.Helper()
	for _, a := range all {
		if !reflect.DeepEqual(a.got, a.want) {
			t.Errorf("%s: got %v, want %v", a.what, a.got, a.want)
		}
	}
}

func TestDeployedFilesNameSettingsThatExist(t *testing.T) {
	var known []string
	for _, s := range (config.Config{}).Shown() {
		known = append(known, s.Env)
	}
	for path, text := range deployed(t) {
		for _, name := range regexp.MustCompile(`\bLOCI_\w+`).FindAllString(text, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: got %s, which is not a setting", path, name)
			}
		}
	}
}

const dockerfile = "../../deploy/Dockerfile"

// inImage returns the settings of a server in the image, which are those of the Dockerfile
// and, before them, those it is given.
func inImage(t *testing.T, given map[string]string) config.Config {
	t.Helper()
	set := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^ENV (.+)$`).FindAllStringSubmatch(contents(t, dockerfile), -1) {
		for _, pair := range strings.Fields(line[1]) {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
	}
	maps.Copy(set, given)
	var env []string
	for name, value := range set {
		if !slices.ContainsFunc((config.Config{}).Shown(), func(s config.Shown) bool { return s.Env == name }) {
			t.Errorf("got %s, which is not a setting", name)
		}
		env = append(env, name+"="+value)
	}
	config, err := config.Load(config.Sources{Env: env})
	if err != nil {
		t.Fatalf("got %v of %q, want no error", err, env)
	}
	return config
}

const serveCommand = "../../internal/cli/serve.go"

// toldToStop returns how long a server takes at most that is told to stop.
func toldToStop(t *testing.T) (longest time.Duration) {
	t.Helper()
	for _, name := range []string{"drainTime", "lastWords"} {
		d, err := time.ParseDuration(sole(t, serveCommand, name+` = (\d+) \* time\.Second`) + "s")
		if err != nil {
			t.Fatal(err)
		}
		longest += d
	}
	return longest
}

// serveArgs returns the arguments that start a server.
func serveArgs(t *testing.T) []string {
	t.Helper()
	return []string{sole(t, serveCommand, `\bUse:\s+"(\w+)"`)}
}

func TestImageServes(t *testing.T) {
	binary := sole(t, dockerfile, `go build .* -o (\S+) \./cmd/loci\b`)
	config := inImage(t, map[string]string{"LOCI_API_KEY": "a-key-of-some-length"})
	agree(t, []agreement{
		{"compiler", sole(t, dockerfile, `FROM golang:(\S+) `), sole(t, "../../go.mod", `(?m)^go (\d+\.\d+)`)},
		{"binary", sole(t, dockerfile, `COPY --from=build (/loci /loci)\n`), binary + " " + binary},
		{"entry point", sole(t, dockerfile, `(?m)^ENTRYPOINT (.+)$`), fmt.Sprintf("[%q]", binary)},
		{"command", sole(t, dockerfile, `(?m)^CMD (.+)$`), fmt.Sprintf("%q", serveArgs(t))},
		{"address", config.Addr, "0.0.0.0:" + sole(t, dockerfile, `(?m)^EXPOSE (\d+)$`)},
		{"folder", sole(t, dockerfile, `COPY --from=build --chown=nonroot:nonroot /data (\S+)\n`), config.Data},
	})
}

func TestComposeFits(t *testing.T) {
	given := map[string]string{"LOCI_API_KEY": "a-key-of-some-length", "POSTGRES_PASSWORD": "of-the-database"}
	c := decoded[composeFile](t, "../../deploy/compose.yaml")
	db, server, proxy := c.Services.Postgres, c.Services.Loci, c.Services.Proxy
	for _, environment := range []map[string]string{db.Environment, server.Environment} {
		for name, value := range environment {
			environment[name] = os.Expand(value, func(s string) string {
				name, _, _ := strings.Cut(s, ":") // what follows is said where there is none
				return given[name]
			})
		}
	}
	config := inImage(t, server.Environment)
	port := strings.TrimPrefix(config.Addr, "0.0.0.0")
	store, err := url.Parse(string(config.Store))
	if err != nil {
		t.Fatal(err)
	}
	user, name := db.Environment["POSTGRES_USER"], db.Environment["POSTGRES_DB"]
	healthy := map[string]awaited{"postgres": {"service_healthy"}}
	agree(t, []agreement{
		{"key", config.APIKey, given["LOCI_API_KEY"]},
		{"users", config.Users, "multi"},
		{"proxies", config.Proxies, []string{"172.16.0.0/12", "192.168.0.0/16"}},
		{"images", db.Image != "" && proxy.Image != "", true},
		{"database's host", store.Host, "postgres:5432"},
		{"database's name", store.Path, "/" + name},
		{"database's user", store.User, url.UserPassword(user, given["POSTGRES_PASSWORD"])},
		{"database's password", db.Environment["POSTGRES_PASSWORD"], given["POSTGRES_PASSWORD"]},
		{"database's health", db.Healthcheck.Test, []string{"CMD-SHELL", "pg_isready -U " + user + " -d " + name}},
		{"database's volume", db.Volumes, []string{"postgres:/var/lib/postgresql/data"}},
		{"volumes", slices.Collect(maps.Keys(c.Volumes)), []string{"postgres"}},
		{"Dockerfile", filepath.ToSlash(filepath.Join("../../deploy", server.Build.Context, server.Build.Dockerfile)), dockerfile},
		{"server waits for", server.DependsOn, healthy},
		{"server has time to stop", server.StopGracePeriod > toldToStop(t), true},
		{"proxy waits for", proxy.DependsOn, []string{"loci"}},
		{"proxy", proxy.Command, []string{"caddy", "reverse-proxy", "--from", port, "--to", "loci" + port}},
		{"proxy's port", proxy.Ports, []string{"127.0.0.1" + port + port}},
	})
}

const kubernetes = "../../deploy/kubernetes/"

func TestManifestsFitEachOther(t *testing.T) {
	pods := decoded[deploymentFile](t, kubernetes+"deployment.yaml")
	service := decoded[serviceFile](t, kubernetes+"service.yaml")
	scaler := decoded[autoscalerFile](t, kubernetes+"autoscaler.yaml")
	disruption := decoded[disruptionFile](t, kubernetes+"disruption.yaml")
	monitor := decoded[monitorFile](t, kubernetes+"monitor.example.yaml")
	secret := decoded[secretFile](t, kubernetes+"secret.example.yaml")
	kustomization := decoded[kustomizationFile](t, kubernetes+"kustomization.yaml")

	var applied []string
	for path := range deployed(t) {
		name, manifest := strings.CutPrefix(path, kubernetes)
		if manifest && name != "kustomization.yaml" && !strings.HasSuffix(name, ".example.yaml") {
			applied = append(applied, name)
		}
	}
	slices.Sort(applied)
	slices.Sort(kustomization.Resources)

	pod := pods.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.Volumes) != 1 || len(kustomization.Images) != 1 {
		t.Fatalf("got %d containers, %d volumes and %d images, want one of each", len(pod.Containers), len(pod.Volumes), len(kustomization.Images))
	}
	server := pod.Containers[0]
	env, keys := map[string]string{}, map[string]secretKey{}
	for _, e := range server.Env {
		if _, twice := env[e.Name]; twice {
			t.Errorf("%s is given twice", e.Name)
		}
		env[e.Name] = e.Value
		if e.ValueFrom.SecretKeyRef.Name != "" {
			keys[e.Name] = e.ValueFrom.SecretKeyRef
			env[e.Name] = secret.StringData[e.ValueFrom.SecretKeyRef.Key]
		}
	}
	c := inImage(t, env)
	var port int
	if _, err := fmt.Sscanf(c.Addr, "0.0.0.0:%d", &port); err != nil {
		t.Fatalf("the server listens on %s, want all addresses", c.Addr)
	}
	const name = "http"
	ofServer := podSelector{pods.Spec.Template.Metadata.Labels}
	grace := time.Duration(pod.TerminationGracePeriodSeconds-server.Lifecycle.PreStop.Sleep.Seconds) * time.Second
	var memory config.Bytes
	if err := memory.UnmarshalText([]byte(server.Resources.Requests.Memory + "B")); err != nil {
		t.Fatal(err)
	}

	agree(t, []agreement{
		{"deployment", pods.String(), "apps/v1 Deployment loci"},
		{"service", service.String(), "v1 Service loci"},
		{"autoscaler", scaler.String(), "autoscaling/v2 HorizontalPodAutoscaler loci"},
		{"disruption", disruption.String(), "policy/v1 PodDisruptionBudget loci"},
		{"monitor", monitor.String(), "monitoring.coreos.com/v1 PodMonitor loci"},
		{"secret", secret.String(), "v1 Secret loci"},
		{"kustomization", kustomization.String(), "kustomize.config.k8s.io/v1beta1 Kustomization "},

		{"what kustomize applies", kustomization.Resources, applied},
		{"manifests that this test reads", len(applied), 4},
		{"image that kustomize names", kustomization.Images[0].Name, server.Image},
		{"image that the guide names", sole(t, "../../deploy/README.md", `kustomize edit set image (\S+?)=`), server.Image},
		{"secret that the guide makes", sole(t, "../../deploy/README.md", `(generic \S+ --from-literal=store)=.* --from-literal=api-key=`), "generic " + secret.Metadata.Name + " --from-literal=store"},
		{"autoscaler's target", scaler.Spec.ScaleTargetRef, scaleTarget{pods.APIVersion, pods.Kind, pods.Metadata.Name}},
		{"deployment's pods", pods.Spec.Selector, ofServer},
		{"service's pods", podSelector{service.Spec.Selector}, ofServer},
		{"disruption's pods", disruption.Spec.Selector, ofServer},
		{"monitor's pods", monitor.Spec.Selector, ofServer},
		{"pods that are spread", pod.TopologySpreadConstraints, []podSpread{{1, "kubernetes.io/hostname", "ScheduleAnyway", ofServer}}},

		{"arguments", server.Args, serveArgs(t)},
		{"server's ports", server.Ports, []podPort{{name, port}}},
		{"service's ports", service.Spec.Ports, []servicePort{{name, port, name}}},
		{"mounts", server.VolumeMounts, []podMount{{pod.Volumes[0].Name, c.Data}}},
		{"server has time to stop", grace > toldToStop(t), true},
		{"server has memory for its indexes", memory > c.Index.Budget*111/100+40<<20, true}, // deploy/README.md says why
		{"pod's rights", pod.SecurityContext, podSecurity{RunAsNonRoot: true, RunAsUser: 65532, FSGroup: 65532, SeccompProfile: seccomp{"RuntimeDefault"}}},
		{"server's rights", server.SecurityContext, podSecurity{ReadOnlyRootFilesystem: true, AllowPrivilegeEscalation: new(bool), Capabilities: capabilities{[]string{"ALL"}}}},
		// A server lives without its database: to start it anew does not bring that back.
		{"startup", []string{server.StartupProbe.HTTPGet.Path, server.StartupProbe.HTTPGet.Port}, []string{"/health/live", name}},
		{"readiness", []string{server.ReadinessProbe.HTTPGet.Path, server.ReadinessProbe.HTTPGet.Port}, []string{"/health/ready", name}},
		{"liveness", []string{server.LivenessProbe.HTTPGet.Path, server.LivenessProbe.HTTPGet.Port}, []string{"/health/live", name}},

		{"what is given from the secret", keys, map[string]secretKey{
			"LOCI_STORE":        {secret.Metadata.Name, "store", false},
			"LOCI_API_KEY":      {secret.Metadata.Name, "api-key", false},
			"LOCI_UPSTREAM_KEY": {secret.Metadata.Name, "upstream-key", true},
		}},
		{"keys of the secret", slices.Sorted(maps.Keys(secret.StringData)), []string{"api-key", "store", "upstream-key"}},
		{"store", c.Store.Postgres(), true},
		{"users", c.Users, "multi"},
		{"monitored", monitor.Spec.PodMetricsEndpoints, []monitorEndpoint{
			{name, "/metrics", "30s", monitorKey{secretKey{secret.Metadata.Name, "api-key", false}}},
		}},
	})
}

// TestProbesNeedNoKey asks what the manifests let Kubernetes ask, by the host that
// they name, of a server that has a key and answers to one name alone.
func TestProbesNeedNoKey(t *testing.T) {
	server := decoded[deploymentFile](t, kubernetes+"deployment.yaml").Spec.Template.Spec.Containers[0]
	l := openWith(t, map[string]string{"api_key": "a-key-of-some-length", "hosts": "loci.example.com"})
	for _, p := range []podProbe{server.StartupProbe, server.ReadinessProbe, server.LivenessProbe} {
		r := httptest.NewRequest(http.MethodGet, p.HTTPGet.Path, nil)
		r.Host = "10.0.0.7:7077" // the pod's, unless a header says another
		for _, h := range p.HTTPGet.HTTPHeaders {
			if r.Header.Set(h.Name, h.Value); h.Name == "Host" {
				r.Host = h.Value
			}
		}
		w := httptest.NewRecorder()
		if l.Handler().ServeHTTP(w, r); w.Code >= 300 {
			t.Errorf("%s of %s: got %d %s, want it answered", p.HTTPGet.Path, r.Host, w.Code, w.Body)
		}
	}
}

// The files, as far as ours go. A field without a tag has its name in lower case.
type (
	composeFile struct {
		Name     string
		Services struct {
			Postgres struct {
				Image, Restart string
				Environment    map[string]string
				Volumes        []string
				Healthcheck    struct {
					Test              []string
					Interval, Timeout time.Duration
					Retries           int
				}
			}
			Loci struct {
				Build           struct{ Context, Dockerfile string }
				Deploy          struct{ Replicas int }
				Environment     map[string]string
				DependsOn       map[string]awaited `yaml:"depends_on"`
				StopGracePeriod time.Duration      `yaml:"stop_grace_period"`
				Restart         string
			}
			Proxy struct {
				Image, Restart string
				Command, Ports []string
				DependsOn      []string `yaml:"depends_on"`
			}
		}
		Volumes map[string]struct{}
	}
	awaited struct{ Condition string }
)

type (
	// ManifestHead is what every manifest begins with.
	ManifestHead struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct {
			Name   string
			Labels podLabels
		}
	}
	podLabels   map[string]string
	podSelector struct {
		MatchLabels podLabels `yaml:"matchLabels"`
	}

	deploymentFile struct {
		ManifestHead `yaml:",inline"`
		Spec         struct {
			Replicas int
			Selector podSelector
			Strategy struct {
				RollingUpdate struct {
					MaxSurge       int `yaml:"maxSurge"`
					MaxUnavailable int `yaml:"maxUnavailable"`
				} `yaml:"rollingUpdate"`
			}
			Template struct {
				Metadata struct{ Labels podLabels }
				Spec     struct {
					AutomountServiceAccountToken  bool        `yaml:"automountServiceAccountToken"`
					TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
					SecurityContext               podSecurity `yaml:"securityContext"`
					TopologySpreadConstraints     []podSpread `yaml:"topologySpreadConstraints"`
					Containers                    []podContainer
					Volumes                       []struct {
						Name     string
						EmptyDir struct {
							SizeLimit string `yaml:"sizeLimit"`
						} `yaml:"emptyDir"`
					}
				}
			}
		}
	}
	podSecurity struct {
		RunAsNonRoot             bool    `yaml:"runAsNonRoot"`
		RunAsUser                int     `yaml:"runAsUser"`
		FSGroup                  int     `yaml:"fsGroup"`
		SeccompProfile           seccomp `yaml:"seccompProfile"`
		AllowPrivilegeEscalation *bool   `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool    `yaml:"readOnlyRootFilesystem"`
		Capabilities             capabilities
	}
	seccomp      struct{ Type string }
	capabilities struct{ Drop []string }
	podSpread    struct {
		MaxSkew           int         `yaml:"maxSkew"`
		TopologyKey       string      `yaml:"topologyKey"`
		WhenUnsatisfiable string      `yaml:"whenUnsatisfiable"`
		LabelSelector     podSelector `yaml:"labelSelector"`
	}
	podContainer struct {
		Name, Image string
		Args        []string
		Ports       []podPort
		Env         []struct {
			Name, Value string
			ValueFrom   struct {
				SecretKeyRef secretKey `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		StartupProbe   podProbe `yaml:"startupProbe"`
		ReadinessProbe podProbe `yaml:"readinessProbe"`
		LivenessProbe  podProbe `yaml:"livenessProbe"`
		Lifecycle      struct {
			PreStop struct {
				Sleep struct{ Seconds int }
			} `yaml:"preStop"`
		}
		Resources       struct{ Requests, Limits struct{ CPU, Memory string } }
		SecurityContext podSecurity `yaml:"securityContext"`
		VolumeMounts    []podMount  `yaml:"volumeMounts"`
	}
	podPort struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	podMount struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	}
	secretKey struct {
		Name, Key string
		Optional  bool
	}
	podProbe struct {
		HTTPGet struct {
			Path, Port  string
			HTTPHeaders []struct{ Name, Value string } `yaml:"httpHeaders"`
		} `yaml:"httpGet"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		TimeoutSeconds   int `yaml:"timeoutSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	}

	serviceFile struct {
		ManifestHead `yaml:",inline"`
		Spec         struct {
			Selector podLabels
			Ports    []servicePort
		}
	}
	servicePort struct {
		Name       string
		Port       int
		TargetPort string `yaml:"targetPort"`
	}

	autoscalerFile struct {
		ManifestHead `yaml:",inline"`
		Spec         struct {
			ScaleTargetRef scaleTarget `yaml:"scaleTargetRef"`
			MinReplicas    int         `yaml:"minReplicas"`
			MaxReplicas    int         `yaml:"maxReplicas"`
			Metrics        []struct {
				Type     string
				Resource struct {
					Name   string
					Target struct {
						Type               string
						AverageUtilization int `yaml:"averageUtilization"`
					}
				}
			}
			Behavior struct {
				ScaleDown struct {
					StabilizationWindowSeconds int `yaml:"stabilizationWindowSeconds"`
				} `yaml:"scaleDown"`
			}
		}
	}
	scaleTarget struct {
		APIVersion string `yaml:"apiVersion"`
		Kind, Name string
	}

	disruptionFile struct {
		ManifestHead `yaml:",inline"`
		Spec         struct {
			MaxUnavailable int `yaml:"maxUnavailable"`
			Selector       podSelector
		}
	}

	monitorFile struct {
		ManifestHead `yaml:",inline"`
		Spec         struct {
			Selector            podSelector
			PodMetricsEndpoints []monitorEndpoint `yaml:"podMetricsEndpoints"`
		}
	}
	monitorEndpoint struct {
		Port, Path, Interval string
		Authorization        monitorKey
	}
	monitorKey struct{ Credentials secretKey }

	secretFile struct {
		ManifestHead `yaml:",inline"`
		Type         string
		StringData   map[string]string `yaml:"stringData"`
	}

	kustomizationFile struct {
		ManifestHead `yaml:",inline"`
		Resources    []string
		Images       []struct {
			Name    string
			NewName string `yaml:"newName"`
			NewTag  string `yaml:"newTag"`
		}
	}
)

func (h ManifestHead) String() string { return h.APIVersion + " " + h.Kind + " " + h.Metadata.Name }

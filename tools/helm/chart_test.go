package helm

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

const chart = "../../deploy/helm/loci"

// kubernetes is the version that the chart is rendered for; Helm built without its release flags assumes an old one.
const kubernetes = "--kube-version=1.34.0"

var (
	program = flag.String("helm", "../../tmp/helm", "Helm, as make chart builds it")
	update  = flag.Bool("update", false, "write testdata instead of comparing with it")
)

// strict refuses fields that the types of Kubernetes and of the Prometheus operator do not have.
var strict = func() runtime.Decoder {
	types := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(types))
	utilruntime.Must(monitoring.AddToScheme(types))
	return serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
}()

// helm runs Helm and returns what it printed.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), *program, args...)
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		cmd.Env = append(cmd.Environ(), name+"="+t.TempDir())
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// render returns the rendered files by the names of their templates.
func render(t *testing.T, values string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if out, err := helm(t, "template", "loci", chart, "--namespace", "memory", kubernetes, "--values", values, "--output-dir", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return files(t, filepath.Join(dir, "loci", "templates"))
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(path)] = string(text)
	}
	return found
}

// objects is what a release consists of.
type objects struct {
	deployment *apps.Deployment
	service    *core.Service
	account    *core.ServiceAccount
	autoscaler *autoscaling.HorizontalPodAutoscaler
	disruption *policy.PodDisruptionBudget
	network    *networking.NetworkPolicy
	ingress    *networking.Ingress
	monitor    *monitoring.ServiceMonitor
}

func decode(t *testing.T, rendered map[string]string) (o objects) {
	t.Helper()
	for name, text := range rendered {
		object, _, err := strict.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch object := object.(type) {
		case *apps.Deployment:
			o.deployment = object
		case *core.Service:
			o.service = object
		case *core.ServiceAccount:
			o.account = object
		case *autoscaling.HorizontalPodAutoscaler:
			o.autoscaler = object
		case *policy.PodDisruptionBudget:
			o.disruption = object
		case *networking.NetworkPolicy:
			o.network = object
		case *networking.Ingress:
			o.ingress = object
		case *monitoring.ServiceMonitor:
			o.monitor = object
		default:
			t.Fatalf("%s: unexpected %T", name, object)
		}
	}
	if o.deployment == nil || o.service == nil {
		t.Fatalf("got %q, want a deployment and a service", slices.Sorted(maps.Keys(rendered)))
	}
	return o
}

// TestChart lints the chart with each file of values, renders it, and compares the result with testdata,
// which tests of the main module read.
func TestChart(t *testing.T) {
	all, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil || len(all) != 3 {
		t.Fatalf("got %q, %v; want three files of values", all, err)
	}
	for _, values := range all {
		name := strings.TrimSuffix(filepath.Base(values), "-values.yaml")
		t.Run(name, func(t *testing.T) {
			if out, err := helm(t, "lint", "--strict", kubernetes, chart, "--values", values); err != nil {
				t.Fatalf("helm lint: %v\n%s", err, out)
			}
			rendered, dir := render(t, values), filepath.Join("testdata", name)
			if *update {
				write(t, dir, rendered)
			}
			golden := files(t, dir)
			for name := range maps.Keys(rendered) {
				if rendered[name] != golden[name] {
					t.Errorf("%s/%s differs from the chart's output (make chart UPDATE=-update):\n%s", dir, name, rendered[name])
				}
			}
			if len(golden) != len(rendered) {
				t.Errorf("%s has %d files, want the %d of the chart's output", dir, len(golden), len(rendered))
			}
			fits(t, decode(t, rendered))
		})
	}
}

func write(t *testing.T, dir string, rendered map[string]string) {
	t.Helper()
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	for name, text := range rendered {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fits checks that objects refer to each other by the right names, labels and ports.
func fits(t *testing.T, o objects) {
	t.Helper()
	pod := o.deployment.Spec.Template
	selects := func(what string, selector map[string]string, labels map[string]string) {
		t.Helper()
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("%s selects %v, which %v lacks", what, selector, labels)
			}
		}
		if len(selector) == 0 {
			t.Errorf("%s selects everything", what)
		}
	}
	selects("the deployment", o.deployment.Spec.Selector.MatchLabels, pod.Labels)
	selects("the service", o.service.Spec.Selector, pod.Labels)
	selects("the spread", pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels, pod.Labels)
	if server := pod.Spec.Containers[0]; server.Ports[0].Name != o.service.Spec.Ports[0].TargetPort.String() || o.service.Spec.Ports[0].Name != "http" {
		t.Errorf("the service's port %+v is not the server's %+v", o.service.Spec.Ports, server.Ports)
	}
	if (o.deployment.Spec.Replicas == nil) != (o.autoscaler != nil) {
		t.Error("want a fixed number of replicas where there is no autoscaler, and only there")
	}
	if scaler := o.autoscaler; scaler != nil && (scaler.Spec.ScaleTargetRef.Name != o.deployment.Name || scaler.Spec.ScaleTargetRef.Kind != o.deployment.Kind || *scaler.Spec.MinReplicas > scaler.Spec.MaxReplicas) {
		t.Errorf("the autoscaler is %+v", scaler.Spec)
	}
	switch {
	case o.account == nil && pod.Spec.ServiceAccountName != "default":
		t.Errorf("the service account %s is missing", pod.Spec.ServiceAccountName)
	case o.account != nil && (pod.Spec.ServiceAccountName != o.account.Name || *o.account.AutomountServiceAccountToken):
		t.Errorf("pods have the service account %s, want %s without a token", pod.Spec.ServiceAccountName, o.account.Name)
	}
	if *pod.Spec.AutomountServiceAccountToken {
		t.Error("pods have a token")
	}
	if o.disruption != nil {
		selects("the disruption budget", o.disruption.Spec.Selector.MatchLabels, pod.Labels)
	}
	if o.network != nil {
		selects("the network policy", o.network.Spec.PodSelector.MatchLabels, pod.Labels)
		if o.network.Spec.Ingress[0].Ports[0].Port.String() != pod.Spec.Containers[0].Ports[0].Name {
			t.Errorf("the network policy opens %+v", o.network.Spec.Ingress[0].Ports)
		}
	}
	if o.ingress != nil {
		for _, rule := range o.ingress.Spec.Rules {
			if to := rule.HTTP.Paths[0].Backend.Service; to.Name != o.service.Name || to.Port.Name != o.service.Spec.Ports[0].Name || !slices.Contains(o.ingress.Spec.TLS[0].Hosts, rule.Host) {
				t.Errorf("the ingress sends %s to %+v", rule.Host, to)
			}
		}
	}
	if o.monitor != nil {
		selects("the monitor", o.monitor.Spec.Selector.MatchLabels, o.service.Labels)
		if o.monitor.Spec.Endpoints[0].Port != o.service.Spec.Ports[0].Name {
			t.Errorf("the monitor asks port %s", o.monitor.Spec.Endpoints[0].Port)
		}
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	const values = chart + "/ci/default-values.yaml"
	for set, want := range map[string]string{
		"existingSecret=":       "existingSecret",
		"image.repository=":     "image.repository",
		"replica=2":             "replica",
		"settings.store=sqlite": "store",
		"settings.drain=30":     "drain",
		"ingress.enabled=true":  "ingress.hosts",
		"serviceMonitor.enabled=true,settings.hosts=loci.example.com": "settings.hosts",
	} {
		if out, err := helm(t, "template", "loci", chart, kubernetes, "--values", values, "--set", set); err == nil || !strings.Contains(out, want) {
			t.Errorf("--set %s: got %v\n%s\nwant an error about %s", set, err, out, want)
		}
	}
}

// TestUnknownFieldsAreRefused checks that decoding would find a misspelled field.
func TestUnknownFieldsAreRefused(t *testing.T) {
	text := []byte(render(t, chart+"/ci/default-values.yaml")["deployment.yaml"])
	wrong := bytes.Replace(text, []byte("readOnlyRootFilesystem"), []byte("readOnlyRootFileSystem"), 1)
	if bytes.Equal(text, wrong) {
		t.Fatal("nothing to misspell")
	}
	if _, _, err := strict.Decode(wrong, nil, nil); err == nil || !strings.Contains(err.Error(), "readOnlyRootFileSystem") {
		t.Errorf("got %v, want an error about the field", err)
	}
}

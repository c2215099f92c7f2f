package config

import (
	"slices"
	"strings"
	"testing"
)

func TestTheNearestSettingsAreNamed(t *testing.T) {
	for typed, want := range map[string]string{
		"top_k":        "recall.top_k",
		"recal.top_k":  "recall.top_k",
		"recall.topk":  "recall.top_k",
		"upstream.ulr": "upstream.url",
		"upstream":     "upstream.url",
		"embeder":      "embedder",
		"port":         "addr",
		"api-key":      "api_key",
		"users.single": "users",
		"log":          "log.level",
		"budget":       "recall.budget",
	} {
		if got := suggestKeys(typed); len(got) > maxSuggestions || !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %s among a few", typed, got, want)
		}
	}
	for _, typed := range []string{"zzz", "", "...", "x.y.z", "ключ"} {
		if got := suggestKeys(typed); len(got) > 0 {
			t.Errorf("%s: %q, want none", typed, got)
		}
	}
}

func TestAnUnknownSettingIsToldInOneShortLine(t *testing.T) {
	for _, s := range []Sources{
		{Flags: map[string]string{"recal.top_k": "3"}}, {Env: []string{"LOCI_RECAL_TOP_K=3"}}, {Flags: map[string]string{"zzz": "3"}},
	} {
		_, err := Load(s)
		if err == nil {
			t.Fatalf("%+v is taken", s)
		}
		if told := err.Error(); len(told) > 200 || strings.Contains(told, "\n") || !strings.Contains(told, "loci settings") {
			t.Errorf("%+v: %s", s, told)
		}
	}
	if _, err := Load(Sources{Env: []string{"LOCI_RECAL_TOP_K=3"}}); !strings.Contains(err.Error(), "LOCI_RECALL_TOP_K") {
		t.Errorf("a variable: %v, want that it names the variable", err)
	}
}

// TestOnlyNearMissesOfSettingsStopTheStart: Kubernetes tells every container of its namespace's
// services, also of one named loci, and other programs use the prefix too.
func TestOnlyNearMissesOfSettingsStopTheStart(t *testing.T) {
	others := []string{"LOCI_PORT=8080", "LOCI_PORT=tcp://10.0.0.1:80", "LOCI_SERVICE_PORT_HTTP=80", "LOCI_PORT_80_TCP=tcp://10.0.0.1:80", "LOCI_PORT_80_TCP_ADDR=10.0.0.1",
		"LOCI_SHARED=x", "LOCI_QA_KEY=x", "LOCI_TOP_K=5", "LOCI_=x", "LOCI_SERVICE=x"}
	for _, s := range settings() { // a service may have any of their words in its name
		word, _, _ := strings.Cut(strings.TrimPrefix(s.Env, "LOCI_"), "_")
		service := "LOCI_" + word
		others = append(others, service+"_PORT=tcp://10.0.0.1:80", service+"_SERVICE_HOST=10.0.0.1", service+"_SERVICE_PORT=80")
	}
	for _, pair := range others {
		name, _, _ := strings.Cut(pair, "=")
		if c, err := Load(Sources{Env: []string{pair}}); err != nil || !slices.Equal(c.UnknownEnv(), []string{name}) {
			t.Errorf("%s: unknown %q, %v; want it named", pair, c.UnknownEnv(), err)
		}
	}
	for _, pair := range []string{"LOCI_HOST=10.0.0.1", "LOCI_UPSTREAM_ULR=x", "LOCI_RECALL_TOPK=5", "LOCI_UPSTREAM=x", "LOCI_APIKEY=x", "LOCI_EMBEDER=lexical"} {
		if _, err := Load(Sources{Env: []string{pair}}); err == nil || !strings.Contains(err.Error(), "did you mean LOCI_") {
			t.Errorf("%s: %v, want the setting that is meant", pair, err)
		}
	}
	if c, err := Load(Sources{Env: []string{"LOCI_ADDR=127.0.0.1:1", "HOME=/x"}}); err != nil || len(c.UnknownEnv()) > 0 || c.Addr != "127.0.0.1:1" {
		t.Errorf("settings and other programs' variables: unknown %q, %v", c.UnknownEnv(), err)
	}
}

func TestSettingsAreShownWithoutSecrets(t *testing.T) {
	c, err := Load(Sources{Flags: map[string]string{"store": "postgres://ana:marzipan@localhost/loci", "api_key": "marzipan", "upstream.key": "marzipan",
		"learn.url": "http://ana:marzipan@localhost/v1", "embed.url": "http://localhost/v1?key=marzipan", "models_url": "https://ana:marzipan@localhost/hub?key=marzipan"},
		Env: []string{"LOCI_UPSTREAM_URL=http://ana:marzipan@localhost/v1?key=marzipan"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.ListSettings() {
		if strings.Contains(s.Value, "marzipan") {
			t.Errorf("%s shows %s", s.Key, s.Value)
		}
		if want := map[string]string{"store": "flag", "upstream.url": "environment"}[s.Key]; want != "" && s.From != want {
			t.Errorf("%s is from %s, want %s", s.Key, s.From, want)
		}
	}
}

// TestASecretInAURLIsNotToldWithWhatIsWrongWithIt: it would stand in the log.
func TestASecretInAURLIsNotToldWithWhatIsWrongWithIt(t *testing.T) {
	for _, base := range []string{"ftp://ana:marzipan@localhost/v1", "http://ana:marzipan@localhost", "http://localhost?key=marzipan"} {
		_, err := Load(Sources{Flags: map[string]string{"upstream.url": base}})
		if err == nil || !strings.Contains(err.Error(), "localhost") || strings.Contains(err.Error(), "marzipan") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

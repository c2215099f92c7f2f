package config

import (
	"path/filepath"
	"testing"
)

func TestModelsAreInTheDataFolderUnlessSet(t *testing.T) {
	for _, c := range []struct {
		settings map[string]string
		want     string
	}{
		{map[string]string{"data": "here"}, filepath.Join("here", "models")},
		{map[string]string{"data": "here", "models_dir": "far"}, "far"},
	} {
		settings, err := Load(Sources{Flags: c.settings})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := settings.ModelsFolder(); err != nil || got != c.want {
			t.Errorf("%v: %s, %v; want %s", c.settings, got, err, c.want)
		}
	}
}

func TestWhatIsRemoteHasMoreTime(t *testing.T) {
	for _, c := range []struct {
		settings map[string]string
		want     string
	}{
		{map[string]string{}, "150ms"},
		{map[string]string{"embedder": "remote:m", "embed.url": "http://localhost:1/v1"}, "400ms"},
		{map[string]string{"reranker": "remote:m", "embed.url": "http://localhost:1/v1"}, "400ms"},
		{map[string]string{"store": "postgres://localhost/loci"}, "400ms"},
		{map[string]string{"embedder": "remote:m", "embed.url": "http://localhost:1/v1", "recall.deadline": "150ms"}, "150ms"},
	} {
		settings, err := Load(Sources{Flags: c.settings})
		if err != nil {
			t.Fatal(err)
		}
		if got := settings.RecallDeadline().String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.settings, got, c.want)
		}
	}
}

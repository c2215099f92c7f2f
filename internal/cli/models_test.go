package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// onModels runs a command line on a folder of tiny models.
func onModels(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := newRootCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append(args, "--set", "models_dir="+dir))
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestModelsAreListedAsWhatTheyAre(t *testing.T) {
	const dir = "../model/transformer/testdata"
	got := try(onModels(t, dir, "models", "list", "--json", "--set", "reranker=local:cross")).orFail(t)
	var list struct{ Models []localModel }
	noError(t)(json.Unmarshal([]byte(got), &list))
	is := map[string]localModel{}
	for _, m := range list.Models {
		is[m.Name] = m
	}
	for name, want := range map[string]localModel{
		"cross":  {Kind: "reranker", InUse: true},
		"mean":   {Kind: "embedder", Dims: is["mean"].Dims},
		"static": {Kind: "embedder", Dims: is["static"].Dims},
	} {
		m := is[name]
		if m.Kind != want.Kind || m.InUse != want.InUse || (m.Dims > 0) != (want.Kind == "embedder") || m.Bytes == 0 || m.Fingerprint == "" || m.Error != "" {
			t.Errorf("%s: %+v, want kind %s, in use: %v", name, m, want.Kind, want.InUse)
		}
	}
	if got, err := onModels(t, dir, "models", "verify", "cross"); err != nil || !strings.Contains(got, "a reranker") {
		t.Errorf("verify: %q, %v", got, err)
	}
}

func TestAModelInUseIsNotRemoved(t *testing.T) {
	dir := t.TempDir()
	noError(t)(os.CopyFS(filepath.Join(dir, "cross"), os.DirFS("../model/transformer/testdata/cross")))
	if got, err := onModels(t, dir, "models", "remove", "cross", "--set", "reranker=local:cross"); !errors.Is(err, memory.Conflict) {
		t.Errorf("in use: %q, %v; want a conflict", got, err)
	}
	if got, err := onModels(t, dir, "models", "remove", "cross"); err != nil || got != "removed cross\n" {
		t.Errorf("not in use: %q, %v", got, err)
	}
}

func TestReembedSaysHowItEnded(t *testing.T) {
	for name, c := range map[string]struct {
		first, then client.Vectors
		args        []string
		want        string
	}{
		"nothing to do": {client.Vectors{Model: "m", Memories: 5}, client.Vectors{}, nil, "nothing to do: all 5 memories have a vector of model m\n"},
		"dry":           {client.Vectors{Model: "m", Memories: 5, Lacking: 3}, client.Vectors{}, []string{"--dry-run"}, "3 of 5 memories have no vector of model m; to compute them: loci reembed\n"},
		"done":          {client.Vectors{Model: "m", Memories: 5, Lacking: 3, UnderWay: true}, client.Vectors{Model: "m", Memories: 5}, nil, "embedded 3 memories with m\n"},
		"waits":         {client.Vectors{Model: "m", Memories: 5, Lacking: 3, UnderWay: true}, client.Vectors{Model: "m", Memories: 5, Lacking: 2, UnderWay: true, Error: "away"}, nil, "embedded 1 memory with m; 2 wait: away\n"},
		"refused":       {client.Vectors{Model: "m", Memories: 5, Lacking: 3, UnderWay: true}, client.Vectors{Model: "m", Memories: 5, Lacking: 1}, nil, "embedded 2 memories with m; the model refuses 1, which only word search finds\n"},
	} {
		s := newStandIn(t, map[string]any{"POST /api/reembed": c.first, "GET /api/reembed": c.then})
		got, err := s.loci(t, append([]string{"reembed"}, c.args...)...)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestModelIsAddedFromALocalCopy(t *testing.T) {
	dir := t.TempDir()
	const copied = "../model/transformer/testdata/cross"
	if got, err := onModels(t, dir, "models", "add", copied, "--name", "second"); err != nil || !strings.Contains(got, "installed second: a reranker") {
		t.Errorf("add: %q, %v", got, err)
	}
	if got, err := onModels(t, dir, "models", "verify", "second"); err != nil || !strings.Contains(got, "complete, with the files added from cross") {
		t.Errorf("verify: %q, %v", got, err)
	}
	noError(t)(os.WriteFile(filepath.Join(dir, "second", "config.json"), []byte("{}"), 0o600))
	if got, err := onModels(t, dir, "models", "verify", "second"); err == nil {
		t.Errorf("verify of a changed model: %q", got)
	}
	broken := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		noError(t)(os.WriteFile(filepath.Join(broken, name), []byte("{}"), 0o600))
	}
	if got, err := onModels(t, dir, "models", "add", broken, "--name", "broken"); !errors.Is(err, memory.Invalid) {
		t.Errorf("add of a model that cannot be run: %q, %v", got, err)
	}
}

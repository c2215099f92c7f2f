package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/cli"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// TestMain lets this binary be the program that a load run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(cli.Main())
	}
	os.Exit(pgtest.Main(m))
}

// loadRun runs the command on very little, and returns its table and its rows.
func loadRun(t *testing.T, args ...string) (table string, rows []map[string]any) {
	t.Helper()
	jsonFile := filepath.Join(t.TempDir(), "rows.jsonl")
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"load", "--loci", os.Args[0], "--memories", "60", "--requests", "4", "--clients", "2", "--owners", "3", "--each", "5",
		"--json", jsonFile}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("load %v: %v\n%s", args, err, &out)
	}
	data, err := os.ReadFile(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		row := map[string]any{}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("row %q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return out.String(), rows
}

func TestLoadMeasuresEveryPart(t *testing.T) {
	t.Setenv("LOCI_NO_SUCH_SETTING", "would stop the server")
	table, rows := loadRun(t)
	measured := map[string]int{}
	for _, r := range rows {
		subject, _, _ := strings.Cut(r["subject"].(string), ",")
		measured[subject]++
		name := r["name"].(string)
		if !strings.Contains(table, name) {
			t.Errorf("the table has no row %q", name)
		}
		if strings.Contains(name, "added by") {
			continue // a difference may be nothing
		}
		if r["n"] == nil && r["value"] == nil && r["note"] == nil {
			t.Errorf("row %v measures nothing", r)
		}
	}
	for _, part := range Parts {
		if measured[part] == 0 && part != "servers" { // which one has no use for
			t.Errorf("%s was not measured:\n%s", part, table)
		}
	}
}

// TestLoadMeasuresAServerBesideSQLite asks for parts that a database server has, one
// of them it alone, and for one that it has not.
func TestLoadMeasuresAServerBesideSQLite(t *testing.T) {
	_, rows := loadRun(t, "--store", pgtest.Schema(t), "--only", "start,bulk,disk,recall,add,servers,zipf")
	beside := map[string]int{}
	for _, r := range rows {
		subject := r["subject"].(string)
		if !strings.HasSuffix(r["name"].(string), ", PostgreSQL") {
			continue
		}
		beside[subject]++
		if subject == "servers" {
			if name := r["name"].(string); strings.Contains(name, "two servers") && r["ratio"] == nil || strings.Contains(name, "answers") && !strings.HasPrefix(r["note"].(string), "0 of") {
				t.Errorf("row %v is not compared with one server, or what was written at one was not found at once", r)
			}
			continue
		}
		if r["floor"] != "SQLite" || r["ratio"] == nil {
			t.Errorf("row %v is not compared with SQLite", r)
		}
	}
	if beside["start"] != 2 || beside["bulk"] != 1 || beside["recall"] != 4 || beside["add"] != 2 || beside["zipf"] < 5 || beside["servers"] != 7 || beside["disk"] != 0 {
		t.Errorf("got %v rows of the server", beside)
	}
}

func TestLoadMeasuresOnlyWhatIsAsked(t *testing.T) {
	_, rows := loadRun(t, "--only", "recall,add")
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for _, r := range rows {
		if s := r["subject"]; s != "recall" && s != "add" {
			t.Errorf("a row of %v", s)
		}
	}
}

func TestLoadHandsSettingsToTheServer(t *testing.T) {
	cmd := command()
	cmd.SetArgs([]string{"load", "--loci", os.Args[0], "--memories", "1", "--only", "bulk", "--set", "no.such.setting=1"})
	err := cmd.ExecuteContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no.such.setting") {
		t.Errorf("%v, want what the server said about the setting", err)
	}
}

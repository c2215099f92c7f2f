package sqlstore

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/obs"
)

func TestUpgradePageNamesTheSchemas(t *testing.T) {
	page, err := os.ReadFile("../../../docs/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	release, _, _ := strings.Cut(obs.Version(), "+")
	if row := fmt.Sprintf("\n| %s | %d | %d |\n", release, SQLiteSchema, postgresSchema); !strings.Contains(string(page), row) {
		t.Errorf("docs/upgrade.md has no row %q", row)
	}
}

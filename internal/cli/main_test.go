package cli

import (
	"os"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

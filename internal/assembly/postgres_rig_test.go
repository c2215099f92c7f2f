package assembly

import (
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// oneServer is Loci at work on PostgreSQL.
type oneServer struct {
	*Loci
	t    *testing.T
	url  string
	stop func() // waits for what goes on behind the chats
}

// startServer starts Loci with a database and a data folder, and what is to be set
// besides: keys, each followed by its value. It is stopped at the end of the test.
func startServer(t *testing.T, address, data string, set ...string) *oneServer {
	t.Helper()
	flags := map[string]string{"store": pgtest.WithParameter(address, "pool_max_conns", "8"), "data": data, "log.level": "error"}
	for i := 0; i+1 < len(set); i += 2 {
		flags[set[i]] = set[i+1]
	}
	config := try(config.Load(config.Sources{Flags: flags})).orFail(t)
	l := try(Open(t.Context(), config, Options{})).orFail(t)
	server := httptest.NewServer(l.Handler())
	s := &oneServer{Loci: l, t: t, url: server.URL, stop: sync.OnceFunc(func() {
		server.Close()
		noError(t)(l.Close())
	})}
	t.Cleanup(s.stop)
	return s
}

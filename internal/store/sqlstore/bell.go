package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
)

// bell tells other stores on a server that there is work. It is a courtesy, so that
// theirs need not wait until they look by themselves, and may be lost.
type bell struct {
	db      *sql.DB
	config  *pgx.ConnConfig
	channel string // of this database
	name    string // of this store, who knows already
	rung    chan struct{}
	stop    context.CancelFunc
	ended   chan struct{}
}

// bellRest is how long a store is quiet after it rang: each time, the server lets all
// who listen know, one transaction after the other.
const bellRest = 50 * time.Millisecond

func startBell(db *sql.DB, config *pgx.ConnConfig, database string) *bell {
	ctx, stop := context.WithCancel(context.Background())
	b := &bell{
		db: db, config: config, channel: "loci_" + database, name: rand.Text(),
		rung: make(chan struct{}, 1), stop: stop, ended: make(chan struct{}),
	}
	go b.run(ctx)
	return b
}

// ring has the others told soon.
func (b *bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default: // they will be
	}
}

func (b *bell) run(ctx context.Context) {
	defer close(b.ended)
	for {
		select {
		case <-b.rung:
		case <-ctx.Done():
			return
		}
		_, _ = b.db.ExecContext(ctx, `SELECT pg_notify($1, $2)`, b.channel, b.name)
		if !rest(ctx, bellRest) {
			return
		}
	}
}

func (b *bell) close() { b.stop(); <-b.ended }

// Listen calls wake whenever another store on the same server queued a job, and when
// it may have missed that, until ctx ends. With SQLite there is no other store.
func (s *Store) Listen(ctx context.Context, wake func()) {
	p, ok := s.commits.(*server)
	if !ok {
		return
	}
	for {
		p.bell.listen(ctx, wake)
		if !rest(ctx, time.Second) { // the connection broke
			return
		}
	}
}

// listen has a connection of its own.
func (b *bell) listen(ctx context.Context, wake func()) {
	conn, err := pgx.ConnectConfig(ctx, b.config)
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it was of use already
	if _, err := conn.Exec(ctx, `LISTEN "`+b.channel+`"`); err != nil {
		return
	}
	wake()
	for {
		said, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if said.Payload != b.name {
			wake()
		}
	}
}

// rest waits; false when ctx ends.
func rest(ctx context.Context, long time.Duration) bool {
	select {
	case <-time.After(long):
		return true
	case <-ctx.Done():
		return false
	}
}

package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// notifier notifies other stores on the same server of new jobs and erasures, before their next poll.
// A notification may be lost. Its payload is the sending store's name and, after an erasure, a space
// and the owner.
type notifier struct {
	db      *sql.DB
	config  *pgx.ConnConfig
	channel string // PostgreSQL channel, equal for all stores on this database
	name    string // random name of this store, which ignores its own notifications
	rung    chan struct{}
	stop    context.CancelFunc
	ended   chan struct{}

	mu     sync.Mutex
	erased []func(memory.Owner) // guarded by mu; called after an erasure by another store
}

// minNotifyInterval limits the rate of notifications, which PostgreSQL delivers serially.
const notifyRest = 50 * time.Millisecond

func startNotifier(db *sql.DB, config *pgx.ConnConfig, database string) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	b := &notifier{
		db: db, config: config, channel: "loci_" + database, name: rand.Text(),
		rung: make(chan struct{}, 1), stop: stop, ended: make(chan struct{}),
	}
	go b.run(ctx)
	return b
}

// notifyQuery is the statement that notifies other stores.
const notifyOthers = `SELECT pg_notify(?1, ?2)`

// erasureStatement returns the statement that notifies other stores of an erasure. PostgreSQL sends the
// notification after the commit.
func (b *notifier) ofErasure(owner memory.Owner) ask {
	return say(notifyOthers, b.channel, b.name+" "+string(owner))
}

// notifySoon makes the notifier's goroutine notify other stores of a new job.
func (b *notifier) ring() {
	select {
	case b.rung <- struct{}{}:
	default: // a notification is pending already
	}
}

func (b *notifier) run(ctx context.Context) {
	defer close(b.ended)
	for {
		select {
		case <-b.rung:
		case <-ctx.Done():
			return
		}
		_, _ = b.db.ExecContext(ctx, translate(notifyOthers), b.channel, b.name)
		if retry.Pause(ctx, notifyRest) != nil {
			return
		}
	}
}

func (b *notifier) close() { b.stop(); <-b.ended }

// Listen calls wake, until ctx ends, when another store on the same server has queued a job, and
// when a notification may be lost. With SQLite it returns at once, since there is no other store.
func (s *Store) Listen(ctx context.Context, wake func()) {
	p, ok := s.commits.(*server)
	if !ok {
		return
	}
	for {
		p.notifier.listen(ctx, wake)
		if retry.Pause(ctx, time.Second) != nil { // the connection broke
			return
		}
	}
}

// listen calls wake and the erase listeners for notifications, until its own connection fails.
func (b *notifier) listen(ctx context.Context, wake func()) {
	conn, err := pgx.ConnectConfig(ctx, b.config)
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the connection's errors no longer matter
	if _, err := conn.Exec(ctx, `LISTEN "`+b.channel+`"`); err != nil {
		return
	}
	wake()
	b.tell("")
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		name, owner, erased := strings.Cut(notice.Payload, " ")
		switch {
		case name == b.name:
		case erased:
			b.tell(memory.Owner(owner))
		default:
			wake()
		}
	}
}

// OnErase adds a listener, which is called with the owner after an erasure by another store, and with
// "" when [Store.Listen] may have missed an erasure. With SQLite it does nothing.
func (s *Store) OnErase(tell func(memory.Owner)) {
	if p, ok := s.commits.(*server); ok {
		p.notifier.mu.Lock()
		defer p.notifier.mu.Unlock()
		p.notifier.erased = append(p.notifier.erased, tell)
	}
}

func (b *notifier) tell(owner memory.Owner) {
	b.mu.Lock()
	all := slices.Clone(b.erased)
	b.mu.Unlock()
	for _, tell := range all {
		tell(owner)
	}
}

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
	db        *sql.DB
	config    *pgx.ConnConfig
	channel   string        // PostgreSQL channel, equal for all stores on this database
	storeName string        // random name of this store, which ignores its own notifications
	pending   chan struct{} // contains a value if other stores must be notified
	cancel    context.CancelFunc
	done      chan struct{} // closed when the goroutine has ended

	mu             sync.Mutex
	eraseListeners []func(memory.Owner) // guarded by mu; called after an erasure by another store
}

// minNotifyInterval limits the rate of notifications, which PostgreSQL delivers serially.
const minNotifyInterval = 50 * time.Millisecond

func startNotifier(db *sql.DB, config *pgx.ConnConfig, databaseID string) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	b := &notifier{
		db: db, config: config, channel: "loci_" + databaseID, storeName: rand.Text(),
		pending: make(chan struct{}, 1), cancel: stop, done: make(chan struct{}),
	}
	go b.run(ctx)
	return b
}

// notifyQuery is the statement that notifies other stores.
const notifyQuery = `SELECT pg_notify(?1, ?2)`

// erasureStatement returns the statement that notifies other stores of an erasure. PostgreSQL sends the
// notification after the commit.
func (b *notifier) erasureStatement(owner memory.Owner) statement {
	return newExecStatement(notifyQuery, b.channel, b.storeName+" "+string(owner))
}

// notifySoon makes the notifier's goroutine notify other stores of a new job.
func (b *notifier) notifySoon() {
	select {
	case b.pending <- struct{}{}:
	default: // a notification is pending already
	}
}

func (b *notifier) run(ctx context.Context) {
	defer close(b.done)
	for {
		select {
		case <-b.pending:
		case <-ctx.Done():
			return
		}
		_, _ = b.db.ExecContext(ctx, translate(notifyQuery), b.channel, b.storeName)
		if retry.Sleep(ctx, minNotifyInterval) != nil {
			return
		}
	}
}

func (b *notifier) close() { b.cancel(); <-b.done }

// Listen calls wake when another store on the same server has queued a job, and when a notification may
// have been lost, until ctx ends. With SQLite it returns at once, since there is no other store.
func (s *Store) Listen(ctx context.Context, wake func()) {
	p, ok := s.committer.(*server)
	if !ok {
		return
	}
	for {
		p.notifier.listen(ctx, wake)
		if retry.Sleep(ctx, time.Second) != nil { // the connection broke
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
	b.callEraseListeners("")
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		name, owner, erased := strings.Cut(notice.Payload, " ")
		switch {
		case name == b.storeName:
		case erased:
			b.callEraseListeners(memory.Owner(owner))
		default:
			wake()
		}
	}
}

// OnErase adds a listener, which is called with the owner after an erasure by another store, and with
// "" when [Store.Listen] may have missed an erasure. With SQLite it does nothing.
func (s *Store) OnErase(listener func(memory.Owner)) {
	if p, ok := s.committer.(*server); ok {
		p.notifier.mu.Lock()
		defer p.notifier.mu.Unlock()
		p.notifier.eraseListeners = append(p.notifier.eraseListeners, listener)
	}
}

func (b *notifier) callEraseListeners(owner memory.Owner) {
	b.mu.Lock()
	listeners := slices.Clone(b.eraseListeners)
	b.mu.Unlock()
	for _, listener := range listeners {
		listener(owner)
	}
}

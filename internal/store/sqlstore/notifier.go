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

// notifier tells other stores on a server that there is work, and of whom something was erased.
// It is a courtesy, so that theirs need not wait until they look by themselves, and may be
// lost. What it says is the name of the store that says it and, after an erasure, a space
// and the owner.
type notifier struct {
	db      *sql.DB
	config  *pgx.ConnConfig
	channel string // of this database
	name    string // of this store, who knows already
	rung    chan struct{}
	stop    context.CancelFunc
	ended   chan struct{}

	mu     sync.Mutex
	erased []func(memory.Owner) // guarded by mu: who wants to know
}

// notifyRest is how long a store is quiet after it rang: each time, the server lets all
// who listen know, one transaction after the other.
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

// notifyOthers is the statement that tells the others.
const notifyOthers = `SELECT pg_notify(?1, ?2)`

// ofErasure tells the others of whom something was erased: as part of the transaction that
// does so they are told once it is committed.
func (b *notifier) ofErasure(owner memory.Owner) ask {
	return say(notifyOthers, b.channel, b.name+" "+string(owner))
}

// ring has the others told soon.
func (b *notifier) ring() {
	select {
	case b.rung <- struct{}{}:
	default: // they will be
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

// Listen calls wake whenever another store on the same server queued a job, and when
// it may have missed that, until ctx ends. With SQLite there is no other store.
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

// listen has a connection of its own.
func (b *notifier) listen(ctx context.Context, wake func()) {
	conn, err := pgx.ConnectConfig(ctx, b.config)
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it was of use already
	if _, err := conn.Exec(ctx, `LISTEN "`+b.channel+`"`); err != nil {
		return
	}
	wake()
	b.tell("")
	for {
		said, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		name, owner, erased := strings.Cut(said.Payload, " ")
		switch {
		case name == b.name:
		case erased:
			b.tell(memory.Owner(owner))
		default:
			wake()
		}
	}
}

// OnErase has tell called with each owner of whom another store on the same server erased
// something, and with none when [Store.Listen] may have missed that, while it listens,
// beside what was given here before. With SQLite there is no other store.
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

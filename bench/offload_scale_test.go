package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestOffloadAtScale measures users who have very much, made-up talk with vectors of the
// built-in embedder: how long the database takes to index the vectors and what they take on
// its disk, how long a search takes and what the index takes in memory, with vectors and
// without, and how many of the ten best are the same:
//
//	LOCI_OFFLOAD_MEMORIES=100000,1000000 go -C bench test -run OffloadAtScale -v -timeout 4h
func TestOffloadAtScale(t *testing.T) {
	sizes := os.Getenv("LOCI_OFFLOAD_MEMORIES")
	if sizes == "" {
		t.Skip("measures for very long; LOCI_OFFLOAD_MEMORIES says how many memories, with commas")
	}
	pgtest.Settings = "-c shared_buffers=3GB -c maintenance_work_mem=3GB -c effective_cache_size=8GB -c max_wal_size=8GB -c checkpoint_timeout=30min"
	address := pgtest.Vector(t, true)
	s, err := sqlstore.OpenPostgres(t.Context(), address, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i, size := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			t.Fatalf("LOCI_OFFLOAD_MEMORIES has %q, want numbers", size)
		}
		u := &scale{T: t, store: s, owner: memory.User("default", size), talk: talk.New(uint64(i + 2))}
		u.timed(fmt.Sprintf("%d turns written", n), func() { u.fill(n) })
		u.timed("the index of vectors made", u.index)
		db := pgtest.Open(t, address)
		for _, of := range []string{"turns", "vectors"} {
			u.size(db.QueryRow(`SELECT pg_table_size(to_regclass($1)), pg_indexes_size(to_regclass($1))`, of), of+" and its indexes, all users")
		}
		u.compare(200)
		u.timed(fmt.Sprintf("%d turns more, with the index", bulkSize), func() { u.fill(bulkSize) })
	}
}

// TestOffloadFindsWhatTheIndexFindsInMuchTalk asks by an HNSW index of many vectors.
func TestOffloadFindsWhatTheIndexFindsInMuchTalk(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.Vector(t, true), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	u := &scale{T: t, store: s, owner: memtest.Ana, talk: talk.New(3)}
	u.fill(10_000)
	u.index()
	if share := u.compare(100); share < 0.99 {
		t.Errorf("got %.3f of the ten best, want 0.99 or more", share)
	}
}

// scale is one user on the way.
type scale struct {
	*testing.T
	store *sqlstore.Store
	model embed.Lexical
	owner memory.Owner
	talk  *talk.Talk
	said  []string
}

func (u *scale) timed(what string, do func()) {
	u.Helper()
	began := time.Now()
	do()
	u.Logf("%s: %v", what, time.Since(began).Round(time.Second/10))
}

func (u *scale) size(row interface{ Scan(...any) error }, what string) {
	u.Helper()
	var table, indexes float64
	if err := row.Scan(&table, &indexes); err != nil {
		u.Fatalf("how large is %s: %v", what, err)
	}
	u.Logf("%s: %.0f and %.0f MiB", what, table/mib, indexes/mib)
}

// fill writes so many turns, in conversations of bulkSize.
func (u *scale) fill(n int) {
	u.said = u.talk.Sentences(n)
	group, ctx := errgroup.WithContext(u.Context())
	group.SetLimit(4)
	for at := 0; at < n; at += bulkSize {
		group.Go(func() error {
			said := u.said[at:min(at+bulkSize, n)]
			b := memtest.Batch(u.owner, fmt.Sprint("talk ", n, " ", at), 0, said...)
			v, err := u.model.Embed(ctx, memory.AsDocument, said...)
			if err != nil {
				return err
			}
			for i := range b.Turns {
				b.Turns[i].CreatedAt = memtest.Epoch.Add(time.Duration(at+i) * time.Minute)
				b.Vectors = append(b.Vectors, memory.Vector{Memory: b.Turns[i].ID, Model: u.model.Fingerprint(), Values: v[i]})
			}
			_, err = u.store.Append(ctx, u.owner, b)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		u.Fatal(err)
	}
}

func (u *scale) index() {
	if err := u.store.IndexVectors(u.Context(), u.owner, u.model.Fingerprint()); err != nil {
		u.Fatal(err)
	}
}

// compare asks the same of the resident index and of the database, in turns, and returns
// how many of the ten best are the same.
func (u *scale) compare(questions int) (share float64) {
	options := index.Options{Model: u.model.Fingerprint(), Budget: 8 << 30}
	exact := index.New(u.store, options)
	offload := retrieve.NewOffload(u.store, options, u.store, retrieve.OffloadOptions{Log: slog.New(slog.DiscardHandler)})
	defer func() { _, _ = offload.Close(), exact.Close() }()
	ask := func(by memory.Searcher, text string) (best []string, took time.Duration) {
		v, err := u.model.Embed(u.Context(), memory.AsQuestion, text)
		if err != nil {
			u.Fatal(err)
		}
		began := time.Now()
		found, err := by.Search(u.Context(), memory.Search{Scopes: []memory.Scope{{Owner: u.owner}}, Text: text, Vector: v[0], Now: memtest.Epoch, Limit: 200})
		took = time.Since(began)
		if err != nil {
			u.Fatal(err)
		}
		for _, c := range found[:min(10, len(found))] {
			best = append(best, c.ID)
		}
		return best, took
	}
	for i := range 10 { // the first loads the index, or fetches pages
		text := u.talk.Question(u.said)
		_, index := ask(exact, text)
		_, database := ask(offload, text)
		if i == 0 {
			u.Logf("first question: index %v, database %v", index.Round(time.Millisecond), database.Round(time.Millisecond))
		}
	}
	same, all := 0, 0
	var byIndex, byDatabase []time.Duration
	for range questions {
		text := u.talk.Question(u.said)
		want, took := ask(exact, text)
		byIndex = append(byIndex, took)
		got, took := ask(offload, text)
		byDatabase = append(byDatabase, took)
		all += len(want)
		for _, id := range want {
			if slices.Contains(got, id) {
				same++
			}
		}
	}
	u.Logf("in memory: %d MiB with vectors, %d MiB without", exact.Size()/mib, offload.Size()/mib)
	u.Logf("index:    %v", rowOf(byIndex))
	u.Logf("database: %v", rowOf(byDatabase))
	share = float64(same) / float64(max(1, all))
	u.Logf("of the ten best %.3f are the same", share)
	return share
}

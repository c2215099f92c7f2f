package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// portionPages is how many pages are looked at before others may write, 16 MiB of them: some
// tenths of a second.
const portionPages = 4096

// wiper overwrites with zeros whatever the pages of the file do not use: free pages, and
// what was deleted or moved away between the rows of others. PRAGMA secure_delete alone would
// not do: rows that go to another page when one beside it is filled or emptied leave a copy
// where they were. All pages are read, and those written that had something. Their format is
// that of https://sqlite.org/fileformat2.html.
//
// VACUUM would do, but nobody else writes while it runs: 3 to 5 s in a file of 160 MB, 13 s
// in one of 485 MB, where a portion takes some tenths of a second.
//
// It goes through the file in portions, between which others may write: the free pages first,
// then tree after tree, each of them whole. While secure_delete is on, a page that becomes
// free is zeros, so that nothing gets from a tree that is to come into one that is done.
//
// Of a file that it does not understand it returns an error; the portion has changed nothing.
type wiper struct {
	most int // pages of a portion, but for its last tree

	done    map[uint32]bool // trees by their first page; 0 is the free pages
	seen    []bool          // by page; while nobody else writes each has one place
	changes int64           // the connection's count when the last portion ended
	others  bool            // somebody wrote in between

	// Of the portion under way.
	get, put    *sql.Stmt
	pages, size int // of the file, and bytes of a page
	usable      int // of these
	read, wrote int
}

// portion blanks some trees within the transaction of conn; more says that others are left.
func (b *wiper) portion(conn *sql.Conn) (more bool, err error) {
	ctx := context.Background()
	if b.get, err = conn.PrepareContext(ctx, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`); err != nil {
		return false, err
	}
	defer b.get.Close() //nolint:errcheck // it was of use already
	if b.put, err = conn.PrepareContext(ctx, `UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`); err != nil {
		return false, err
	}
	defer b.put.Close() //nolint:errcheck // it was of use already
	if err := b.begin(ctx, conn); err != nil {
		return false, err
	}
	roots, err := rootsOf(ctx, conn)
	if err != nil {
		return false, err
	}
	for _, root := range roots {
		if b.done[root] {
			continue
		}
		if b.read >= b.most {
			more = true
			break
		}
		if err := b.tree(root); err != nil {
			return false, fmt.Errorf("the tree at page %d: %w", root, err)
		}
		b.done[root] = true
	}
	if err := conn.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&b.changes); err != nil {
		return false, err
	}
	if !more {
		err = b.missed()
	}
	return more, err
}

// begin reads the file's header and, in the first portion, blanks the free pages.
func (b *wiper) begin(ctx context.Context, conn *sql.Conn) error {
	var changes int64
	if err := conn.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&changes); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&b.pages); err != nil {
		return err
	}
	b.read, b.wrote = 0, 0
	if b.done != nil && changes == b.changes {
		return nil
	}
	b.others = b.done != nil
	b.seen = make([]bool, b.pages+1)
	first, err := b.page(1)
	if err != nil {
		return err
	}
	b.seen[1] = false // it is a tree's as well
	b.size, b.usable = len(first), len(first)-int(first[atReserved])
	if b.usable < 480 || be32(first, atVacuumedRoot) != 0 {
		return errPage
	}
	if b.done != nil {
		return nil
	}
	b.done = map[uint32]bool{}
	return b.free(be32(first, atFreeList))
}

// missed is an error if there is a page that nothing led to, but for the one with the byte
// that SQLite locks.
func (b *wiper) missed() error {
	if b.others {
		return nil
	}
	for n := 1; n <= b.pages; n++ {
		if !b.seen[n] && n != lockedByte/b.size+1 {
			return fmt.Errorf("page %d, which is nowhere: %w", n, errPage)
		}
	}
	return nil
}

// rootsOf returns the first pages of the schema, the tables and the indexes.
func rootsOf(ctx context.Context, conn *sql.Conn) ([]uint32, error) {
	rows, err := conn.QueryContext(ctx, `SELECT rootpage FROM sqlite_schema WHERE rootpage > 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	roots := []uint32{1}
	for rows.Next() {
		var root uint32
		if err := rows.Scan(&root); err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return roots, rows.Err()
}

var errPage = errors.New("a page is not as expected")

// page reads a page. Each is read once.
func (b *wiper) page(n uint32) ([]byte, error) {
	if n == 0 || int(n) >= len(b.seen) || b.seen[n] {
		return nil, fmt.Errorf("page %d: %w", n, errPage)
	}
	b.seen[n] = true
	b.read++
	var data []byte
	if err := b.get.QueryRow(n).Scan(&data); err != nil {
		return nil, fmt.Errorf("read page %d: %w", n, err)
	}
	if len(data) < 512 || b.size > 0 && len(data) != b.size {
		return nil, fmt.Errorf("page %d: %w", n, errPage)
	}
	return data, nil
}

// stretch is the bytes of a page from one place to before another.
type stretch struct{ from, to int }

// keep writes a page with zeros outside of what it uses, if there is anything else.
func (b *wiper) keep(n uint32, data []byte, used ...stretch) error {
	slices.SortFunc(used, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	at, dirty := 0, false
	for _, u := range append(used, stretch{b.usable, b.usable}) {
		if u.from < at || u.to < u.from || u.to > b.usable {
			return fmt.Errorf("page %d: %w", n, errPage)
		}
		for i, c := range data[at:u.from] {
			if c != 0 {
				data[at+i], dirty = 0, true
			}
		}
		at = u.to
	}
	if !dirty {
		return nil
	}
	b.wrote++
	if _, err := b.put.Exec(data, n); err != nil {
		return fmt.Errorf("write page %d: %w", n, err)
	}
	return nil
}

// Where the header of the file says what of it is of interest here.
const (
	headerSize     = 100
	atReserved     = 20
	atFreeList     = 32
	atVacuumedRoot = 52
	lockedByte     = 1 << 30 // of the file
)

// free blanks the free pages, which stand in a chain of lists.
func (b *wiper) free(trunk uint32) error {
	for trunk != 0 {
		data, err := b.page(trunk)
		if err != nil {
			return err
		}
		leaves := int(be32(data, 4))
		if leaves > b.usable/4-2 {
			return errPage
		}
		for i := range leaves {
			n := be32(data, 8+4*i)
			leaf, err := b.page(n)
			if err == nil {
				err = b.keep(n, leaf)
			}
			if err != nil {
				return err
			}
		}
		if err := b.keep(trunk, data, stretch{0, 8 + 4*leaves}); err != nil {
			return err
		}
		trunk = be32(data, 0)
	}
	return nil
}

// The kinds of pages of trees.
const (
	indexInner, tableInner = 2, 5
	indexLeaf, tableLeaf   = 10, 13
)

// tree goes through a table or an index.
func (b *wiper) tree(root uint32) error {
	for left := []uint32{root}; len(left) > 0; {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		data, err := b.page(n)
		if err != nil {
			return err
		}
		children, err := b.node(n, data)
		if err != nil {
			return err
		}
		left = append(left, children...)
	}
	return nil
}

// node blanks a page of a tree and what its rows have in pages of their own, and returns the
// pages beneath.
func (b *wiper) node(n uint32, data []byte) (children []uint32, err error) {
	head, size := 0, 8
	if n == 1 {
		head = headerSize
	}
	kind := data[head]
	switch kind {
	case indexInner, tableInner:
		size = 12
		children = append(children, be32(data, head+8))
	case indexLeaf, tableLeaf:
	default:
		return nil, fmt.Errorf("page %d: %w", n, errPage)
	}
	cells := be16(data, head+3)
	pointers := head + size
	if pointers+2*cells > b.usable {
		return nil, fmt.Errorf("page %d: %w", n, errPage)
	}
	used := make([]stretch, 0, cells+2)
	used = append(used, stretch{0, pointers + 2*cells})
	for i := range cells {
		at := be16(data, pointers+2*i)
		c, err := b.cell(kind, data, at)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", n, err)
		}
		if c.child != 0 {
			children = append(children, c.child)
		}
		used = append(used, stretch{at, at + max(c.size, 4)})
		if err := b.chain(c.next, c.more); err != nil {
			return nil, err
		}
	}
	for at, before := be16(data, head+1), 0; at != 0; before, at = at, be16(data, at) { // what is free between cells
		if at <= before || at+4 > b.usable {
			return nil, fmt.Errorf("page %d: %w", n, errPage)
		}
		used = append(used, stretch{at, at + 4})
	}
	return children, b.keep(n, data, used...)
}

// cell is what a page of a tree has of a row.
type cell struct {
	size  int    // in bytes
	child uint32 // of an inner page
	next  uint32 // page with the rest, 0 without one
	more  int    // bytes of that
}

func (b *wiper) cell(kind byte, data []byte, at int) (c cell, err error) {
	if at < 8 || at+4 > b.usable {
		return c, errPage
	}
	end := at
	if kind == indexInner || kind == tableInner {
		c.child = be32(data, at)
		end += 4
	}
	payload, n := varint(data[end:b.usable])
	if end += n; kind == tableInner { // that was its key, and there is nothing else
		c.size = end - at
		return c, nil
	}
	most := (b.usable-12)*64/255 - 23
	if kind == tableLeaf {
		_, n := varint(data[end:b.usable])
		end += n
		most = b.usable - 35
	}
	local := payload
	if payload > uint64(most) { //nolint:gosec // it is small
		least := (b.usable-12)*32/255 - 23
		here := least + int((payload-uint64(least))%uint64(b.usable-4)) //nolint:gosec // less than a page
		if here > most {
			here = least
		}
		if end+here+4 > b.usable || payload > 1<<31 {
			return c, errPage
		}
		c.next, c.more = be32(data, end+here), int(payload)-here //nolint:gosec // see above
		local = uint64(here) + 4                                 //nolint:gosec // see above
	}
	if uint64(end)+local > uint64(b.usable) { //nolint:gosec // they are within a page
		return c, errPage
	}
	c.size = end + int(local) - at //nolint:gosec // see above
	return c, nil
}

// chain blanks what is behind the end of a row in pages of its own.
func (b *wiper) chain(n uint32, more int) error {
	for ; more > 0; more -= b.usable - 4 {
		data, err := b.page(n)
		if err != nil {
			return err
		}
		if more < b.usable-4 {
			return b.keep(n, data, stretch{0, 4 + more})
		}
		n = be32(data, 0)
	}
	return nil
}

func be16(b []byte, at int) int    { return int(binary.BigEndian.Uint16(b[at:])) }
func be32(b []byte, at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }

// varint reads a number as SQLite writes it: seven bits a byte, the highest first, and
// eight of the ninth. It returns how many bytes it had.
func varint(b []byte) (x uint64, n int) {
	for n < 8 && n < len(b) {
		c := b[n]
		n++
		if x = x<<7 | uint64(c&0x7f); c < 0x80 {
			return x, n
		}
	}
	if n < len(b) {
		x = x<<8 | uint64(b[n])
		n++
	}
	return x, n
}

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

// blank overwrites with zeros whatever the pages of the file do not use: free pages, and
// what was deleted or moved away between the rows of others. PRAGMA secure_delete would not
// do: rows that go to another page when one beside it is filled or emptied leave a copy where
// they were. All pages are read, and those written that had something. Their format is that
// of https://sqlite.org/fileformat2.html.
//
// Of a file that it does not understand it returns an error, and has changed nothing.
func (w *writer) blank() error {
	if err := w.each(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if _, err := blankPages(w.session.conn); err != nil {
		return errors.Join(err, w.each(`ROLLBACK`))
	}
	return w.each(`COMMIT`)
}

// blankPages does so within a transaction, and returns how many pages it wrote.
func blankPages(conn *sql.Conn) (wrote int, err error) {
	ctx := context.Background()
	var pages int
	if err := conn.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		return 0, err
	}
	b := blanker{seen: make([]bool, pages+1)}
	if b.get, err = conn.PrepareContext(ctx, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`); err != nil {
		return 0, err
	}
	defer b.get.Close()
	if b.put, err = conn.PrepareContext(ctx, `UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`); err != nil {
		return 0, err
	}
	defer b.put.Close()
	roots, err := rootsOf(ctx, conn)
	if err != nil {
		return 0, err
	}
	if err := b.file(); err != nil {
		return 0, err
	}
	for _, root := range roots {
		if err := b.tree(root); err != nil {
			return 0, fmt.Errorf("the tree at page %d: %w", root, err)
		}
	}
	return b.wrote, nil
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

// blanker goes through the pages of a database.
type blanker struct {
	get, put *sql.Stmt
	usable   int    // bytes of a page
	seen     []bool // by page
	wrote    int
}

var errPage = errors.New("a page is not as expected")

// page reads a page. Each is read once.
func (b *blanker) page(n uint32) ([]byte, error) {
	if n == 0 || int(n) >= len(b.seen) || b.seen[n] {
		return nil, fmt.Errorf("page %d: %w", n, errPage)
	}
	b.seen[n] = true
	var data []byte
	if err := b.get.QueryRow(n).Scan(&data); err != nil {
		return nil, fmt.Errorf("read page %d: %w", n, err)
	}
	if len(data) < max(512, b.usable) {
		return nil, fmt.Errorf("page %d: %w", n, errPage)
	}
	return data, nil
}

// stretch is the bytes of a page from one place to before another.
type stretch struct{ from, to int }

// keep writes a page with zeros outside of what it uses, if there is anything else.
func (b *blanker) keep(n uint32, data []byte, used ...stretch) error {
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
)

// file reads the file's header, and blanks the free pages.
func (b *blanker) file() error {
	first, err := b.page(1)
	if err != nil {
		return err
	}
	b.seen[1] = false // it is a tree's as well
	b.usable = len(first) - int(first[atReserved])
	if b.usable < 480 || be32(first, atVacuumedRoot) != 0 {
		return errPage
	}
	for trunk := be32(first, atFreeList); trunk != 0; {
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
func (b *blanker) tree(root uint32) error {
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
func (b *blanker) node(n uint32, data []byte) (children []uint32, err error) {
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

func (b *blanker) cell(kind byte, data []byte, at int) (c cell, err error) {
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
func (b *blanker) chain(n uint32, more int) error {
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

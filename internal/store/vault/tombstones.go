package vault

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Tombstones = (*Store)(nil)

// buriedFile has a line for each turn whose words are nowhere any more, by which they
// are known again once the store within was made anew: its own marks are gone then.
// keyFile is what their hashes are keyed with.
const (
	buriedFile = "buried.jsonl"
	keyFile    = "key"
)

// mark is a line of buriedFile. The hash is of the owner, the role and the words.
type mark struct {
	Turn string `json:"turn"`
	Hash string `json:"hash"`
}

// marks are those that the vault keeps itself.
type marks struct {
	mu     sync.Mutex // guards what follows
	key    string     // "" until there is a mark
	turns  map[string][]string
	path   func(name ...string) string
	sync   func(folder string) error // makes what was made in a folder last
	opened bool
	named  bool // the file is there under its name whatever happens
}

// open reads what there is, once. A half line is of a write that nobody was told of.
func (m *marks) open() error {
	if m.opened {
		return nil
	}
	key, err := os.ReadFile(m.path(keyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.Open(m.path(buriedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.key, m.turns, m.opened, m.named = strings.TrimSpace(string(key)), map[string][]string{}, true, f != nil
	if f == nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var one mark
		if json.Unmarshal(lines.Bytes(), &one) == nil {
			m.turns[one.Hash] = append(m.turns[one.Hash], one.Turn)
		}
	}
	return nil
}

func (m *marks) hash(owner memory.Owner, t memory.Turn) string {
	h := hmac.New(sha256.New, []byte(m.key))
	h.Write([]byte(string(owner) + "\x00" + string(t.Role) + "\x00" + text.Normalize(t.Content)))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// bury keeps marks of turns, synced.
func (m *marks) bury(owner memory.Owner, turns []memory.Turn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.open(); err != nil {
		return err
	}
	if m.key == "" {
		key := rand.Text()
		if err := disk.Replace(m.path(keyFile), []byte(key+"\n")); err != nil {
			return err
		}
		m.key = key
	}
	out := []byte("\n") // ends the half line that a crash may have left
	for _, t := range turns {
		if t.Content == "" {
			continue
		}
		line, err := json.Marshal(mark{t.ID, m.hash(owner, t)})
		if err != nil {
			return err
		}
		out = append(append(out, line...), '\n')
	}
	if len(out) == 1 {
		return nil
	}
	f, err := os.OpenFile(m.path(buriedFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(out)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if !m.named {
		if err := m.sync(m.path()); err != nil {
			return err
		}
		m.named = true
	}
	for _, t := range turns {
		hash := m.hash(owner, t)
		m.turns[hash] = append(m.turns[hash], t.ID)
	}
	return nil
}

// said returns, of each of the turns, the ids of turns that said the same.
func (m *marks) said(owner memory.Owner, turns []memory.Turn) ([][]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.open(); err != nil {
		return nil, err
	}
	out := make([][]string, len(turns))
	for i, t := range turns {
		if m.key != "" && t.Content != "" {
			out[i] = m.turns[m.hash(owner, t)]
		}
	}
	return out, nil
}

// Bury lets turns be known again, by the store within and, once that was made anew,
// by the vault.
func (s *Store) Bury(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return memory.Errorf(memory.Unavailable, "the vault is closed")
	}
	if inner, ok := s.Store.(memory.Tombstones); ok {
		if err := inner.Bury(ctx, owner, turns...); err != nil {
			return err
		}
	}
	if err := s.marks.bury(owner, turns); err != nil {
		return fmt.Errorf("mark what is hidden: %w", err)
	}
	return nil
}

// Buried asks the store within, and the vault's own marks. Those count of turns that
// have no words now, or are nowhere: an erasure that a crash prevented erased nothing.
func (s *Store) Buried(ctx context.Context, owner memory.Owner, turns ...memory.Turn) ([]bool, error) {
	out := make([]bool, len(turns))
	if inner, ok := s.Store.(memory.Tombstones); ok {
		var err error
		if out, err = inner.Buried(ctx, owner, turns...); err != nil {
			return nil, err
		}
	}
	said, err := s.marks.said(owner, turns)
	if err != nil {
		return nil, fmt.Errorf("look for what was said before: %w", err)
	}
	for i, ids := range said {
		if out[i] || len(ids) == 0 {
			continue
		}
		found, err := s.Get(ctx, owner, ids...)
		if err != nil {
			return nil, err
		}
		out[i] = len(found) < len(ids)
		for _, m := range found {
			out[i] = out[i] || m.Content() == ""
		}
	}
	return out, nil
}

// buryErased marks the turns among ids that have words, before they lose them.
func (s *Store) buryErased(ctx context.Context, owner memory.Owner, ids []string) error {
	found, err := s.Get(ctx, owner, ids...)
	if err != nil {
		return err
	}
	var turns []memory.Turn
	for _, m := range found {
		if m.Turn != nil {
			turns = append(turns, *m.Turn)
		}
	}
	if len(turns) == 0 {
		return nil
	}
	return s.marks.bury(owner, turns)
}

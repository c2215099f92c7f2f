package vault

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/loci-memory/loci/memory"
)

// The records were a snapshot and a log of what changed since before they were a table.
const (
	earlierSnapshot = "memory_index.json"
	earlierLog      = "memory_index.log"
)

// takeEarlier puts the records of an earlier version into the table, and removes its files. What
// of them cannot be read is compared with the store within.
func (s *Store) takeEarlier(x *index) error {
	snapshot, err := os.ReadFile(s.own(earlierSnapshot))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	log, err := os.ReadFile(s.own(earlierLog))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(x.paths) == 0 && len(x.written) == 0 {
		var was struct {
			Written map[memory.Owner]int64 `json:"written"`
			Files   []*record              `json:"files"`
		}
		if json.Unmarshal(snapshot, &was) != nil {
			was.Written, was.Files = nil, nil
		}
		for line := range bytes.Lines(log) {
			r := &record{}
			if json.Unmarshal(line, r) == nil {
				was.Files = append(was.Files, r)
			}
		}
		for _, r := range was.Files {
			if x.drop(r.Path); r.Target != "" {
				x.put(r)
			}
		}
		if err := errors.Join(x.note(was.Files...), x.mark(was.Written)); err != nil {
			return err
		}
	}
	for _, name := range []string{earlierSnapshot, earlierLog} {
		if err := os.Remove(s.own(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

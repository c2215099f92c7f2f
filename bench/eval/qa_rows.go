package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// QARows is a file of rows, to which each is added as soon as it is known, so that a run that was
// killed can go on.
type QARows struct{ f *os.File }

// OpenQARows opens a file of rows or makes one. A last line that the end of a run cut off is taken
// away. What is not a file of rows is [memory.Invalid] and stays as it is.
func OpenQARows(path string) (*QARows, []QARow, error) {
	rows, whole, err := readQAFile(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open rows: %w", err)
	}
	if err := os.Truncate(path, whole); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cut rows: %w", err), f.Close())
	}
	return &QARows{f}, rows, nil
}

// ReadQARows returns the whole rows of a file and changes nothing; none if there is no file.
func ReadQARows(path string) ([]QARow, error) {
	rows, _, err := readQAFile(path)
	return rows, err
}

func readQAFile(path string) (rows []QARow, whole int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("read rows: %w", err)
	}
	if rows, whole, err = readQARows(data); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", path, err)
	}
	return rows, whole, nil
}

// rowStart is how each row begins.
const rowStart = `{"set":"`

// readQARows returns the rows, and how many bytes the whole ones take.
func readQARows(data []byte) (rows []QARow, whole int64, err error) {
	for line := range bytes.Lines(data) {
		var row QARow
		if err := json.Unmarshal(line, &row); err == nil && row.ID != "" && row.System != "" && bytes.HasSuffix(line, []byte("\n")) {
			rows = append(rows, row)
			whole += int64(len(line))
			continue
		}
		start := string(line[:min(len(line), len(rowStart))])
		if int(whole)+len(line) == len(data) && !bytes.HasSuffix(line, []byte("\n")) && strings.HasPrefix(rowStart, start) {
			break
		}
		return nil, 0, memory.Errorf(memory.Invalid, "line %d is not a row of locibench qa; name another file", len(rows)+1)
	}
	return rows, whole, nil
}

// Add appends a row.
func (r *QARows) Add(row QARow) error {
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	if _, err := r.f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("keep a row: %w", err)
	}
	return nil
}

// Close closes the file.
func (r *QARows) Close() error { return r.f.Close() }

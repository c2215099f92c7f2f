package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestDoctorChecksFreeSpace expects a finding for too little space, a line for enough, and nothing if it is unknown.
func TestDoctorChecksFreeSpace(t *testing.T) {
	for name, c := range map[string]struct {
		left          int64
		err           error
		looked, found string
	}{
		"full":      {0, nil, "", "has 0 MiB of"},
		"little":    {minFreeSpace - 1, nil, "", "has 255 MiB of"},
		"enough":    {minFreeSpace, nil, "data folder /d: its disk has 256 MiB", ""},
		"unknown":   {0, errors.ErrUnsupported, "", ""},
		"not there": {0, os.ErrNotExist, "", "file does not exist"},
	} {
		var got report
		got.checkFreeSpace("data folder", "/d", func(string) (int64, error) { return c.left, c.err })
		looked, found := strings.Join(got.Checked, "; "), ""
		for _, f := range got.Findings {
			found += f.Problem
		}
		if (looked == "") != (c.looked == "") || (found == "") != (c.found == "") || !strings.Contains(looked, c.looked) || !strings.Contains(found, c.found) {
			t.Errorf("%s: looked at %q, found %q", name, looked, found)
		}
	}
}

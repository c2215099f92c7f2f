package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestTheDoctorLooksWhetherThereIsRoom: less than there should be is a finding, what is
// enough is only told, and what is not known is neither.
func TestTheDoctorLooksWhetherThereIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		left          int64
		err           error
		looked, found string
	}{
		"full":      {0, nil, "", "0 MiB are left"},
		"little":    {leastRoom - 1, nil, "", "255 MiB are left"},
		"enough":    {leastRoom, nil, "data folder /d: 256 MiB are left", ""},
		"not known": {0, errors.ErrUnsupported, "", ""},
		"not there": {0, os.ErrNotExist, "", "file does not exist"},
	} {
		var got checkup
		got.room("data folder", "/d", func(string) (int64, error) { return c.left, c.err })
		looked, found := strings.Join(got.Checked, "; "), ""
		for _, f := range got.Findings {
			found += f.What
		}
		if (looked == "") != (c.looked == "") || (found == "") != (c.found == "") || !strings.Contains(looked, c.looked) || !strings.Contains(found, c.found) {
			t.Errorf("%s: looked at %q, found %q", name, looked, found)
		}
	}
}

package text

import (
	"testing"
	"time"
)

func TestRecurringDaysAreNoDates(t *testing.T) {
	reference := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for _, s := range []string{"every second Monday", "User swims every second Monday", "User works on Saturday and Sunday mornings", "User runs on Tuesday and Thursday evenings", "User has choir every other Friday", "User calls Ana every Monday and Friday", "User is free on Mondays"} {
		if got := WithAbsoluteDates(s, reference); got != s {
			t.Errorf("Absolute(%q) = %q, want it unchanged", s, got)
		}
	}
}

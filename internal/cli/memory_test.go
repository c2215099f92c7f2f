package cli

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestGarbageHasRoomWhateverTheIndex(t *testing.T) {
	last := 100
	for resident := int64(0); resident < 8<<30; resident = resident*9/8 + 1<<20 {
		percent := gcPercent(resident)
		live := resident + otherMemoryBytes
		room := live * int64(percent) / 100
		if percent > last {
			t.Errorf("%d bytes: %d percent, more than the %d of fewer bytes", resident, percent, last)
		}
		last = percent
		if percent > 100 || percent < minGarbagePercent {
			t.Errorf("%d bytes: %d percent", resident, percent)
		}
		if least := min(live, minGarbageBytes-live/100); room < least {
			t.Errorf("%d bytes: room for %d bytes of garbage, want %d", resident, room, least)
		}
		if most := max(minGarbageBytes, live*minGarbagePercent/100); room > most {
			t.Errorf("%d bytes: room for %d bytes of garbage, want %d at most", resident, room, most)
		}
	}
	if last != minGarbagePercent || gcPercent(0) != 100 {
		t.Errorf("%d percent at the end, %d for nothing", last, gcPercent(0))
	}
}

func TestGarbageIsBoundByWhatIsResident(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	percent := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	before := percent()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var resident atomic.Int64
		done := make(chan struct{})
		go func() {
			adjustGC(ctx, resident.Load)
			close(done)
		}()
		for _, bytes := range []int64{0, 1 << 27, 1 << 30, 1 << 20} {
			resident.Store(bytes)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got, want := percent(), gcPercent(bytes); got != want {
				t.Errorf("%d bytes resident: GOGC is %d, want %d", bytes, got, want)
			}
		}
		cancel()
		<-done
	})
	if got := percent(); got != before {
		t.Errorf("GOGC is %d afterwards, want %d as before", got, before)
	}
	t.Setenv("GOGC", "77")
	adjustGC(context.Background(), func() int64 { t.Error("asked"); return 0 }) // returns at once
}

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/loci-memory/loci/memory"
)

// noteWork notes what is to be learned from anyway, which is none of this import's, if it is
// to be waited for at the end.
func (b *importer) noteWork(ctx context.Context) error {
	if !b.alone || !b.q.Learn {
		return nil
	}
	now, err := b.client.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("read what is to be learned from: %w", err)
	}
	b.others = map[string]bool{}
	for _, j := range now.Jobs {
		b.others[j.ID] = true
	}
	return nil
}

// learned waits until all was learned from that was imported: without a server nobody
// else would. What failed, and what is put off until later, is not waited for.
func (b *importer) learned(ctx context.Context, w io.Writer) error {
	bar := &progress{w: w, live: w == os.Stderr && isTerminal(os.Stderr)}
	defer bar.end()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for most := 0; ; {
		now, err := b.client.Jobs(ctx)
		if err != nil {
			return fmt.Errorf("learn from what was imported: %w", err)
		}
		left := 0
		b.behind = 0
		for _, j := range now.Jobs {
			switch {
			case j.Kind != memory.JobLearn, b.others[j.ID]:
			case j.State == memory.JobParked, j.State == memory.JobQueued && (j.Attempts > 0 || j.RunAt.After(time.Now())):
				b.behind++
			default:
				left++
			}
		}
		if left == 0 {
			return nil
		}
		most = max(most, left)
		bar.at("learned from", int64(most-left), int64(most), func(n int64) string { return fmt.Sprint(n) })
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench"
)

func benchmark() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure Loci on this machine"}
	cmd.AddCommand(benchLoad(), benchRetrieval())
	return cmd
}

// withServer runs a server on a memory of its own, with an upstream that answers
// at once, for as long as do takes.
func withServer(ctx context.Context, do func(context.Context, bench.Serving) error) (err error) {
	dir, err := os.MkdirTemp("", "loci-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	upstream := bench.Upstream()
	defer upstream.Close()
	config, err := loci.LoadConfig(loci.Sources{Flags: map[string]string{
		"addr": "127.0.0.1:0", "data": dir, "log.level": "error", "upstream.url": upstream.URL + "/v1",
	}})
	if err != nil {
		return err
	}
	s, err := open(ctx, config, loci.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	finished := make(chan error, 1)
	go func() { finished <- s.run(serving) }()
	err = do(ctx, bench.Serving{URL: s.url(), Upstream: upstream, Settle: s.Settle})
	stop()
	return errors.Join(err, <-finished)
}

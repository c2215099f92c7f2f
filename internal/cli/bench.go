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
	cmd.AddCommand(benchLoad(), benchRetrieval(), benchLearn(), benchSize())
	return cmd
}

// withServer runs a server in this process, on a memory of its own, for as long as
// do takes.
func withServer(ctx context.Context, do func(context.Context, bench.Serving) error) (err error) {
	dir, err := os.MkdirTemp("", "loci-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config, err := loci.LoadConfig(loci.Sources{Flags: map[string]string{
		"addr": "127.0.0.1:0", "data": dir, "log.level": "error",
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
	err = do(ctx, bench.Serving{URL: s.url()})
	stop()
	return errors.Join(err, <-finished)
}

// Command locibench measures the loci command from outside: latency, throughput, start, size on
// disk and in memory, beside other ways to keep and find texts. It is a module of its own, so that
// what Loci is compared with is not linked into Loci. How well Loci finds and learns is measured
// by loci bench.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "locibench:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "locibench", Short: "Measure the loci command: latency, throughput and size",
		SilenceUsage: true, SilenceErrors: true,
	}
	cmd.AddCommand(loadCommand(), sizeCommand())
	return cmd
}

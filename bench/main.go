// Command locibench measures Loci: how well it finds, brings memory into chats, learns, and lets a
// model answer; and latency, throughput, start and size next to other ways to keep and find texts.
// It is a module of its own, so that what Loci is compared with is not linked into Loci.
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
		Use: "locibench", Short: "Measure how well and how fast Loci remembers",
		SilenceUsage: true, SilenceErrors: true,
	}
	g := &global{}
	g.flags(cmd)
	cmd.AddCommand(benchRetrieval(g), benchChat(g), benchLearn(g), benchQA(g), loadCommand(), sizeCommand())
	return cmd
}

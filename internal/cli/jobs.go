package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func jobs(g *global) *cobra.Command {
	var ids []string
	var all bool
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Work that is under way, waiting or parked",
		Long: fmt.Sprintf("Unfinished work: what kind, how often it failed and why, when it is tried next. A job that failed %d times,\n"+
			"or during which the process died %d times in a row, is parked and waits for --retry.", memory.MaxAttempts, memory.MaxAbandoned),
		Example: "  loci jobs\n  loci jobs --retry learn-0199c5d2-…\n  loci jobs --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				retried, err := retry(ctx, c, ids, all)
				if err != nil {
					return err
				}
				now, err := c.Jobs(ctx)
				if err != nil {
					return err
				}
				out := struct {
					client.Jobs
					Retried []string `json:"retried,omitempty"`
				}{now, retried}
				return g.print(cmd.OutOrStdout(), out, func(out printer) {
					for _, id := range retried {
						fmt.Fprintf(out, "tried again: %s\n", id)
					}
					if all && len(retried) == 0 {
						fmt.Fprintln(out, "no job is parked")
					}
					out.jobs(now.Jobs, time.Now())
				})
			})
		},
	}
	cmd.Flags().StringArrayVar(&ids, "retry", nil, "try this parked job again; may be repeated")
	cmd.Flags().BoolVar(&all, "all", false, "try all parked jobs again")
	cmd.MarkFlagsMutuallyExclusive("retry", "all")
	return onMemory(g, cmd)
}

// retry lets parked jobs run again, these or all, and returns which.
func retry(ctx context.Context, c *client.Client, ids []string, all bool) ([]string, error) {
	if !all && len(ids) == 0 {
		return nil, nil
	}
	now, err := c.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var there []named
	for _, j := range now.Jobs {
		there = append(there, named{j.ID, string(j.Kind) + ", " + string(j.State)})
	}
	for i := range ids {
		if err := complete(&ids[i], there); err != nil {
			return nil, err
		}
	}
	if all {
		for _, j := range now.Jobs {
			if j.State == memory.JobParked {
				ids = append(ids, j.ID)
			}
		}
	}
	for _, id := range ids {
		if err := c.RetryJob(ctx, id); err != nil {
			if errors.Is(err, memory.NotFound) {
				return nil, memory.Errorf(memory.NotFound, "there is no job %s; loci jobs lists them", id)
			}
			return nil, fmt.Errorf("try job %s again: %w", id, err)
		}
	}
	return ids, nil
}

// jobs writes unfinished work as it is now.
func (s printer) jobs(jobs []client.Job, now time.Time) {
	if len(jobs) == 0 {
		s.line("no work is waiting")
	}
	parked := 0
	for _, j := range jobs {
		state, next := fmt.Sprintf("%-8s", j.State), ""
		switch {
		case j.State == memory.JobParked:
			state = s.in(red, state)
			parked++
		case j.State == memory.JobQueued && j.RunAt.After(now):
			next = "  next try " + when(j.RunAt)
		case j.State == memory.JobQueued:
			next = "  due now"
		}
		if j.Attempts > 0 {
			next += "  failed " + many(j.Attempts, "times")
		}
		s.line("%s %-9s %s  since %s%s", state, j.Kind, j.ID, when(j.CreatedAt), next)
		if j.Error != "" {
			s.line("         %s", brief(j.Error, 200))
		}
	}
	if parked > 0 {
		s.line("parked jobs wait for you: loci jobs --retry ID, or --all")
	}
}

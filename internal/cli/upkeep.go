package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func newUpkeepCommand(g *sharedState) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "upkeep",
		Short: "Retire expired, faded and excess memories; can be undone",
		Long: "Retire memories that have expired or faded, or that exceed the limits in the settings upkeep.*. A server does the same every day.\n" +
			"Without --yes the command only shows the memories.",
		Example: "  loci upkeep\n  loci upkeep --yes\n  loci upkeep --set upkeep.user=1000",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return printAnswer(g, cmd, func(out printer, result client.Upkeep) { out.printUpkeep(result, g.undoHint(result.Run)) })(c.Upkeep(ctx, client.UpkeepRequest{DryRun: !yes}))
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm: retire the memories")
	return withMemoryFlags(g, cmd)
}

// printUpkeep prints the memories that upkeep retired or would retire.
func (s printer) printUpkeep(u client.Upkeep, undoHint string) {
	if len(u.Changes) == 0 {
		s.line("no memories to retire")
		return
	}
	for _, c := range u.Changes {
		description := s.changeText(c, nil)
		if c.After.Turn != nil {
			description = "turn " + c.After.Turn.ID
		}
		s.line("%s%s", s.styled(red, "- "+description), s.reasonText(c))
	}
	if u.DryRun {
		s.line("to do it: loci upkeep --yes")
		return
	}
	s.line("%s", undoHint)
}

func newPauseCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause [learning|memory|none]",
		Short: "Pause learning or memory, or show what is paused",
		Long: "learning: messages are stored, but Loci never learns from them. memory: chats neither read nor write memory.\n" +
			"none: nothing is paused. Without an argument the command shows what is paused.",
		Example: "  loci pause\n  loci pause learning\n  loci pause none",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && pauseTexts[args[0]] == "" {
				return memory.Errorf(memory.Invalid, "pause %s: unknown; valid: learning, memory, none", args[0])
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				shown := printAnswer(g, cmd, func(out printer, p client.Pause) { out.line("%s", pauseTexts[p.Pause]) })
				if len(args) == 0 {
					return shown(c.PauseState(ctx))
				}
				return shown(c.Pause(ctx, client.Pause{Pause: args[0]}))
			})
		},
	}
	return withMemoryFlags(g, cmd)
}

// pauseTexts describe each pause for people.
var pauseTexts = map[string]string{
	"none":     "nothing is paused",
	"learning": "learning is paused: messages are stored, but Loci never learns from them",
	"memory":   "memory is paused: chats neither read nor write memory",
}

func newRelearnCommand(g *sharedState) *cobra.Command {
	var req client.RelearnRequest
	var since time.Time
	cmd := &cobra.Command{
		Use:   "relearn",
		Short: "Learn again from stored messages",
		Long: "Queue the user's messages for learning with the model or the rules that are configured now. Existing facts stay. Facts that were\n" +
			"forgotten, undone or rejected are not learned again. A running server does the work in the background.",
		Example: "  loci relearn --since yesterday\n  loci relearn --conversation 0199c5d2-…",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			if !since.IsZero() {
				req.Since = &since
			}
			if err := completeChatID(ctx, c, &req.Conversation); err != nil {
				return err
			}
			return printAnswer(g, cmd, func(out printer, queued client.Relearning) {
				out.line("%s queued for learning; loci jobs shows the progress", countText(queued.Turns, "turns"))
			})(c.Relearn(ctx, req))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&req.Conversation, "conversation", "", "only messages of this conversation")
	f.Var(timeFlag{target: &since}, "since", "only messages after this time: 2026-05-03, yesterday, 90m (ago), …")
	return withMemoryFlags(g, cmd)
}

func newUsageCommand(g *sharedState) *cobra.Command {
	var since time.Time
	cmd := &cobra.Command{
		Use:     "usage",
		Short:   "Show the learning model's requests, tokens and cost, by day",
		Example: "  loci usage\n  loci usage --since \"last week\"",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			return printAnswer(g, cmd, func(out printer, list client.UsageList) { printUsage(out, list.Usage) })(c.Usage(ctx, since))
		}),
	}
	cmd.Flags().Var(timeFlag{target: &since}, "since", "only days since this day: 2026-05-03, yesterday, …")
	return withMemoryFlags(g, cmd)
}

func printUsage(w io.Writer, usages []memory.Usage) {
	if len(usages) == 0 {
		fmt.Fprintln(w, "no requests to a model yet")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "day\tfor\tmodel\tcalls\ttokens in\ttokens out\tcost")
	var sum memory.Usage
	for _, u := range usages {
		sum.Add(u)
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%.4f\n", u.Day.Format(time.DateOnly), u.Purpose, shorten(u.Model, 40), u.Calls, u.InputTokens, u.OutputTokens, u.Cost)
	}
	fmt.Fprintf(t, "all\t\t\t%d\t%d\t%d\t%.4f\n", sum.Calls, sum.InputTokens, sum.OutputTokens, sum.Cost)
	_ = t.Flush() // the error is not lost: sharedState.print returns it
}

func newJobsCommand(g *sharedState) *cobra.Command {
	var ids []string
	var retryAll bool
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Show background work: running, waiting or parked",
		Long: fmt.Sprintf("Show unfinished background jobs: the kind, the number of failures, the last error and the time of the next try.\n"+
			"A job is parked after %d failures, or after the process died during it %d times in a row. It then waits for loci jobs --retry.", memory.MaxAttempts, memory.MaxAbandoned),
		Example: "  loci jobs\n  loci jobs --retry learn-0199c5d2-…\n  loci jobs --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				retried, err := retryJobs(ctx, c, ids, retryAll)
				if err != nil {
					return err
				}
				current, err := c.Jobs(ctx)
				if err != nil {
					return err
				}
				out := struct {
					client.Jobs
					Retried []string `json:"retried,omitempty"`
				}{current, retried}
				return g.print(cmd.OutOrStdout(), out, func(out printer) {
					for _, id := range retried {
						fmt.Fprintf(out, "queued again: %s\n", id)
					}
					if retryAll && len(retried) == 0 {
						fmt.Fprintln(out, "no job is parked")
					}
					out.printJobs(current.Jobs, time.Now())
				})
			})
		},
	}
	cmd.Flags().StringArrayVar(&ids, "retry", nil, "id of a parked job to try again; may be repeated")
	cmd.Flags().BoolVar(&retryAll, "all", false, "try all parked jobs again")
	cmd.MarkFlagsMutuallyExclusive("retry", "all")
	return withMemoryFlags(g, cmd)
}

// retryJobs queues the jobs with these ids again, and all parked jobs if retryAll is set. It returns the ids of
// the queued jobs.
func retryJobs(ctx context.Context, c *client.Client, ids []string, retryAll bool) ([]string, error) {
	if !retryAll && len(ids) == 0 {
		return nil, nil
	}
	current, err := c.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	candidates := labelIDs(current.Jobs, func(j client.Job) labeledID { return labeledID{j.ID, string(j.Kind) + ", " + string(j.State)} })
	for i := range ids {
		if err := completeID(&ids[i], candidates); err != nil {
			return nil, err
		}
	}
	if retryAll {
		for _, j := range current.Jobs {
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

// printJobs prints unfinished jobs.
func (s printer) printJobs(jobs []client.Job, now time.Time) {
	if len(jobs) == 0 {
		s.line("no background jobs")
	}
	parked := 0
	for _, j := range jobs {
		state, next := fmt.Sprintf("%-8s", j.State), ""
		switch {
		case j.State == memory.JobParked:
			state = s.styled(red, state)
			parked++
		case j.State == memory.JobQueued && j.RunAt.After(now):
			next = "  next try " + formatTime(j.RunAt)
		case j.State == memory.JobQueued:
			next = "  due now"
		}
		if j.Attempts > 0 {
			next += "  failed " + countText(j.Attempts, "times")
		}
		s.line("%s %-9s %s  since %s%s", state, j.Kind, j.ID, formatTime(j.CreatedAt), next)
		if j.Error != "" {
			s.line("         %s", shorten(j.Error, 200))
		}
	}
	if parked > 0 {
		s.line("parked jobs do not run again by themselves; to try again: loci jobs --retry ID, or --all")
	}
}

package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
)

func newHealthCommand(g *sharedState) *cobra.Command {
	return g.withJSONFlag(&cobra.Command{
		Use:   "health",
		Short: "Check whether the server accepts requests, for a container's health check",
		Long: "Send a readiness probe to the server at --addr. The command never opens the data folder.\n" +
			"The exit status is 1 if no server answers, or if the server is starting or stopping.",
		Example: "  loci health\n  loci health --addr http://loci.example.com:7077 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.loadConfig(cmd)
			if err != nil {
				return err
			}
			at, opts := config.ServerURL(), client.Options{}
			if config.TLS.Enabled() { // do not check the certificate, which has the host's name and not this address; the probe sends no key
				at = strings.Replace(at, "http://", "https://", 1)
				opts.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
			defer cancel()
			return printAnswer(g, cmd, func(out printer, ready client.Ready) {
				out.line("%s", ready.Status)
				for _, problem := range ready.Problems {
					out.line("problem: %s", problem)
				}
			})(client.New(at, opts).Ready(ctx))
		},
	})
}

func newDoctorCommand(g *sharedState) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the folders, the vault, the database, the index and the models",
		Long: "Check everything that Loci stores, and print each problem with its solution. The exit status is 1 if there is a problem.\n" +
			"After many files disappeared from the vault at once, Loci keeps their memories until --confirm forgets them. loci undo reverts that.",
		Example: "  loci doctor\n  loci doctor --confirm",
		Args:    cobra.NoArgs,
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			checkup, undo, err := runCheckup(ctx, c, confirm)
			if err != nil {
				return err
			}
			err = g.print(cmd.OutOrStdout(), checkup, func(out printer) {
				out.printCheckup(checkup)
				if undo.ToTime != nil {
					out.line("to undo this: %s", undoCommandLine(undo, g.user))
				}
			})
			if n := len(checkup.Findings); err == nil && n > 0 {
				err = fmt.Errorf("%s found", countText(n, "problems"))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "forget the memories of files that disappeared from the vault at once")
	return g.withJSONFlag(cmd)
}

// runCheckup checks the memory. If confirmDeletions is set, it also returns the request to undo the deletions.
func runCheckup(ctx context.Context, c *client.Client, confirmDeletions bool) (checkup client.Checkup, undoRequest client.UndoRequest, err error) {
	if !confirmDeletions {
		checkup, err = c.Doctor(ctx)
		return checkup, undoRequest, err
	}
	before, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err != nil {
		return checkup, undoRequest, fmt.Errorf("read the last change: %w", err)
	}
	if checkup, err = c.ConfirmDeletions(ctx); err != nil || len(before.Changes) == 0 {
		return checkup, undoRequest, err
	}
	last := before.Changes[0]
	after, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err == nil && after.Changes[0].ID != last.ID {
		undoRequest.ToTime = &last.CreatedAt
	}
	return checkup, undoRequest, err
}

// printCheckup prints the checked parts and the problems.
func (s printer) printCheckup(checkup client.Checkup) {
	for _, checked := range checkup.Checked {
		s.line("checked %s", checked)
	}
	for _, f := range checkup.Findings {
		s.line("%s", s.styled(red, strings.TrimSpace(f.Part+" "+f.Path)+": "+f.Problem))
		if f.Fix != "" {
			s.line("  %s", f.Fix)
		}
	}
	if len(checkup.Findings) == 0 {
		s.line("no problems")
	}
}

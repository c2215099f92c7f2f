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

func health(g *global) *cobra.Command {
	return g.withJSON(&cobra.Command{
		Use:   "health",
		Short: "Check whether the server accepts requests, for a container's health check",
		Long: "Send a readiness probe to the server at --addr. The command never opens the data folder.\n" +
			"The exit status is 1 if no server answers, or if the server is starting or stopping.",
		Example: "  loci health\n  loci health --addr http://loci.example.com:7077 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.load(cmd)
			if err != nil {
				return err
			}
			at, opts := config.ServerURL(), client.Options{}
			if config.TLS.On() { // the certificate is for the host's name, not for this address; the probe sends no key
				at = strings.Replace(at, "http://", "https://", 1)
				opts.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
			defer cancel()
			return show(g, cmd, func(out printer, is client.Ready) {
				out.line("%s", is.Status)
				for _, problem := range is.Problems {
					out.line("problem: %s", problem)
				}
			})(client.New(at, opts).Ready(ctx))
		},
	})
}

func doctor(g *global) *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the folders, the vault, the database, the index and the models",
		Long: "Check everything that Loci stores, and print each problem with its solution. The exit status is 1 if there is a problem.\n" +
			"After many files disappeared from the vault at once, Loci keeps their memories until --confirm forgets them. loci undo reverts that.",
		Example: "  loci doctor\n  loci doctor --confirm",
		Args:    cobra.NoArgs,
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
			found, undo, err := examine(ctx, c, confirm)
			if err != nil {
				return err
			}
			err = g.print(cmd.OutOrStdout(), found, func(out printer) {
				out.checkup(found)
				if undo.ToTime != nil {
					out.line("to undo this: %s", undoCommand(undo, g.user))
				}
			})
			if n := len(found.Findings); err == nil && n > 0 {
				err = fmt.Errorf("%s found", many(n, "problems"))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "forget the memories of files that disappeared from the vault at once")
	return g.withJSON(cmd)
}

// runCheckup checks the memory. If confirm is set, it also returns the request that undoes the confirmed deletions.
func examine(ctx context.Context, c *client.Client, confirm bool) (found client.Checkup, undo client.UndoRequest, err error) {
	if !confirm {
		found, err = c.Doctor(ctx)
		return found, undo, err
	}
	before, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err != nil {
		return found, undo, fmt.Errorf("read the last change: %w", err)
	}
	if found, err = c.ConfirmDeletions(ctx); err != nil || len(before.Changes) == 0 {
		return found, undo, err
	}
	last := before.Changes[0]
	after, err := c.Changes(ctx, client.ChangesQuery{Limit: 1})
	if err == nil && after.Changes[0].ID != last.ID {
		undo.ToTime = &last.CreatedAt
	}
	return found, undo, err
}

// printCheckup prints the checked parts and the problems.
func (s printer) checkup(c client.Checkup) {
	for _, what := range c.Checked {
		s.line("checked %s", what)
	}
	for _, f := range c.Findings {
		s.line("%s", s.in(red, strings.TrimSpace(f.Part+" "+f.Path)+": "+f.What))
		if f.Do != "" {
			s.line("  %s", f.Do)
		}
	}
	if len(c.Findings) == 0 {
		s.line("no problems")
	}
}

package cli

import (
	"context"
	"crypto/tls"
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
		Long: "Send a readiness probe to the server at --addr. The command never opens the data folder. The exit status is 1 if no server answers, or if\n" +
			"the server is starting or stopping.",
		Example: "  loci health\n  loci health --addr http://loci.example.com:7077 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.load(cmd)
			if err != nil {
				return err
			}
			at, opts := config.ServerURL(), client.Options{}
			if config.TLS.On() { // the certificate names the server's host, not this address; the probe sends no key
				at = strings.Replace(at, "http://", "https://", 1)
				opts.HTTP = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
			defer cancel()
			return show(g, cmd, func(out printer, is client.Ready) {
				out.line("%s", is.Status)
				for _, problem := range is.Problems {
					out.line("in trouble: %s", problem)
				}
			})(client.New(at, opts).Ready(ctx))
		},
	})
}

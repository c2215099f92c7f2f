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
		Short: "Whether the server takes requests, for a container's health check",
		Long: "Asks the server at --addr as a readiness probe does, and never opens the data folder. Its exit status is 1 if no server answers, or if\n" +
			"the server is starting or about to stop.",
		Example: "  loci health\n  loci health --addr http://loci.example.com:7077 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := g.load(cmd)
			if err != nil {
				return err
			}
			at, opts := config.ServerURL(), client.Options{}
			if config.TLS.On() { // the certificate is for the server's name, not for this address; no key is sent
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

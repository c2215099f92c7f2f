package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/obs"
)

func newVersionCommand(g *sharedState) *cobra.Command {
	return g.withJSONFlag(&cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit, the Go version and the platform",
		Example: "  loci version\n  loci version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := obs.BuildInfo()
			return g.print(cmd.OutOrStdout(), b, func(out printer) {
				out.line("loci %s\ncommit    %s\ngo        %s\nplatform  %s", b.Version, cmp.Or(b.Commit, "unknown"), b.Go, b.Platform)
			})
		},
	})
}

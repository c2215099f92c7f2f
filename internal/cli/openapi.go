package cli

import (
	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
)

func openAPI() *cobra.Command {
	return &cobra.Command{
		Use:     "openapi",
		Short:   "Print the OpenAPI description of the REST API",
		Long:    "Prints what a server answers at /openapi.json. No server is needed.",
		Example: "  loci openapi > openapi.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			description, err := loci.OpenAPI()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(append(description, '\n'))
			return err
		},
	}
}

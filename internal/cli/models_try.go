package cli

import (
	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/models"
)

func modelsTry(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "try [MODEL]",
		Short: "Try a model that learns: whether what it writes is remembered at once",
		Long: "Ask the model that learns, or another one of its server, about a dozen fixed messages (some 900 tokens), and say whether what\n" +
			"it writes is remembered at once (learn.trust: tried). The server asks the same before a first lesson; this repeats it.",
		Example: "  loci models try\n  loci models try qwen2.5:7b\n  LOCI_LEARN_URL=http://127.0.0.1:8080/v1 loci models try qwen2.5-7b",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := g.load(cmd)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				config.Learn.Model, config.Learn.Prefer = args[0], nil
			}
			prompts, err := openPrompts(config.Prompts)
			if err != nil {
				return err
			}
			return show(g, cmd, func(out printer, is learn.Trial) { out.line("%s", is) })(models.Try(cmd.Context(), config, prompts))
		},
	}
}

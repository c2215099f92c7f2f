package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

func sizeCommand() *cobra.Command {
	var o SizeOptions
	var budgets []string
	cmd := &cobra.Command{
		Use:   "size",
		Short: "Simulate how much memory servers for many users need",
		Long: "Draw users by Zipf's law, keep the indexes of those last asked for within a budget, and say how often a user's was there.\n" +
			"What a memory takes in the index and in the database is what was measured with short turns and the default embedder\n" +
			"(see deploy/README.md); give yours by --resident and --stored. Nothing is read or written.",
		Example: "  locibench size\n  locibench size --users 50000 --each 4000 --budget 1GiB,4GiB",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range budgets {
				var b config.Bytes
				if err := b.UnmarshalText([]byte(text)); err != nil {
					return memory.Errorf(memory.Invalid, "budget: %v", err)
				}
				o.Budgets = append(o.Budgets, int64(b))
			}
			out := cmd.OutOrStdout()
			var lines []string
			asked, err := Size(o, func(s Sized) { lines = append(lines, s.String()) })
			if err != nil {
				return err
			}
			all := int64(asked.Users) * int64(asked.Each)
			fmt.Fprintf(out, "%d users of %d memories: %.1f GiB in the database (%d bytes each), %.1f GiB if all were resident (%d bytes each)\n%s\n%s\n",
				asked.Users, asked.Each, float64(all*asked.Stored)/(1<<30), asked.Stored, float64(all*asked.Resident)/(1<<30), asked.Resident,
				SizeHead, strings.Join(lines, "\n"))
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Users, "users", 0, "users (1000000 unless given)")
	f.IntVar(&o.Each, "each", 0, "memories of each (1000 unless given)")
	f.Int64Var(&o.Resident, "resident", 0, "bytes that the index holds for a memory (as measured unless given)")
	f.Int64Var(&o.Stored, "stored", 0, "bytes that the database keeps for a memory (as measured unless given)")
	f.Float64Var(&o.Popularity, "popularity", 0, "exponent of Zipf's law, above 1 (1.1 unless given)")
	f.IntVar(&o.Requests, "requests", 0, "requests that are counted (2000000 unless given)")
	f.StringSliceVar(&budgets, "budget", nil, "settings index.budget to try, with commas")
	return cmd
}

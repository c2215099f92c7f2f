package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// gitCommits is how many commits are shown unless a limit is given.
const gitCommits = 50

// gitHistory shows what git has of the vault, or of one memory's file.
func (g *global) gitHistory(cmd *cobra.Command, q client.ChangesQuery, args []string) error {
	limit := q.Limit
	if q.Limit = 0; q != (client.ChangesQuery{}) {
		return memory.Errorf(memory.Invalid, "with --git there is an ID and --limit; the other flags narrow the journal")
	}
	if limit <= 0 {
		limit = gitCommits
	}
	config, err := g.load(cmd)
	if err != nil {
		return err
	}
	dir, err := config.VaultDir()
	if err != nil {
		return err
	}
	if dir == "" {
		return memory.Errorf(memory.Invalid, "memory is in no vault; name its folder: --set vault=DIR")
	}
	id := strings.Join(args, "")
	if isIDPrefix(id) {
		ids, err := vaultsync.GitIDs(cmd.Context(), dir, id)
		if err != nil {
			return err
		}
		var there []named
		for _, one := range ids {
			there = append(there, named{id: one})
		}
		if id, err = uniquePrefix(id, there); err != nil {
			return err
		}
	}
	commits, err := vaultsync.GitHistory(cmd.Context(), dir, id, limit)
	if err != nil {
		return err
	}
	return g.print(cmd.OutOrStdout(), commits, func(out printer) { out.commits(commits) })
}

// commits writes what was committed, newest first, with what a file said then.
func (s printer) commits(commits []vaultsync.GitCommit) {
	if len(commits) == 0 {
		s.line("nothing was committed")
	}
	for _, c := range commits {
		subject, rest, _ := strings.Cut(c.Message, "\n")
		s.line("%s  %s  %s  %s", s.in(bold, when(c.At)), brief(c.Author, 60), s.in(dim, c.Hash[:min(10, len(c.Hash))]), brief(subject, 200))
		for line := range strings.SplitSeq(strings.TrimSpace(rest), "\n") {
			if line != "" && line != subject {
				s.line("  %s", brief(line, 200))
			}
		}
		for _, f := range c.Files {
			if f.Words != "" {
				s.line("  %s  %s", s.in(dim, f.Path), brief(f.Words, 400))
			}
		}
	}
}

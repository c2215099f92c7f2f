package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// relationKinds are the kinds of relations that the command line accepts.
var relationKinds = []memory.RelationKind{memory.Refines, memory.Contradicts, memory.Follows, memory.SameSubject}

func newRelateCommand(g *sharedState) *cobra.Command {
	var end bool
	var q client.RelatedQuery
	cmd := &cobra.Command{
		Use:   "relate ID [KIND ID]",
		Short: "Relate a fact to another fact, or show its relations",
		Long: "Record that the first fact refines, contradicts or follows the second fact, or has the same_subject. loci undo reverts the change.\n" +
			"With only one ID, show the relations from and to that fact; --as-of shows the relations at an earlier time.",
		Example: "  loci relate 0199c5d2-…\n  loci relate 0199c5d2-… refines 0199c5d3-…\n  loci relate 0199c5d2-… refines 0199c5d3-… --end",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1 && len(args) != 3:
				return memory.Errorf(memory.Invalid, "give one id, or the id of a fact, a relation (one of %v) and the id of another fact", relationKinds)
			case len(args) == 3 && !slices.Contains(relationKinds, memory.RelationKind(args[1])):
				return memory.Errorf(memory.Invalid, "unknown relation %q; valid: %v", args[1], relationKinds)
			case len(args) == 1 && end:
				return memory.Errorf(memory.Invalid, "--end needs a relation: loci relate ID KIND ID --end")
			}
			return nil
		},
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := errors.Join(completeMemoryIDs(ctx, c, args[:1]), completeMemoryIDs(ctx, c, args[len(args)-1:])); err != nil {
				return err
			}
			if len(args) == 1 {
				return printAnswer(g, cmd, func(out printer, related client.RelatedMemories) { out.printRelated(args[0], related) })(c.Related(ctx, args[0], q))
			}
			req := client.RelateRequest{Kind: memory.RelationKind(args[1]), To: args[2]}
			if end {
				return printAnswer(g, cmd, func(out printer, r client.Receipt) { out.line("relation removed\n%s", g.undoHint(r.Run)) })(c.Unrelate(ctx, args[0], req))
			}
			return printAnswer(g, cmd, func(out printer, created client.MadeRelation) {
				if created.Run == "" {
					out.line("this relation exists already")
					return
				}
				out.line("%s %s %s\n%s", created.From, created.Kind, created.To, g.undoHint(created.Run))
			})(c.Relate(ctx, args[0], req))
		}),
	}
	cmd.Flags().BoolVar(&end, "end", false, "remove the relation instead of adding it")
	cmd.Flags().IntVar(&q.Steps, "steps", 0, "show facts up to this many relations away from the fact, at most 5 (default 1)")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "maximum number of facts (default 50)")
	return g.withReadFlags(cmd)
}

// printRelated prints each relation as a sentence, in which "it" is the fact with this id. The relations of
// that fact come before the relations of more distant facts.
func (s printer) printRelated(id string, related client.RelatedMemories) {
	if len(related.Relations)+len(related.Derived) == 0 {
		s.line("this fact has no relations")
		return
	}
	content := map[string]string{}
	for _, m := range related.Memories {
		content[m.ID] = shorten(m.Content, 100)
	}
	describe := func(factID string) string {
		if factID == id {
			return "it"
		}
		return strings.TrimSpace(fmt.Sprintf("%s  %s", factID, content[factID]))
	}
	for _, near := range []bool{true, false} {
		for _, r := range related.Relations {
			if near == (r.From == id || r.To == id) {
				s.line("%s %s %s", describe(r.From), s.styled(dim, string(r.Kind)), describe(r.To))
			}
		}
	}
	for _, r := range related.Derived {
		content[r.Memory.ID] = shorten(r.Memory.Content, 100)
		s.line("%s %s %s", describe(r.From), s.styled(dim, string(r.Kind)), describe(r.To))
	}
	if related.HasMore {
		s.line("there are more relations: --limit 200 shows them")
	}
}

func newShareCommand(g *sharedState) *cobra.Command {
	var end bool
	cmd := &cobra.Command{
		Use:   "share ID [user/NAME|pool/NAME|global]",
		Short: "Share a fact with another user, or list its recipients",
		Long: "The fact stays yours. Another user sees it after accepting it (loci review), unless the setting share.accept says otherwise.\n" +
			"The recipient sees a copy that follows your changes, including forget and erase, and can hide it (loci forget --id) but not edit it. An edited\n" +
			"text must be accepted again. The copy has no conversation, tags or project. global means all users; only administrators share with global or pools.",
		Example: "  loci share 0199c5d2-… user/ben\n  loci share 0199c5d2-… user/ben --end\n  loci share 0199c5d2-…",
		Args:    cobra.RangeArgs(1, 2),
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeMemoryIDs(ctx, c, args[:1]); err != nil {
				return err
			}
			printShares := printAnswer(g, cmd, func(out printer, shared client.Shared) {
				out.line("shared with %s", shorten(cmp.Or(strings.Join(shared.With, ", "), "nobody"), 2000))
			})
			switch {
			case len(args) == 1:
				return printShares(c.SharedWith(ctx, args[0]))
			case end:
				return printShares(c.Unshare(ctx, args[0], args[1]))
			}
			return printShares(c.Share(ctx, args[0], args[1]))
		}),
	}
	cmd.Flags().BoolVar(&end, "end", false, "stop sharing with the recipient")
	return withMemoryFlags(g, cmd)
}

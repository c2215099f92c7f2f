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

// relations are how a fact may be related to another, as people write it and read it.
var relations = []memory.RelationKind{memory.Refines, memory.Contradicts, memory.Follows, memory.SameSubject}

func relate(g *global) *cobra.Command {
	var end bool
	var q client.RelatedQuery
	cmd := &cobra.Command{
		Use:   "relate ID [KIND ID]",
		Short: "Relate a fact to another, or see what it is related to",
		Long: "The first fact refines, contradicts or follows the second, or has the same_subject. With one ID alone it shows what that\n" +
			"is related to, either way round; --as-of shows what it was related to then. loci undo takes back what this does.",
		Example: "  loci relate 0199c5d2-…\n  loci relate 0199c5d2-… refines 0199c5d3-…\n  loci relate 0199c5d2-… refines 0199c5d3-… --end",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1 && len(args) != 3:
				return memory.Errorf(memory.Invalid, "give one id, or an id, how it is related (one of %v) and the other's id", relations)
			case len(args) == 3 && !slices.Contains(relations, memory.RelationKind(args[1])):
				return memory.Errorf(memory.Invalid, "a fact is not related by %q; write one of %v", args[1], relations)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && end {
				return memory.Errorf(memory.Invalid, "--end needs the relation that ends: loci relate ID KIND ID --end")
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if err := errors.Join(completeMemoryIDs(ctx, c, args[:1]), completeMemoryIDs(ctx, c, args[len(args)-1:])); err != nil {
					return err
				}
				if len(args) == 1 {
					return show(g, cmd, func(out printer, found client.RelatedMemories) { out.related(args[0], found) })(c.Related(ctx, args[0], q))
				}
				in := client.RelateRequest{Kind: memory.RelationKind(args[1]), To: args[2]}
				if end {
					return show(g, cmd, func(out printer, r client.Receipt) { out.line("no longer\n%s", g.undoHint(r.Run)) })(c.Unrelate(ctx, args[0], in))
				}
				return show(g, cmd, func(out printer, made client.MadeRelation) {
					if made.Run == "" {
						out.line("it is related so already")
						return
					}
					out.line("%s %s %s\n%s", made.From, made.Kind, made.To, g.undoHint(made.Run))
				})(c.Relate(ctx, args[0], in))
			})
		},
	}
	cmd.Flags().BoolVar(&end, "end", false, "no longer")
	cmd.Flags().IntVar(&q.Steps, "steps", 0, "how many relations away, 5 at most (1 unless given)")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "most facts (50 unless given)")
	return g.reading(cmd)
}

// related writes each relation from the fact that was asked for as a sentence reads: what
// it is to others, then what others are to it, and those further away.
func (s printer) related(id string, found client.RelatedMemories) {
	if len(found.Relations)+len(found.Found) == 0 {
		s.line("it is related to nothing")
		return
	}
	content := map[string]string{}
	for _, m := range found.Memories {
		content[m.ID] = brief(m.Content, 100)
	}
	called := func(of string) string {
		if of == id {
			return "it"
		}
		return strings.TrimSpace(fmt.Sprintf("%s  %s", of, content[of]))
	}
	for _, near := range []bool{true, false} {
		for _, r := range found.Relations {
			if near == (r.From == id || r.To == id) {
				s.line("%s %s %s", called(r.From), s.in(dim, string(r.Kind)), called(r.To))
			}
		}
	}
	for _, r := range found.Found {
		content[r.Memory.ID] = brief(r.Memory.Content, 100)
		s.line("%s %s %s", called(r.From), s.in(dim, string(r.Kind)), called(r.To))
	}
	if found.More {
		s.line("and others: --limit 200 shows more")
	}
}

func share(g *global) *cobra.Command {
	var end bool
	cmd := &cobra.Command{
		Use:   "share ID [user/NAME|pool/NAME|global]",
		Short: "Show a fact to somebody else, or see whom it is shown to",
		Long: "The fact stays yours. Another user sees it once they accept it (loci review), unless the server is set otherwise (share.accept); other words wait again.\n" +
			"They see a copy that follows it, and may hide it (loci forget --id) but not change it: forgetting and erasing it reach them.\n" +
			"Where it was said, its tags and its project are not shown. global is everybody; only admins share with it and with pools.",
		Example: "  loci share 0199c5d2-… user/ben\n  loci share 0199c5d2-… user/ben --end\n  loci share 0199c5d2-…",
		Args:    cobra.RangeArgs(1, 2),
		RunE: g.request(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeMemoryIDs(ctx, c, args[:1]); err != nil {
				return err
			}
			shown := show(g, cmd, func(out printer, with client.Shared) {
				out.line("it is shared with %s", brief(cmp.Or(strings.Join(with.With, ", "), "nobody"), 2000))
			})
			switch {
			case len(args) == 1:
				return shown(c.SharedWith(ctx, args[0]))
			case end:
				return shown(c.Unshare(ctx, args[0], args[1]))
			}
			return shown(c.Share(ctx, args[0], args[1]))
		}),
	}
	cmd.Flags().BoolVar(&end, "end", false, "no longer")
	return onMemory(g, cmd)
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func newReviewCommand(g *sharedState) *cobra.Command {
	var r reviewFlags
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Approve or reject pending facts",
		Long: "Show each pending fact with its source text, the reason for the review and the contradicted facts, and ask for a decision:\n" +
			"a approve, e edit and approve, r reject, s skip, q quit. An approved fact replaces the facts that it contradicts.\n" +
			"A rejected fact is not learned again. A fact shared by another user is accepted unchanged and replaces no fact.\n" +
			"With flags the command asks nothing. One loci undo reverts all decisions of the flags together.",
		Example: "  loci review\n  loci review --list\n  loci review --approve 0199c5d2-… --reject 0199c5d3-…\n" +
			"  loci review --edit 0199c5d2-…=\"User lives in Porto\"\n  loci review --all-reject",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.parse(); err != nil {
				return err
			}
			return g.withClient(cmd, func(ctx context.Context, c *client.Client) error {
				if r.hasJudgements() {
					if err := r.completeIDs(ctx, c); err != nil {
						return err
					}
					return r.sendJudgements(ctx, g, c, cmd.OutOrStdout())
				}
				waiting, err := pendingFacts(ctx, c)
				if err != nil {
					return err
				}
				if g.asJSON || r.onlyList {
					return g.print(cmd.OutOrStdout(), client.Review{Waiting: waiting}, func(out printer) { out.printPendingFacts(waiting) })
				}
				return askForJudgements(ctx, c, cmd.InOrStdin(), newPrinter(cmd.OutOrStdout()), waiting)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&r.onlyList, "list", false, "only list the pending facts")
	f.StringArrayVar(&r.approveIDs, "approve", nil, "approve the fact with this id; may be repeated")
	f.StringArrayVar(&r.rejectIDs, "reject", nil, "reject the fact with this id; may be repeated")
	f.StringArrayVar(&r.edits, "edit", nil, "approve a fact with a new text, as ID=TEXT; may be repeated")
	f.BoolVar(&r.approveAll, "all-approve", false, "approve all pending facts that no other flag names")
	f.BoolVar(&r.rejectAll, "all-reject", false, "reject all pending facts that no other flag names")
	cmd.MarkFlagsMutuallyExclusive("all-approve", "all-reject")
	return withMemoryFlags(g, cmd)
}

// reviewFlags holds the flags of loci review.
type reviewFlags struct {
	onlyList                     bool
	approveIDs, rejectIDs, edits []string
	approveAll, rejectAll        bool
	judgements                   []client.Judgement // decisions in approveIDs, rejectIDs and edits, set by parse
}

func (r *reviewFlags) hasJudgements() bool {
	return len(r.judgements) > 0 || r.approveAll || r.rejectAll
}

// parse converts approveIDs, rejectIDs and edits to judgements.
func (r *reviewFlags) parse() error {
	for _, id := range r.approveIDs {
		r.judgements = append(r.judgements, client.Judgement{ID: id, Action: memory.ActionApprove})
	}
	for _, id := range r.rejectIDs {
		r.judgements = append(r.judgements, client.Judgement{ID: id, Action: memory.ActionReject})
	}
	for _, pair := range r.edits {
		id, text, ok := strings.Cut(pair, "=")
		if text = strings.TrimSpace(text); !ok || text == "" {
			return memory.Errorf(memory.Invalid, "--edit %s: write it as ID=TEXT", pair)
		}
		r.judgements = append(r.judgements, client.Judgement{ID: id, Action: memory.ActionApprove, Content: text})
	}
	if r.onlyList && r.hasJudgements() {
		return memory.Errorf(memory.Invalid, "--list only lists pending facts; leave it out to decide on them")
	}
	return nil
}

// completeIDs completes the ids in the flags.
func (r *reviewFlags) completeIDs(ctx context.Context, c *client.Client) (err error) {
	for i := range r.judgements {
		if r.judgements[i].ID, err = completeMemoryID(ctx, c, r.judgements[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// maxJudgements is the maximum number of decisions in one request.
const maxJudgements = 500

// sendJudgements sends the decisions of the flags, at most maxJudgements in a request. Each request is one run.
func (r *reviewFlags) sendJudgements(ctx context.Context, g *sharedState, c *client.Client, w io.Writer) error {
	judgements := r.judgements
	if r.approveAll || r.rejectAll {
		action := memory.ActionApprove
		if r.rejectAll {
			action = memory.ActionReject
		}
		waiting, err := pendingFacts(ctx, c)
		if err != nil {
			return err
		}
		for _, pending := range waiting {
			if !slices.ContainsFunc(judgements, func(j client.Judgement) bool { return j.ID == pending.Memory.ID }) {
				judgements = append(judgements, client.Judgement{ID: pending.Memory.ID, Action: action, SeenText: sharedFactText(pending)})
			}
		}
	}
	done := []client.Reviewed{}
	for part := range slices.Chunk(judgements, maxJudgements) {
		reviewed, err := c.Judge(ctx, client.ReviewRequest{Judgements: part})
		if err != nil {
			return err
		}
		done = append(done, reviewed)
	}
	return g.print(w, done, func(out printer) {
		if len(done) == 0 {
			out.line("no facts wait for review")
		}
		for _, pending := range done {
			for _, m := range pending.Memories {
				out.printJudgedFact(m)
			}
			out.line("%s", g.undoHint(pending.Run))
		}
	})
}

// sharedFactText returns the text of a fact shared by another user, so that the server can refuse the decision if
// the text has changed; "" for the user's own facts.
func sharedFactText(w client.Waiting) string {
	if w.Memory.Home == "" {
		return ""
	}
	return w.Memory.Content
}

func (s printer) printJudgedFact(m client.Memory) {
	verb := "approved"
	if m.Status == memory.Rejected {
		verb = "rejected"
	}
	s.line("%s %s  %s", verb, s.styled(dim, m.ID), shorten(m.Content, 120))
}

// pendingFacts returns all pending facts, newest first.
func pendingFacts(ctx context.Context, c *client.Client) ([]client.Waiting, error) {
	all, err := memory.Collect(memory.Pages(func(cursor string) ([]client.Waiting, string, error) {
		page, err := c.Review(ctx, client.ReviewQuery{Limit: 500, Cursor: cursor})
		return page.Waiting, page.Next, err
	}))
	if all == nil {
		all = []client.Waiting{} // the JSON is [], not null
	}
	return all, err
}

func (s printer) printPendingFacts(pending []client.Waiting) {
	if len(pending) == 0 {
		s.line("no facts wait for review")
	}
	for i, w := range pending {
		s.printPendingFact(w, fmt.Sprintf("%d of %d", i+1, len(pending)))
	}
}

// printPendingFact prints one pending fact after its position, such as "2 of 5".
func (s printer) printPendingFact(w client.Waiting, position string) {
	s.line("%s  %s", position, s.styled(dim, w.Memory.ID))
	s.line("  %-9s %s", "fact", s.styled(bold, shorten(w.Memory.Content, 400)))
	s.line("  %-9s %s  %s", "reason", cmp.Or(shorten(w.Reason, 200), "no reason given"), s.styled(dim, "("+authorText(w.Author)+")"))
	if w.Quote != nil {
		s.line("  %-9s %s", "said", s.quoteText(*w.Quote))
		s.line("  %-9s %s", "", s.styled(dim, quoteSource(*w.Quote)))
	}
	for _, old := range w.Conflicts {
		if w.Memory.Home != "" {
			s.line("  %-9s %s  %s", "against", shorten(old.Content, 400), s.styled(dim, "(your own fact, which takes precedence, "+old.ID+")"))
			continue
		}
		s.line("  %-9s %s  %s", "instead of", shorten(old.Content, 400), s.styled(dim, "(said "+formatTime(old.ObservedAt)+", "+old.ID+")"))
		s.line("  %-9s %s", "", s.diffText(old.Content, w.Memory.Content))
	}
}

// askForJudgements shows each pending fact, asks for a decision and sends it to the server.
func askForJudgements(ctx context.Context, c *client.Client, in io.Reader, s printer, pending []client.Waiting) error {
	if len(pending) == 0 {
		s.line("no facts wait for review")
		return nil
	}
	lines := readLines(ctx, in)
	f, ok := in.(*os.File)
	echoed := ok && isTerminal(f)
	next := func() (string, error) {
		line, err := nextLine(ctx, lines)
		if err == nil && !echoed { // a terminal has already shown the typed line
			fmt.Fprintln(s, line)
		}
		return line, err
	}
	decided, ended := 0, false
	for i, w := range pending {
		s.printPendingFact(w, fmt.Sprintf("%d of %d", i+1, len(pending)))
		if ended {
			continue // after the end of the input, only show the remaining facts
		}
		j, err := askForJudgement(next, s, w)
		switch {
		case errors.Is(err, io.EOF):
			ended = true
		case errors.Is(err, errQuit):
			s.line("%d decided, %d pending", decided, len(pending)-decided)
			return nil
		case err != nil:
			return err
		}
		if j.ID == "" || ctx.Err() != nil {
			continue
		}
		reviewed, err := c.Judge(ctx, client.ReviewRequest{Judgements: []client.Judgement{j}})
		if errors.Is(err, memory.Conflict) || errors.Is(err, memory.Duplicate) || errors.Is(err, memory.NotFound) {
			s.line("the decision was not applied: %v", err) // another client has decided on this fact
			continue
		}
		if err != nil {
			return err
		}
		decided++
		s.printJudgedFact(reviewed.Memories[0])
	}
	s.line("%d decided, %d pending", decided, len(pending)-decided)
	return ctx.Err()
}

var errQuit = errors.New("quit")

// askForJudgement asks until the answer is valid. The zero Judgement means skip.
func askForJudgement(readLine func() (string, error), s printer, w client.Waiting) (client.Judgement, error) {
	j := client.Judgement{ID: w.Memory.ID, Action: memory.ActionApprove, SeenText: sharedFactText(w)}
	keys := "a approve, e edit, r reject, s skip, q quit"
	if w.Memory.Home != "" {
		keys = "a accept, r reject, s skip, q quit"
	}
	for {
		fmt.Fprintf(s, "%s: ", keys)
		key, err := readLine()
		if err != nil {
			fmt.Fprintln(s)
			return client.Judgement{}, err
		}
		switch strings.ToLower(key + " ")[0] {
		case 'a':
			return j, nil
		case 'r':
			j.Action = memory.ActionReject
			return j, nil
		case 's':
			return client.Judgement{}, nil
		case 'q':
			return client.Judgement{}, errQuit
		case 'e':
			if w.Memory.Home != "" {
				continue // only the owner of the shared fact may edit it
			}
			fmt.Fprint(s, "new text: ")
			if j.Content, err = readLine(); err != nil || j.Content != "" {
				return j, err
			}
		}
	}
}

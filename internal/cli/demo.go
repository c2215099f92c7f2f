package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/recall"
)

func newDemoCommand(g *sharedState) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See how Loci remembers a person; needs no model and no setup",
		Long: "Start a real server with default settings and send it three chats of one person, on three different days, over HTTP.\n" +
			"Then show the learned facts and why the last answer used them, forget a fact, undo that, and keep the server running.\n" +
			"The demo stores its memory in a temporary folder until it ends, and ignores settings from the environment.",
		Example: "  loci demo\n  loci demo --once",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return playDemo(cmd.Context(), cmd.OutOrStdout(), *g.flags["addr"], once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "exit after the chats instead of keeping the server running")
	return cmd
}

// playDemo runs the server and plays the chats.
func playDemo(ctx context.Context, w io.Writer, addr string, exitAfterChats bool) (err error) {
	ctx, release := signal.NotifyContext(ctx, syscall.SIGHUP) // a closed terminal ends the demo like Ctrl-C
	defer release()
	fmt.Fprintln(w, "Loci demo: no model, no key, no network. Three chats of one person; each starts with an empty history.")
	dir, err := os.MkdirTemp("", "loci-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clock := &demoClock{}
	s, err := openDemo(ctx, dir, addr, clock)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.run(ctx) })
	group.Go(func() error {
		d := &demoPlayer{w: w, server: s, clock: clock, client: client.New(s.url(), client.Options{})}
		if err := d.playChats(ctx); err != nil {
			return err
		}
		if exitAfterChats {
			stop()
			return nil
		}
		fmt.Fprintf(w, "\nThe server stays up, with this memory, until you press Ctrl-C:\n")
		s.printAddresses(w)
		fmt.Fprintf(w, "\nAsk it yourself:\n  curl %s/v1/chat/completions -d '{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"What am I allergic to?\"}]}'\n", s.url(), responder.Name)
		return nil
	})
	return group.Wait()
}

// openDemo opens a memory in dir and listens at addr. An empty addr means the default address or, if
// another program uses that address, a free port.
func openDemo(ctx context.Context, dir, addr string, clock *demoClock) (*server, error) {
	flags := map[string]string{"data": dir, "log.level": "warn"}
	if addr != "" {
		flags["addr"] = addr
	}
	config, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		return nil, err
	}
	opts := loci.Options{Log: os.Stderr, Now: clock.now}
	if addr != "" {
		return openServer(ctx, config, opts, nil)
	}
	return openOnFreePort(ctx, config, opts)
}

// demoClock is a clock with an offset from the current time, in nanoseconds.
type demoClock struct{ offset atomic.Int64 }

func (c *demoClock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *demoClock) setDaysAgo(n int) { c.offset.Store(-int64(n) * int64(24*time.Hour)) }

// demoPlayer plays the demo's chats and prints what happens.
type demoPlayer struct {
	w      io.Writer
	server *server
	clock  *demoClock
	client *client.Client
}

// demoChats are the messages of one person. Each chat starts with an empty history.
var demoChats = []struct {
	daysAgo  int
	messages []string
}{
	{12, []string{
		"Hi! My name is Ana. I live in Berlin and I work as a nurse.",
		"I'm allergic to peanuts, please remember that.",
	}},
	{4, []string{
		"Guess what, I moved to Lisbon last week!",
		"My dog Rex loves the beach here.",
	}},
	{0, []string{
		"Where do I live now?",
	}},
}

func (d *demoPlayer) playChats(ctx context.Context) error {
	trace := ""
	for i, chat := range demoChats {
		d.clock.setDaysAgo(chat.daysAgo)
		fmt.Fprintf(d.w, "\n── Chat %d, %s ──\n", i+1, d.clock.now().Format("Monday 2 January 2006"))
		begun, err := d.client.NewChat(ctx, client.NewChat{})
		if err != nil {
			return err
		}
		for _, text := range chat.messages {
			fmt.Fprintf(d.w, "  Ana   %s\n", text)
			done, err := d.client.Say(ctx, begun.ID, client.SayRequest{Content: text, Model: responder.Name},
				client.ChatListener{Memory: func(m client.ChatMemory) { trace = m.Trace }})
			if err != nil {
				return err
			}
			fmt.Fprintf(d.w, "  Loci  %s\n", strings.ReplaceAll(done.Answer.Content, "\n", "\n        "))
		}
		if err := d.server.Settle(ctx); err != nil {
			return err
		}
	}
	if err := d.printLearned(ctx); err != nil {
		return err
	}
	if err := d.printWhy(ctx, trace); err != nil {
		return err
	}
	return d.playForget(ctx)
}

// printLearned prints the facts, and marks replaced facts.
func (d *demoPlayer) printLearned(ctx context.Context) error {
	fmt.Fprintf(d.w, "\n── What was learned ──\n")
	page, err := d.client.List(ctx, client.ListQuery{Status: "active,superseded"})
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, m := range page.Memories {
		texts[m.ID] = m.Content
	}
	for i := len(page.Memories) - 1; i >= 0; i-- {
		m := page.Memories[i]
		mark, note := "✓", ""
		if m.SupersededBy != "" {
			mark, note = "✗", fmt.Sprintf("   replaced by “%s”", texts[m.SupersededBy])
		}
		fmt.Fprintf(d.w, "  %s %s  %s%s\n", mark, m.ObservedAt.Format("2006-01-02"), m.Content, note)
	}
	return nil
}

// printWhy prints the memories in the prompt of the last answer, each with the reasons why it was found.
func (d *demoPlayer) printWhy(ctx context.Context, traceID string) error {
	t, err := d.client.Trace(ctx, traceID)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.w, "\n── Which memories the last answer used, and why ──\n")
	for _, h := range t.Hits {
		fmt.Fprintf(d.w, "  %-4s  %s\n        because %s\n", h.Kind, oneLine(h.Content, 90), recall.ReasonText(h.Why))
	}
	fmt.Fprintf(d.w, "  in %.1f ms\n", t.Took.Seconds()*1000)
	return nil
}

// playForget forgets a fact and undoes that.
func (d *demoPlayer) playForget(ctx context.Context) error {
	const question = "What am I allergic to?"
	search := func() error {
		fmt.Fprintf(d.w, "  $ loci search \"%s\"\n", question)
		one := 1
		found, err := d.client.Search(ctx, client.SearchRequest{Query: question, TopK: &one})
		if len(found.Hits) == 0 && err == nil {
			fmt.Fprintln(d.w, "    nothing relevant")
		}
		for _, h := range found.Hits {
			fmt.Fprintf(d.w, "    %s\n", oneLine(h.Content, 90))
		}
		return err
	}
	fmt.Fprintf(d.w, "\n── Forgetting, and undo ──\n  $ loci forget \"my allergy\" --yes\n")
	forgotten, err := d.client.Forget(ctx, client.ForgetRequest{Query: "my allergy"})
	if err != nil {
		return err
	}
	for _, m := range forgotten.Memories {
		fmt.Fprintf(d.w, "    forgot %s: %s\n", m.Kind, oneLine(m.Content, 90))
	}
	if err := search(); err != nil {
		return err
	}
	undone, err := d.client.Undo(ctx, client.UndoRequest{Run: forgotten.Run})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.w, "  $ loci undo --yes\n    took back %s\n", countText(len(undone.Steps), "changes"))
	return search()
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/responder"
)

func demo(g *global) *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See a person being remembered, with nothing installed",
		Long: "Start a real server on built-in defaults, play three chats of one person on different days over HTTP, show what\n" +
			"was learned and what went into the last answer and why, and leave the server up. It keeps its memory in a folder\n" +
			"of its own, which is removed at the end; settings of the environment are not used.",
		Example: "  loci demo\n  loci demo --once",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return playDemo(cmd.Context(), cmd.OutOrStdout(), *g.flags["addr"], once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "exit when the chats are over")
	return cmd
}

// playDemo runs the server and the chats.
func playDemo(ctx context.Context, w io.Writer, addr string, once bool) (err error) {
	dir, err := os.MkdirTemp("", "loci-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clock := &travelClock{}
	s, err := openDemo(ctx, dir, addr, clock)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.run(ctx) })
	group.Go(func() error {
		d := &demonstration{w: w, server: s, clock: clock, memory: client.New(s.url(), client.Options{})}
		if err := d.play(ctx); err != nil {
			return err
		}
		if once {
			stop()
			return nil
		}
		fmt.Fprintf(w, "\nThe server stays up, with this memory, until you press Ctrl-C:\n")
		s.addresses(w)
		fmt.Fprintf(w, "\nAsk it yourself:\n  curl %s/v1/chat/completions -d '{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"What am I allergic to?\"}]}'\n", s.url(), responder.Name)
		return nil
	})
	return group.Wait()
}

// openDemo opens a memory in dir, at the usual address or, if that is taken and
// none was asked for, at a free port.
func openDemo(ctx context.Context, dir, addr string, clock *travelClock) (*server, error) {
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
		return open(ctx, config, opts, nil)
	}
	return openAnywhere(ctx, config, opts)
}

// travelClock is the present, moved.
type travelClock struct{ offset atomic.Int64 }

func (c *travelClock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *travelClock) daysAgo(n int) { c.offset.Store(-int64(n) * int64(24*time.Hour)) }

// demonstration plays chats and tells about them.
type demonstration struct {
	w      io.Writer
	server *server
	clock  *travelClock
	memory *client.Client
}

// chats are what one person says, each chat with a history of its own.
var chats = []struct {
	daysAgo int
	says    []string
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

func (d *demonstration) play(ctx context.Context) error {
	fmt.Fprintf(d.w, "Loci demo: no model, no key, no network. Three chats of one person; each starts with an empty history.\n")
	trace := ""
	for i, chat := range chats {
		d.clock.daysAgo(chat.daysAgo)
		fmt.Fprintf(d.w, "\n── Chat %d, %s ──\n", i+1, d.clock.now().Format("Monday 2 January 2006"))
		begun, err := d.memory.NewChat(ctx, client.NewChat{})
		if err != nil {
			return err
		}
		for _, text := range chat.says {
			fmt.Fprintf(d.w, "  Ana   %s\n", text)
			done, err := d.memory.Say(ctx, begun.ID, client.SayRequest{Content: text, Model: responder.Name},
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
	if err := d.learned(ctx); err != nil {
		return err
	}
	return d.why(ctx, trace)
}

// learned shows the facts, and what became of the old ones.
func (d *demonstration) learned(ctx context.Context) error {
	fmt.Fprintf(d.w, "\n── What was learned ──\n")
	page, err := d.memory.List(ctx, client.ListQuery{Status: "active,superseded"})
	if err != nil {
		return err
	}
	words := map[string]string{}
	for _, m := range page.Memories {
		words[m.ID] = m.Content
	}
	for i := len(page.Memories) - 1; i >= 0; i-- {
		m := page.Memories[i]
		mark, note := "✓", ""
		if m.SupersededBy != "" {
			mark, note = "✗", fmt.Sprintf("   replaced by “%s”", words[m.SupersededBy])
		}
		fmt.Fprintf(d.w, "  %s %s  %s%s\n", mark, m.ObservedAt.Format("2006-01-02"), m.Content, note)
	}
	return nil
}

// why shows what the last answer was given, and how each score came about.
func (d *demonstration) why(ctx context.Context, id string) error {
	t, err := d.memory.Trace(ctx, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.w, "\n── What went into the last answer, and why ──\n")
	cut := t.Found
	for _, h := range t.Hits {
		if h.Why.Get("core") == 0 { // what begins every prompt was not searched for
			cut--
		}
		parts := make([]string, 0, len(h.Why))
		for _, p := range h.Why {
			parts = append(parts, fmt.Sprintf("%s %.2f", p.Name, p.Value))
		}
		fmt.Fprintf(d.w, "  %.2f  %-4s  %s\n        %s\n", h.Score, h.Kind, oneLine(h.Content, 90), strings.Join(parts, " · "))
	}
	fmt.Fprintf(d.w, "  found %d, left out %d, in %.1f ms\n", t.Found, cut, t.Took.Seconds()*1000)
	return nil
}

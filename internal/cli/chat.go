package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func newChatCommand(g *sharedState) *cobra.Command {
	var id, model string
	cmd := &cobra.Command{
		Use:   "chat [MESSAGE]",
		Short: "Talk to a model that remembers",
		Long: "Chat with a model in the terminal. The memories that Loci recalls for a message are shown before the reply.\n" +
			"With MESSAGE the command sends that message, prints the reply and exits. These lines control the chat:\n\n" + chatHelp,
		Example: "  loci chat\n  loci chat \"What am I allergic to?\"\n  loci chat --chat 0199c5d1-… --model llama3.2",
		RunE: g.runWithClient(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
			if err := completeChatID(ctx, c, &id); err != nil {
				return err
			}
			t := &terminalChat{client: c, out: newPrinter(cmd.OutOrStdout()), chatID: id, model: model}
			if len(args) > 0 {
				return t.sendMessage(ctx, strings.Join(args, " "))
			}
			return t.handleLines(ctx, cmd.InOrStdin())
		}),
	}
	cmd.Flags().StringVar(&id, "chat", "", "id of a chat to continue (default: a new chat)")
	cmd.Flags().StringVar(&model, "model", "", "model that answers (default: the server chooses)")
	g.withUserFlag(cmd)
	return cmd
}

const chatHelp = `  /new            start a new chat
  /again          get another reply to the last message
  /help           show this list
  /quit           exit, as Ctrl-C does
`

// terminalChat is the state of a chat in a terminal.
type terminalChat struct {
	client *client.Client
	out    printer
	chatID string // empty before the first message
	model  string
}

// handleLines handles each input line until the input or ctx ends.
func (t *terminalChat) handleLines(ctx context.Context, in io.Reader) error {
	t.out.line("%s", t.out.styled(dim, "Type a message; /help lists the commands."))
	lines := readLines(ctx, in)
	for {
		fmt.Fprint(t.out, t.out.styled(bold, "> "))
		line, err := nextLine(ctx, lines)
		switch {
		case err != nil:
			t.out.line("")
			return nil
		case line == "":
			continue
		case line == "/quit":
			return nil
		}
		if err := t.handleLine(ctx, line); err != nil && ctx.Err() == nil {
			t.out.line("%s", t.out.styled(red, sanitize(err.Error())))
		}
	}
}

// nextLine returns the next line without surrounding spaces, and io.EOF at the end of the input.
func nextLine(ctx context.Context, lines <-chan string) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-lines:
		if !ok {
			return "", io.EOF
		}
		return strings.TrimSpace(line), nil
	}
}

// readLines returns a channel of the lines of in. A goroutine reads them, because ctx cannot interrupt a read.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if err == nil || line != "" {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// handleLine handles one line of input. It sends an unknown /word as a message, because applications
// behind the server may have commands of that form.
func (t *terminalChat) handleLine(ctx context.Context, line string) error {
	words := strings.Fields(line)
	switch words[0] {
	case "/new":
		t.chatID = ""
		t.out.line("%s", t.out.styled(dim, "a new chat"))
		return nil
	case "/again":
		return t.regenerate(ctx)
	case "/help":
		fmt.Fprint(t.out, chatHelp)
		return nil
	}
	return t.sendMessage(ctx, line)
}

func (t *terminalChat) sendMessage(ctx context.Context, text string) error {
	if err := t.ensureChat(ctx); err != nil {
		return err
	}
	return t.printReply(func(listener client.ChatListener) (client.ChatDone, error) {
		return t.client.Say(ctx, t.chatID, client.SayRequest{Content: text, Model: t.model}, listener)
	})
}

func (t *terminalChat) regenerate(ctx context.Context) error {
	if t.chatID == "" {
		return memory.Errorf(memory.Invalid, "this chat has no message yet; type one first")
	}
	return t.printReply(func(listener client.ChatListener) (client.ChatDone, error) {
		return t.client.Regenerate(ctx, t.chatID, client.RegenerateRequest{Model: t.model}, listener)
	})
}

// ensureChat creates a chat on the server unless t already has a chat.
func (t *terminalChat) ensureChat(ctx context.Context) error {
	if t.chatID != "" {
		return nil
	}
	created, err := t.client.NewChat(ctx, client.NewChat{})
	t.chatID = created.ID
	return err
}

// maxShownHits is the maximum number of memories shown before a reply.
const maxShownHits = 5

// printReply calls send, which requests a reply, and prints the recalled memories, then the reply as it arrives.
func (t *terminalChat) printReply(send func(client.ChatListener) (client.ChatDone, error)) error {
	done, err := send(client.ChatListener{
		Memory: func(m client.ChatMemory) {
			for _, h := range m.Hits[:min(maxShownHits, len(m.Hits))] {
				t.out.line("%s", t.out.styled(dim, "  remembered: "+shorten(h.Content, 100)))
			}
			if hidden := len(m.Hits) - maxShownHits; hidden > 0 {
				t.out.line("%s", t.out.styled(dim, fmt.Sprintf("  and %d more", hidden)))
			}
		},
		Delta: func(d client.ChatDelta) { fmt.Fprint(t.out, sanitize(d.Content)) },
	})
	t.out.line("")
	if err == nil && done.Answer == nil {
		t.out.line("%s", t.out.styled(dim, "  (this exchange was not stored)"))
	}
	return err
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

const (
	hookName     = "hook"
	hookDeadline = 2 * time.Second // the agent waits for its hooks; recall takes a second at most (recall.deadline_max)
	maxHookInput = 8 << 20
	maxProject   = 256    // letters, as the API has it
	maxQuestion  = 20_000 // bytes of a prompt that memory is asked; the API takes 100,000 letters
)

func hook(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   hookName,
		Short: "Give a coding agent's hook what memory has, and record what was said",
		Long: "Read the event of a Claude Code or Codex hook on standard input. For UserPromptSubmit, print the memory for the prompt and\n" +
			"record the prompt; for Stop, record the answer. It asks the server that runs and starts none. Whatever goes wrong, it exits\n" +
			"with 0 and writes one line to standard error, so that the agent goes on. loci connect writes it into the agent's settings.",
		Example:            "  loci hook < event.json\n  loci connect claude-code --yes",
		Args:               cobra.ArbitraryArgs, // an error would stop the agent
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.answerHook(cmd); err != nil {
				tellHook(cmd.ErrOrStderr(), err)
			}
			return nil
		},
	}
	g.withUser(cmd)
	return cmd
}

// tellHook writes in one line why a hook did nothing.
func tellHook(w io.Writer, err error) {
	fmt.Fprintln(w, "loci hook:", oneLine(err.Error(), 300))
}

// hookEvent is what Claude Code and Codex write to a hook's standard input.
type hookEvent struct {
	Event    string `json:"hook_event_name"`
	Session  string `json:"session_id"`
	Turn     string `json:"turn_id"`   // of Codex
	PromptID string `json:"prompt_id"` // of Claude Code; older versions send none
	Agent    string `json:"agent_id"`  // "" but in a sub-agent
	Folder   string `json:"cwd"`
	Prompt   string `json:"prompt"`
	Answer   string `json:"last_assistant_message"` // older versions of Claude Code send none
}

func (g *global) answerHook(cmd *cobra.Command) (err error) {
	defer func() {
		if p := recover(); p != nil { // a panic exits with 2, by which a hook refuses the prompt
			err = fmt.Errorf("%v", p)
		}
	}()
	var e hookEvent
	if err := json.NewDecoder(io.LimitReader(cmd.InOrStdin(), maxHookInput)).Decode(&e); err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	config, err := g.load(cmd)
	if err != nil {
		return err
	}
	url := config.ServerURL()
	if config.FolderDecides() {
		if url = config.ServedAt(); url == "" {
			return errors.New("no server has the data folder open; start one: loci serve")
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), hookDeadline)
	defer cancel()
	c := client.New(url, client.Options{Key: config.APIKey, User: g.user})
	switch {
	case e.Session == "":
		return errors.New("the event has no session_id")
	case e.Event == "UserPromptSubmit":
		return e.prompted(ctx, c, cmd.OutOrStdout())
	case e.Event == "Stop":
		return e.answered(ctx, c)
	}
	return fmt.Errorf("unknown event %q; known are UserPromptSubmit and Stop", e.Event)
}

// prompted prints what memory has about a prompt, and records the prompt. What the client
// wrote in the user's name is neither asked nor recorded, and a sub-agent's prompt, which a
// model wrote, is not recorded.
func (e hookEvent) prompted(ctx context.Context, c *client.Client, w io.Writer) error {
	words := utterance.Words(e.Prompt)
	if strings.TrimSpace(words) == "" || utterance.IsTask(e.Prompt) {
		return nil
	}
	question := strings.ToValidUTF8(words[:min(len(words), maxQuestion)], "")
	found, err := c.Search(ctx, client.SearchRequest{Query: question, Block: true, AskedIn: e.Session, Project: e.project()})
	if err != nil {
		return err
	}
	if found.Block != "" {
		if err := printContext(w, e.Event, found.Block); err != nil {
			return err
		}
	}
	if e.Agent != "" || found.Pause == "memory" {
		return nil
	}
	return e.record(ctx, c, client.Message{Role: memory.RoleUser, Content: words, ID: e.turn()})
}

func printContext(w io.Writer, event, text string) error {
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(map[string]output{"hookSpecificOutput": {event, text}})
}

// answered records an answer behind its prompt: not without that, as for one that nobody
// typed or that is off the record, and not a second time.
func (e hookEvent) answered(ctx context.Context, c *client.Client) error {
	if e.Agent != "" || strings.TrimSpace(e.Answer) == "" {
		return nil
	}
	last, err := c.List(ctx, client.ListQuery{Kind: string(memory.KindTurn), Conversation: e.Session, Limit: 1})
	if err != nil || len(last.Memories) == 0 {
		return err
	}
	asked := last.Memories[0]
	if asked.Role != memory.RoleUser || asked.Ref != "" && e.turn() != "" && asked.Ref != e.turn() {
		return nil
	}
	return e.record(ctx, c, client.Message{Role: memory.RoleAssistant, Content: e.Answer})
}

// record adds a message to the session's conversation, once for each turn that has an id.
func (e hookEvent) record(ctx context.Context, c *client.Client, m client.Message) error {
	key := ""
	if e.turn() != "" {
		key = strings.Join([]string{"hook", e.Session, e.turn(), string(m.Role)}, "/")
	}
	_, err := c.AddMessagesOnce(ctx, key, client.AddMessages{Conversation: e.Session, Project: e.project(), Messages: []client.Message{m}})
	return err
}

func (e hookEvent) turn() string { return cmp.Or(e.Turn, e.PromptID) }

// project is the folder that the agent was started in. Claude Code's cwd is that of its shell,
// and may change within a session.
func (e hookEvent) project() string {
	folder := cmp.Or(os.Getenv("CLAUDE_PROJECT_DIR"), e.Folder)
	if len(folder) > maxProject || !filepath.IsAbs(folder) {
		return ""
	}
	return folder
}

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// claudeExport has a conversation as older exports have them, a tree as newer ones do,
// one where nothing was said, one that is broken, and one of which only a file was sent.
const claudeExport = `[
{"uuid":"c1","name":"Tea","summary":"about tea","created_at":"2024-05-01T10:00:00.500000Z","updated_at":"2024-05-01T10:09:00Z","account":{"uuid":"a"},"chat_messages":[
 {"uuid":"m1","text":"Which tea do I like?","content":[{"type":"text","text":"Which tea do I like?","citations":[]}],"sender":"human","created_at":"2024-05-01T12:00:01.250000+02:00","attachments":[{"file_name":"a.txt","extracted_content":"what another wrote"}],"files":[{"file_name":"a.png"}]},
 {"uuid":"m2","text":"Hm.\nThis block is not supported\nOolong.","content":[{"type":"thinking","thinking":"Let me see"},{"type":"text","text":"Hm."},{"type":"tool_use","name":"look","input":{}},{"type":"text","text":"Oolong."}],"sender":"assistant","created_at":null},
 {"uuid":"m3","text":"This block is not supported","content":[{"type":"tool_use"}],"sender":"assistant"},
 {"uuid":"m4","text":"","content":[],"sender":"human","created_at":"2024-05-01T10:01:00Z","files":[{"file_name":"b.png"}]},
 {"uuid":"m5","text":"Right","sender":"human","created_at":"2024-05-01T10:02:00Z"}]},
{"uuid":"c2","name":"Tree","created_at":"2024-06-01T10:00:00Z","chat_messages":[
 {"uuid":"n1","sender":"human","text":"Where do I live?","created_at":"2024-06-01T10:00:00Z","parent_message_uuid":"00000000-0000-4000-8000-000000000000"},
 {"uuid":"n2x","sender":"assistant","text":"An answer that was regenerated","parent_message_uuid":"n1"},
 {"uuid":"n2","sender":"assistant","text":"In Porto","created_at":"2024-06-01T10:00:09Z","parent_message_uuid":"n1"},
 {"uuid":"n3x","sender":"human","text":"A question that was edited","parent_message_uuid":"n2"},
 {"uuid":"n3","sender":"human","text":"Since when?","created_at":"2024-06-01T10:01:00Z","parent_message_uuid":"n2"}]},
{"uuid":"c3","name":"","chat_messages":[]},
{"uuid":"c4","chat_messages":{"a":1}},
{"name":"no uuid","chat_messages":[{"sender":"human","text":"lost"}]},
{"uuid":"c6","name":"A file","created_at":"2024-06-01T10:00:00Z","chat_messages":[{"uuid":"o1","sender":"human","text":"","content":[],"attachments":[{"extracted_content":"what another wrote"}]}]}
]`

// spoken returns the turns of the conversations of a title, in order.
func (r *rig) spoken(t *testing.T, title string) (c memory.Conversation, said []string) {
	t.Helper()
	page := try(r.Store.Conversations(context.Background(), ana, memory.ConversationQuery{})).orFail(t)
	i := slices.IndexFunc(page.Conversations, func(c memory.Conversation) bool { return c.Title == title })
	if i < 0 {
		t.Fatalf("no conversation %q in %+v", title, page.Conversations)
	}
	turns := try(r.Store.Turns(context.Background(), ana, memory.TurnQuery{Conversation: page.Conversations[i].ID})).orFail(t)
	for i, turn := range turns {
		said = append(said, fmt.Sprintf("%d %s: %s %s %v", turn.Index, turn.Role, turn.Content, turn.CreatedAt.UTC().Format(time.RFC3339Nano), turn.NoLearn))
		if i > 0 && turn.Parent != turns[i-1].ID {
			t.Errorf("turn %d has parent %s, want %s", i, turn.Parent, turns[i-1].ID)
		}
	}
	return page.Conversations[i], said
}

func TestAChatOfClaudeComesAsItWasSaid(t *testing.T) {
	for _, format := range []portable.Format{portable.Claude, portable.ChatGPT} { // files of both have the same name
		t.Run(string(format), func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				out := r.bring(t, ana, transfer.ImportOptions{Format: format, Project: "p"}, "\ufeff"+claudeExport)
				if out.Added != (transfer.Tally{Conversations: 2, Turns: 6}) || out.Broken != 2 || out.Problems[0].Line != 4 || out.Problems[1].Line != 5 || !strings.Contains(out.Problems[1].Reason, "uuid") {
					t.Fatalf("%+v", out)
				}
				c, tea := r.spoken(t, "Tea")
				if !c.CreatedAt.Equal(time.Date(2024, 5, 1, 10, 0, 0, 5e8, time.UTC)) || !c.UpdatedAt.Equal(time.Date(2024, 5, 1, 10, 9, 0, 0, time.UTC)) || c.Project != "p" {
					t.Errorf("the conversation: %+v", c)
				}
				if want := []string{
					"0 user: Which tea do I like? 2024-05-01T10:00:01.25Z true",
					"1 assistant: Hm.\nOolong. 2024-05-01T10:00:01.25Z false",
					"2 user: Right 2024-05-01T10:02:00Z true",
				}; !slices.Equal(tea, want) {
					t.Errorf("a list: %q, want %q", tea, want)
				}
				_, tree := r.spoken(t, "Tree")
				if want := []string{
					"0 user: Where do I live? 2024-06-01T10:00:00Z true",
					"1 assistant: In Porto 2024-06-01T10:00:09Z false",
					"2 user: Since when? 2024-06-01T10:01:00Z true",
				}; !slices.Equal(tree, want) {
					t.Errorf("a tree: %q, want %q", tree, want)
				}
				again := r.bring(t, ana, transfer.ImportOptions{Format: format, Project: "p"}, claudeExport)
				if again.Added != (transfer.Tally{}) || again.Existing.Turns != 6 || again.Conflicting > 0 {
					t.Errorf("again: %+v", again)
				}
			})
		})
	}
}

func TestAnExportThatWasCutOffIsReadUpToThere(t *testing.T) {
	r := newRig(t, stores["inmem"])
	cutOff := claudeExport[:strings.Index(claudeExport, `{"uuid":"n3"`)]
	out := r.bring(t, ana, transfer.ImportOptions{Format: portable.Claude}, cutOff)
	if out.Added != (transfer.Tally{Conversations: 1, Turns: 3}) || out.Broken != 1 || out.Problems[0].Line != 2 || !strings.Contains(out.Problems[0].Reason, "the rest of the file is not read") {
		t.Fatalf("%+v", out)
	}
	whole := r.bring(t, ana, transfer.ImportOptions{Format: portable.Claude}, claudeExport)
	if whole.Added != (transfer.Tally{Conversations: 1, Turns: 3}) || whole.Existing.Turns != 3 {
		t.Errorf("the whole of it afterwards: %+v", whole)
	}
}

// A chat as other programs keep it has a line for each message, and no ids of Loci's.
const chatLines = `{"type":"conversation","id":"trip","title":"Trip","created_at":"2023-03-01T08:00:00Z","updated_at":"2023-03-01T08:05:00Z"}
{"type":"turn","conversation":"trip","role":"user","content":"I moved to Porto","created_at":"2023-03-01T09:00:00+01:00","ref":"1","model":"x"}
{"conversation":"trip","role":"assistant","content":"Lovely","created_at":"2023-03-01T08:00:30Z"}
{"conversation":"trip","role":"user","content":"Yes","created_at":"2023-03-01T08:01:00Z"}
{"conversation":"trip","role":"user","content":"Yes","created_at":"2023-03-01T08:02:00.5Z"}
{"conversation":"trip","role":"someone","content":"Who?"}
{"role":"user","content":"In no conversation"}
{"content":"Of nobody"}
`

func TestAChatAsJSONLinesKeepsItsTime(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		out := r.bring(t, ana, transfer.ImportOptions{}, chatLines)
		if out.Added != (transfer.Tally{Conversations: 1, Turns: 4}) || out.Broken != 3 || out.Problems[0].Line != 6 || out.Problems[2].Line != 8 {
			t.Fatalf("%+v", out)
		}
		c, said := r.spoken(t, "Trip")
		if !c.CreatedAt.Equal(time.Date(2023, 3, 1, 8, 0, 0, 0, time.UTC)) || !c.UpdatedAt.Equal(time.Date(2023, 3, 1, 8, 5, 0, 0, time.UTC)) {
			t.Errorf("the conversation: %+v", c)
		}
		if want := []string{
			"0 user: I moved to Porto 2023-03-01T08:00:00Z true",
			"1 assistant: Lovely 2023-03-01T08:00:30Z false",
			"2 user: Yes 2023-03-01T08:01:00Z true",
			"3 user: Yes 2023-03-01T08:02:00.5Z true",
		}; !slices.Equal(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
		again := r.bring(t, ana, transfer.ImportOptions{}, chatLines)
		if again.Added != (transfer.Tally{}) || again.Existing.Turns != 4 || again.Conflicting > 0 {
			t.Errorf("again: %+v", again)
		}
	})
}

func TestWhatIsLearnedFromABroughtChatIsAsOldAsItsWords(t *testing.T) {
	for format, file := range map[portable.Format]string{
		portable.Claude:  `[{"uuid":"c","name":"x","created_at":"2024-05-01T10:00:00Z","chat_messages":[{"uuid":"m","sender":"human","text":"I live in Lisbon.","created_at":"2024-05-01T10:00:00Z"}]}]`,
		portable.ChatGPT: `[{"id":"c","title":"x","create_time":1714557600,"current_node":"m","mapping":{"m":{"message":{"author":{"role":"user"},"create_time":1714557600,"content":{"parts":["I live in Lisbon."]}}}}}]`,
		portable.JSONL:   `{"conversation":"c","role":"user","content":"I live in Lisbon.","created_at":"2024-05-01T10:00:00Z"}`,
	} {
		t.Run(string(format), func(t *testing.T) {
			ctx := context.Background()
			r := newRig(t, stores["inmem"])
			r.bring(t, ana, transfer.ImportOptions{Format: format, Learn: true}, file)
			noError(t)(r.work(ctx))
			var facts []*memory.Fact
			noError(t)(r.EachMemory(ctx, ana, memory.Query{Statuses: core.AllStatuses}, func(m memory.Memory) { facts = append(facts, m.Fact) }))
			if len(facts) != 1 || !facts[0].ObservedAt.Equal(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)) {
				t.Errorf("%+v, want a fact that was observed when it was said", facts)
			}
		})
	}
}

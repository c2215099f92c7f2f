package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// asks is a chat's request that is recalled for and recorded; it returns what it was given.
func (r *rig) asks(t *testing.T, in exchange.Incoming, words ...string) retrieve.PromptMemory {
	t.Helper()
	var messages []string
	for _, w := range words {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, w))
	}
	chat := try(chatapi.Decode([]byte(`{"messages":[` + strings.Join(messages, ",") + `]}`))).orFail(t)
	ctx := context.Background()
	in.Owner, in.Chat = ana, chat
	x := r.Exchange.Open(ctx, in)
	p := x.Prepare(ctx)
	x.RecordQuestion(ctx)
	x.RecordAnswer(ctx, chatapi.Answer{Role: memory.RoleAssistant, Text: "Hm.", Digest: "d"})
	return p
}

// saysAll is all that a trace keeps of what was said and known.
func saysAll(t memory.Trace) string {
	said := t.Question + t.Block
	for _, h := range append(t.Hits, t.Cut...) {
		said += h.Content
	}
	return said
}

// TestATraceHasNoWordsOfWhatIsNotKept: that it was asked, and what was found by its id.
func TestATraceHasNoWordsOfWhatIsNotKept(t *testing.T) {
	const secret = "Do not remember this: I take Prozac. May I drink oolong tea?"
	const plain = "Which tea do I drink?"
	for name, c := range map[string]struct {
		extras  chatapi.Extras
		said    []string
		told    bool
		recalls int // so many user messages are the question
	}{
		"as always":              {said: []string{plain}, told: true},
		"said in confidence":     {said: []string{secret}},
		"said before it":         {said: []string{secret, plain}, recalls: 2},
		"before the question":    {said: []string{secret, plain}}, // it is part of that
		"memory is read alone":   {extras: chatapi.Extras{Mode: chatapi.ModeRead}, said: []string{plain}},
		"memory is written, too": {extras: chatapi.Extras{Mode: chatapi.ModeReadWrite}, said: []string{plain}, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, stores["inmem"])
			r.Opts.Recall.QuestionMessages = c.recalls
			r.note(t, ana, "User drinks oolong tea")
			p := r.asks(t, exchange.Incoming{Extras: c.extras}, c.said...)
			if !strings.Contains(p.Block, "oolong") {
				t.Errorf("the chat is given %q", p.Block)
			}
			trace := try(r.Traces.Trace(context.Background(), ana, p.TraceID)).orFail(t)
			if got := saysAll(trace); (got != "") != c.told || len(trace.Hits) != 1 {
				t.Errorf("the trace says %q of %d hits, and is to say something: %v", got, len(trace.Hits), c.told)
			}
		})
	}
}

func TestASearchInConfidenceLeavesNoWords(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.note(t, ana, "User drinks oolong tea")
	found := try(r.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Off the record: which tea goes with Prozac?"})).orFail(t)
	trace := try(r.Traces.Trace(context.Background(), ana, found.TraceID)).orFail(t)
	if got := saysAll(trace); got != "" || len(trace.Hits) != len(found.Hits) {
		t.Errorf("the trace says %q", got)
	}
}

// TestATemporaryChatLeavesNothing by whichever name it says so: no turn, not even a trace.
func TestATemporaryChatLeavesNothing(t *testing.T) {
	for _, id := range []string{"local:x1", "temporary:x1"} {
		for name, in := range map[string]exchange.Incoming{
			"by the header":             {ChatID: id},
			"by memory_id":              {Extras: chatapi.Extras{ID: id}},
			"by memory_id, and is read": {Extras: chatapi.Extras{ID: id, Mode: chatapi.ModeRead}},
		} {
			t.Run(id+" "+name, func(t *testing.T) {
				r := newRig(t, stores["inmem"])
				r.note(t, ana, "User drinks oolong tea")
				p := r.asks(t, in, "I am allergic to kiwis. Which tea do I drink?")
				if !strings.Contains(p.Block, "oolong") {
					t.Errorf("the chat is given %q", p.Block)
				}
				r.keptNothing(t, p, id)
			})
		}
	}
}

// keptNothing checks that a chat left no trace, turn or conversation.
func (r *rig) keptNothing(t *testing.T, p retrieve.PromptMemory, id string) {
	t.Helper()
	ctx := context.Background()
	if traces := try(r.Traces.Traces(ctx, ana, memory.TraceQuery{})).orFail(t); p.TraceID != "" || len(traces) != 0 {
		t.Errorf("the chat got the trace %q, and %d are kept", p.TraceID, len(traces))
	}
	turns := try(r.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: id, Statuses: []memory.Status{memory.Active, memory.Retired}})).orFail(t)
	chats := try(r.Store.Conversations(ctx, ana, memory.ConversationQuery{})).orFail(t)
	if len(turns)+len(chats.Conversations) != 0 {
		t.Errorf("%d turns and %d chats are kept", len(turns), len(chats.Conversations))
	}
}

// TestChannelsNeverWriteMemory: not even where the request asks for it, and they read it only
// where that is allowed.
func TestChannelsNeverWriteMemory(t *testing.T) {
	for setting, reads := range map[core.ChannelAccess]bool{"": false, core.ChannelsOff: false, core.ChannelsRead: true} {
		for _, mode := range []string{"", chatapi.ModeRead, chatapi.ModeReadWrite, chatapi.ModeWrite, chatapi.ModeOff} {
			for name, in := range map[string]exchange.Incoming{"header": {ChatID: "channel:c1"}, "memory_id": {Extras: chatapi.Extras{ID: "channel:c1"}}} {
				t.Run(fmt.Sprintf("%q, mode %q, %s", setting, mode, name), func(t *testing.T) {
					r := newRig(t, stores["inmem"])
					r.Opts.Channels = setting
					r.note(t, ana, "User drinks oolong tea")
					in.Extras.Mode = mode
					p := r.asks(t, in, "I am allergic to kiwis. Which tea do I drink?")
					want := reads && mode != chatapi.ModeOff && mode != chatapi.ModeWrite
					if got := strings.Contains(p.Block, "oolong"); got != want {
						t.Errorf("memory was read: %v, want %v", got, want)
					}
					r.keptNothing(t, p, "channel:c1")
				})
			}
		}
	}
}

// TestWhatIsSaidInConfidenceInAChatLeavesNoWords in its trace, its rules included.
func TestWhatIsSaidInConfidenceInAChatLeavesNoWords(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		play(t, s, "remember ana: User drinks oolong tea")
		chat := newChat(t, s.Engine, chats.ChatEdit{Rules: ptr("Answer in one sentence.")})
		var told retrieve.PromptMemory
		_, err := s.Chats.Say(context.Background(), chats.SayRequest{Owner: ana, Chat: chat, Content: "/tea Do not remember this: I take Prozac. May I drink oolong tea?", Model: "m"},
			replies("Yes.").talk, chats.ReplyListener{OnRecalled: func(p retrieve.PromptMemory) { told = p }, OnText: func(string) {}})
		trace := try(s.Traces.Trace(context.Background(), ana, told.TraceID)).orFail(t)
		if got := saysAll(trace); err != nil || got != "" || !strings.Contains(told.Block, "oolong") {
			t.Errorf("the trace says %q, %v; the chat was given %q", got, err, told.Block)
		}
	})
}

// TestAChatThatIsKeptGoesOnByWhateverName: it is not a temporary one.
func TestAChatThatIsKeptGoesOnByWhateverName(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		const chat = "local:kept"
		s.asks(t, exchange.Incoming{Extras: chatapi.Extras{ID: chat, Mode: chatapi.ModeReadWrite}}, "I keep bees.")
		noError(t)(s.Chats.Say(context.Background(), chats.SayRequest{Owner: ana, Chat: chat, Content: "And hens.", Model: "m"}, replies("I see.").talk, deaf))
		wantTranscript(t, s.Engine, ana, chat, "user: I keep bees.", "assistant: Hm.", "user: And hens.", "assistant: I see.")
	})
}

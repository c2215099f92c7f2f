package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory/memtest"
)

const briefly = "Answer in one sentence.\nNever use <b>."

// TestTheRulesOfAChatStandBeforeItsBlock: of a chat that a client goes on with by its
// name, or by what was said in it.
func TestTheRulesOfAChatStandBeforeItsBlock(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		menu := try(s.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Menu"), Content: ptr("Satay and rice.")}, her)).orFail(t)
		bare := newChat(t, s.Engine, chats.ChatEdit{Rules: ptr(briefly)})
		play(t, s, "named chat ana: "+bare+"\nuser ana: Which cheese goes with quince?")
		if want := exchange.WithRules("", briefly); s.block != want || !strings.HasSuffix(want, "\n\n"+briefly) {
			t.Errorf("without memory the prompt is given %q, want %q", s.block, want)
		}

		chat := newChat(t, s.Engine, chats.ChatEdit{Rules: ptr(briefly), Contexts: &[]string{menu.ID}})
		play(t, s, "remember ana: User is allergic to peanuts\nnamed chat ana: "+chat+"\nuser ana: Which of the dishes may I eat, with what I am allergic to?")
		first := s.block
		front, fenced, _ := strings.Cut(first, recall.FenceOpen)
		if front != exchange.WithRules("", briefly)+"\n\n" || strings.Contains(fenced, "one sentence") {
			t.Errorf("the rules do not stand before the fence, once:\n%s", first)
		}
		for _, part := range []string{"Satay and rice.", "allergic to peanuts"} {
			if !strings.Contains(fenced, part) {
				t.Errorf("%q is missing behind the rules:\n%s", part, first)
			}
		}
		play(t, s, "user ana: And which of them would my sister like?")
		if !strings.HasPrefix(s.block, front+recall.FenceOpen) {
			t.Errorf("rules change from one request to the next:\n%s\n%s", first, s.block)
		}
		s.names["ana"] = "" // recognised by what was said
		play(t, s, "user ana: And the waiter?\nexpect block: Answer in one sentence.\nexpect block: Satay")
		play(t, s, "mode read\nuser ana: And the cook?\nexpect block: Answer in one sentence.\nmode")

		play(t, s, "named chat ben: "+chat+"\nuser ben: Which of the dishes may I eat?\nexpect no block: one sentence")
		play(t, s, "new chat ana\nuser ana: What else is there?\nexpect no block: one sentence")
		noError(t)(s.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Rules: ptr("Answer in verse.")}, her))
		play(t, s, "named chat ana: "+chat+"\nuser ana: And now?\nexpect block: Answer in verse.\nexpect no block: one sentence")
		noError(t)(s.Chats.DeleteChat(ctx, ana, chat, false, her))
		play(t, s, "user ana: And then?\nexpect no block: verse")
	})
}

// TestRulesStayAsTheyWereWithinAToolLoop: whatever is edited meanwhile.
func TestRulesStayAsTheyWereWithinAToolLoop(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{Rules: ptr(briefly)})
		const asked = `{"role":"user","content":"What is the weather in Faro?"}`
		step := func(messages string) string {
			x := s.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, `[`+messages+`]`), ChatID: chat})
			defer x.RecordQuestion(ctx)
			return x.Prepare(ctx).Block
		}
		first := step(asked)
		s.Background.Wait()
		noError(t)(s.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Rules: ptr("Answer in verse.")}, her))
		if again := step(asked + `,{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"Sun."}`); again != first || first == "" {
			t.Errorf("the next step is given %q, want %q", again, first)
		}
	})
}

// TestRulesAreNeverLearned: a model that learns is not shown where another repeated
// them, at both doors of chats, and what a client sends back of them is not a statement.
func TestRulesAreNeverLearned(t *testing.T) {
	const asked, repeated = "What do you know of my sister?", "You are allergic to kiwis."
	doors := map[string]func(t *testing.T, s *scene, chat string){
		"v1": func(t *testing.T, s *scene, chat string) {
			play(t, s, "reply "+repeated+"\nnamed chat ana: "+chat+"\nuser ana: "+asked)
		},
		"chats": func(t *testing.T, s *scene, chat string) {
			noError(t)(s.Chats.Say(context.Background(), chats.SayRequest{Owner: memtest.Ana, Chat: chat, Content: asked, Model: "m"}, replies(repeated).talk, deaf))
			wantLearned(t, s)
		},
	}
	for rules, shown := range map[string]bool{"User is allergic to kiwis.": false, "": true} {
		for door, ask := range doors {
			eachStore(t, func(t *testing.T, s *scene) {
				play(t, s, "set learn.assistant: true\nllm extract: []")
				ask(t, s, newChat(t, s.Engine, chats.ChatEdit{Rules: &rules}))
				prompts := s.llm.Prompts()
				if len(prompts) != 1 {
					t.Fatalf("%s: the model that learns was asked %d times", door, len(prompts))
				}
				if p := prompts[0]; strings.Contains(p.System+p.User, "kiwis") != shown || !strings.Contains(p.User, "sister") {
					t.Errorf("%s: with the rules %q it was shown\n%s", door, rules, p.User)
				}
			})
		}
	}
	eachStore(t, func(t *testing.T, s *scene) {
		chat := newChat(t, s.Engine, chats.ChatEdit{Rules: ptr("I am allergic to kiwis.")})
		play(t, s, "named chat ana: "+chat+"\nuser ana: What should I know?")
		s.chats["ana"] = append([]chatMessage{{"system", s.block}}, s.chats["ana"]...)
		play(t, s, "user ana: And what else is there?\nexpect facts ana:")
		play(t, s, "user ana: I am allergic to kiwis.\nexpect facts ana: User is allergic to kiwis") // said by the user, it is
	})
}

// TestAChatOfItsOwnHasItsRulesOnce: the same chat by both doors.
func TestAChatOfItsOwnHasItsRulesOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{Rules: ptr(briefly)})
		play(t, s, "remember ana: User is allergic to peanuts")
		m := replies("Rice.")
		var told retrieve.PromptMemory
		noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "What may I eat, with what I am allergic to?", Model: "m"}, m.talk, chats.ReplyListener{
			OnRecalled: func(p retrieve.PromptMemory) { told = p }, OnText: func(string) {},
		}))
		if system := m.last(t)[0].Content; strings.Count(system, briefly) != 1 || !strings.Contains(system, "allergic to peanuts") {
			t.Errorf("the rules stand %d times in\n%s", strings.Count(system, briefly), system)
		}
		if trace := try(s.Traces.Trace(ctx, ana, told.TraceID)).orFail(t); strings.Count(trace.Block, briefly) != 1 || !strings.Contains(trace.Block, "allergic to peanuts") {
			t.Errorf("the trace says that the prompt was given %q", trace.Block)
		}
		play(t, s, "named chat ana: "+chat+"\nuser ana: And my sister?\nexpect block: "+"Answer in one sentence.")
	})
}

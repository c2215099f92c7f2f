package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/query"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// model answers chats as a test says, and keeps what it was asked.
type model struct {
	mu     sync.Mutex // guards asked
	asked  [][]chats.Message
	answer func(n int) (text string, err error) // the n-th time, from 0
}

func (m *model) talk(ctx context.Context, name string, chat []chats.Message, heard func(string)) (chatapi.Answer, error) {
	m.mu.Lock()
	n := len(m.asked)
	m.asked = append(m.asked, chat)
	m.mu.Unlock()
	text, err := m.answer(n)
	for word := range strings.SplitAfterSeq(text, " ") {
		heard(word)
	}
	return answerOf(name, text), errors.Join(err, ctx.Err())
}

func answerOf(name, text string) chatapi.Answer {
	a := chatapi.Answer{Role: memory.RoleAssistant, Text: text, Model: name}
	a.Digest = chatapi.Digest(a.Role, a.Text, "", "")
	return a
}

// replies is a model that answers with each of the texts in turn, "!CODE" for an error.
func replies(texts ...string) *model {
	return &model{answer: func(n int) (string, error) {
		if n >= len(texts) {
			return "", fmt.Errorf("asked %d times", n+1)
		}
		if code, ok := strings.CutPrefix(texts[n], "!"); ok {
			return "", memory.Errorf(memory.Code(code), "the upstream refuses")
		}
		return texts[n], nil
	}}
}

func (m *model) last(t *testing.T) []chats.Message {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) == 0 {
		t.Fatal("the model was not asked")
	}
	return m.asked[len(m.asked)-1]
}

// deaf hears nothing.
var deaf = chats.ReplyListener{OnRecalled: func(retrieve.PromptMemory) {}, OnText: func(string) {}}

// transcript is what is kept of a chat, a line a turn.
func transcript(t *testing.T, e *Engine, owner memory.Owner, chat string) string {
	t.Helper()
	turns := try(e.Chats.Turns(context.Background(), owner, chat)).orFail(t)
	var b strings.Builder
	for _, turn := range turns {
		fmt.Fprintf(&b, "%s: %s\n", turn.Role, turn.Content)
	}
	return b.String()
}

func wantTranscript(t *testing.T, e *Engine, owner memory.Owner, chat string, want ...string) {
	t.Helper()
	if got := transcript(t, e, owner, chat); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("the chat is\n%swant\n%s", got, strings.Join(want, "\n"))
	}
}

// wantLearned does what is due and looks at what is known of ana.
func wantLearned(t *testing.T, s *scene, facts ...string) {
	t.Helper()
	noError(t)(s.work(context.Background()))
	play(t, s, "expect facts ana: "+strings.Join(facts, " | "))
}

func newChat(t *testing.T, e *Engine, edit chats.ChatEdit) string {
	t.Helper()
	return try(e.Chats.NewChat(context.Background(), memtest.Ana, "", edit)).orFail(t).ID
}

func TestAReplyIsGivenWhatIsAttachedAndRemembered(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		play(t, s, "user ana: I am allergic to peanuts.")
		menu := try(s.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Menu"), Content: ptr("Satay with peanuts.\nRice.")}, her)).orFail(t)
		chat := newChat(t, s.Engine, chats.ChatEdit{Contexts: &[]string{menu.ID}, Rules: ptr("Answer in one sentence.")})
		m := replies("Take the rice.", "You are welcome.")
		var heard strings.Builder
		var told retrieve.PromptMemory
		got, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "/menu What may I eat, with what I am allergic to?", Model: "m"}, m.talk, chats.ReplyListener{
			OnRecalled: func(p retrieve.PromptMemory) { told = p }, OnText: func(piece string) { heard.WriteString(piece) },
		})
		if err != nil || heard.String() != "Take the rice." || len(told.Hits) == 0 || got.Question == nil || got.Answer == nil || got.Answer.Content != "Take the rice." {
			t.Fatalf("got %+v, %v, heard %q, recalled %d", got, err, heard.String(), len(told.Hits))
		}
		system := m.last(t)[0].Content
		at := -1
		for _, part := range []string{"You are a helpful assistant", "Satay with peanuts.", "Answer in one sentence.", "allergic to peanuts"} {
			next := strings.Index(system, part)
			if next <= at {
				t.Errorf("%q does not stand in its place:\n%s", part, system)
			}
			at = next
		}
		if last := m.last(t)[1]; last.Role != memory.RoleUser || last.Content != "/menu What may I eat, with what I am allergic to?" {
			t.Errorf("the message is %+v", last)
		}
		trace := try(s.Traces.Trace(ctx, ana, told.TraceID)).orFail(t)
		if trace.Question != "What may I eat, with what I am allergic to?" || trace.Conversation != chat || !strings.Contains(trace.Block, "Satay") || !strings.Contains(trace.Block, "allergic") {
			t.Errorf("memory was asked %q in %q and gave %q", trace.Question, trace.Conversation, trace.Block)
		}
		noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "Thanks, my sister is called Eva.", Model: "m"}, m.talk, deaf))
		if asked := m.last(t); len(asked) != 4 || asked[1].Content != "/menu What may I eat, with what I am allergic to?" || asked[2].Content != "Take the rice." {
			t.Errorf("what was said before is %+v", asked[1:])
		}
		wantTranscript(t, s.Engine, ana, chat, "user: /menu What may I eat, with what I am allergic to?", "assistant: Take the rice.",
			"user: Thanks, my sister is called Eva.", "assistant: You are welcome.")
		wantLearned(t, s, "User is allergic to peanuts", "User's sister is named Eva")
		if c := try(s.Chats.Chat(ctx, ana, chat)).orFail(t); c.MessageCount != 4 || c.Title == "" {
			t.Errorf("the chat is %+v", c)
		}
	})
}

func TestARegeneratedReplyTakesThePlaceOfTheLast(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{})
		m := replies("Hello.", "Hi there.", "Good day.", "Welcome to Lisbon.", "Ah, Lisbon!")
		again := func() error {
			return errOf(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Regenerate: true, Model: "m"}, m.talk, deaf))
		}
		if err := again(); !errors.Is(err, memory.Conflict) {
			t.Errorf("regenerate of nothing: %v", err)
		}
		say := func(words string) {
			t.Helper()
			noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: words, Model: "m"}, m.talk, deaf))
		}
		say("Hi") // too short to be told from another by itself
		for range 2 {
			noError(t)(again())
			if asked := m.last(t); len(asked) != 2 || asked[1].Content != "Hi" {
				t.Errorf("asked again with %+v", asked[1:])
			}
		}
		wantTranscript(t, s.Engine, ana, chat, "user: Hi", "assistant: Good day.")
		say("I live in Lisbon.")
		wantLearned(t, s, "User lives in Lisbon")
		noError(t)(again())
		wantLearned(t, s, "User lives in Lisbon")
		wantTranscript(t, s.Engine, ana, chat, "user: Hi", "assistant: Good day.", "user: I live in Lisbon.", "assistant: Ah, Lisbon!")
	})
}

func TestAModelThatFailsLeavesTheQuestion(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{})
		say := func(m *model, words string) (chats.Reply, error) {
			return s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: words, Model: "m"}, m.talk, deaf)
		}
		got, err := say(replies("!unavailable"), "Where is the ferry?")
		if !errors.Is(err, memory.Unavailable) || got.Question == nil || got.Answer != nil {
			t.Errorf("a model that is down: %+v, %v", got, err)
		}
		wantTranscript(t, s.Engine, ana, chat, "user: Where is the ferry?")
		again := func(m *model) (chats.Reply, error) {
			return s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Regenerate: true, Model: "m"}, m.talk, deaf)
		}
		if got, err = again(replies("")); !errors.Is(err, memory.Unavailable) || got.Question == nil {
			t.Errorf("a model that says nothing: %+v, %v", got, err)
		}
		wantTranscript(t, s.Engine, ana, chat, "user: Where is the ferry?")

		// Cut off: what was said so far stays, and the next message follows it.
		cut := &model{answer: func(int) (string, error) { return "At the", memory.Errorf(memory.Unavailable, "cut off") }}
		if got, err = again(cut); err == nil || got.Answer == nil || got.Answer.Content != "At the" {
			t.Errorf("a reply that is cut off: %+v, %v", got, err)
		}
		refusing := replies("!invalid", "At the pier.")
		if _, err = say(refusing, "Well?"); err != nil {
			t.Errorf("a model that refuses the system message: %v", err)
		}
		if asked := refusing.last(t); asked[0].Role != memory.RoleUser || len(asked) != 3 {
			t.Errorf("it was asked once more with %+v", asked)
		}
		wantTranscript(t, s.Engine, ana, chat, "user: Where is the ferry?", "assistant: At the", "user: Well?", "assistant: At the pier.")

		// The same words are said once more, answered or not.
		for range 2 {
			if _, err := say(replies("!unavailable"), "continue"); !errors.Is(err, memory.Unavailable) {
				t.Error(err)
			}
		}
		wantTranscript(t, s.Engine, ana, chat, "user: Where is the ferry?", "assistant: At the", "user: Well?", "assistant: At the pier.", "user: continue", "user: continue")
	})
}

// TestAChatHasOneReplyAtATime: what is said meanwhile waits, and follows it.
func TestAChatHasOneReplyAtATime(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat, other := newChat(t, s.Engine, chats.ChatEdit{}), newChat(t, s.Engine, chats.ChatEdit{})
		begun, go_ := make(chan struct{}), make(chan struct{})
		first := &model{answer: func(int) (string, error) { close(begun); <-go_; return "One.", nil }}
		second := replies("Two.")
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "First?", Model: "m"}, first.talk, deaf); err != nil {
				t.Error(err)
			}
		})
		<-begun
		both.Go(func() {
			if _, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "Second?", Model: "m"}, second.talk, deaf); err != nil {
				t.Error(err)
			}
		})
		if _, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: other, Content: "Elsewhere?", Model: "m"}, replies("Yes.").talk, deaf); err != nil {
			t.Errorf("another chat: %v", err) // does not wait
		}
		impatient, leave := context.WithCancel(ctx)
		leave()
		if _, err := s.Chats.Say(impatient, chats.SayRequest{Owner: ana, Chat: chat, Content: "Third?", Model: "m"}, second.talk, deaf); !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait: %v", err)
		}
		close(go_)
		both.Wait()
		wantTranscript(t, s.Engine, ana, chat, "user: First?", "assistant: One.", "user: Second?", "assistant: Two.")
		if asked := second.last(t); len(asked) != 4 {
			t.Errorf("the second was asked with %d messages, want the first exchange among them", len(asked))
		}
		if n := len(s.Chats.ReplyLocks.SlotsByChat); n != 0 {
			t.Errorf("%d chats are held open", n)
		}
	})
}

// TestADeletedChatIsNotAnsweredAnyMore: the reply ends, and nothing of it is recalled.
func TestADeletedChatIsNotAnsweredAnyMore(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{})
		begun := make(chan struct{})
		talk := func(ctx context.Context, name string, _ []chats.Message, heard func(string)) (chatapi.Answer, error) {
			heard("The key is ")
			close(begun)
			<-ctx.Done()
			return answerOf(name, "The key is "), ctx.Err()
		}
		ended := make(chan error, 2)
		go func() {
			_, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "Where is the spare key?", Model: "m"}, talk, deaf)
			ended <- err
		}()
		<-begun
		noError(t)(s.Chats.DeleteChat(ctx, ana, chat, true, her))
		if err := <-ended; !errors.Is(err, memory.Gone) {
			t.Errorf("the reply ends with %v, want gone", err)
		}
		if n := try(s.Stats(ctx, ana)).orFail(t).Turns; n != 0 {
			t.Errorf("%d turns are in recall", n)
		}
		if _, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "Hello?", Model: "m"}, talk, deaf); !errors.Is(err, memory.NotFound) {
			t.Errorf("a message into a deleted chat: %v", err)
		}
	})
}

// TestAnAnswerToWhatWasErasedIsNotKept: it may repeat it.
func TestAnAnswerToWhatWasErasedIsNotKept(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{})
		m := &model{answer: func(int) (string, error) {
			turns := try(s.Chats.Turns(ctx, ana, chat)).orFail(t)
			for len(turns) == 0 { // it is stored beside the question to the model
				turns = try(s.Chats.Turns(ctx, ana, chat)).orFail(t)
			}
			if _, _, err := s.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{turns[0].ID}, Erase: true}, her); err != nil {
				t.Error(err)
			}
			return "Marzipan is in the drawer.", nil
		}}
		got, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "My marzipan is in the drawer.", Model: "m"}, m.talk, deaf)
		if err != nil || got.Answer != nil || got.Question != nil {
			t.Errorf("got %+v, %v", got, err)
		}
		noError(t)(s.work(ctx))
		page := try(s.List(ctx, ana, memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, Statuses: core.AllStatuses})).orFail(t)
		for _, m := range page.Memories {
			if strings.Contains(strings.ToLower(m.Content()), "marzipan") {
				t.Errorf("%q is kept", m.Content())
			}
		}
	})
}

func TestWhatIsSecretDoesNotReachTheDiskByAChat(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{})
		m := replies("I cannot use it.", "Still not.")
		const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
		noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "My key is " + secret, Model: "m"}, m.talk, deaf))
		if got := transcript(t, s.Engine, ana, chat); strings.Contains(got, secret) {
			t.Errorf("it is kept: %s", got)
		}
		if _, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Regenerate: true, Model: "m"}, m.talk, deaf); !errors.Is(err, memory.Conflict) {
			t.Errorf("regenerate of what was stored redacted: %v, want a conflict", err)
		}
		noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "And now?", Model: "m"}, m.talk, deaf))
		if got := transcript(t, s.Engine, ana, chat); strings.Count(got, "\n") != 4 || !strings.HasSuffix(got, "user: And now?\nassistant: Still not.\n") {
			t.Errorf("the chat is\n%s", got)
		}
	})
}

func TestTheBuiltInModelAnswersAChat(t *testing.T) {
	s := newScene(t, stores["inmem"])
	ctx, ana := context.Background(), memtest.Ana
	chat := newChat(t, s.Engine, chats.ChatEdit{})
	say := func(words string) string {
		t.Helper()
		var heard strings.Builder
		got, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: words, Model: responder.Name}, nil, chats.ReplyListener{
			OnRecalled: func(retrieve.PromptMemory) {}, OnText: func(piece string) { heard.WriteString(piece) },
		})
		if err != nil || got.Model != responder.Name {
			t.Fatalf("%+v, %v", got, err)
		}
		return heard.String()
	}
	if got := say("My cat is called Pip."); !strings.HasPrefix(got, "Noted.") {
		t.Errorf("to a statement: %q", got)
	}
	wantLearned(t, s, "User has a cat named Pip")
	noError(t)(s.SetPause(ctx, ana, core.PauseMemory, "", her))
	if got := say("My dog is called Rex."); !strings.Contains(got, "Memory is paused") {
		t.Errorf("while memory is paused: %q", got)
	}
	wantNoTurnOf(t, s.Engine, ana, "Rex")
}

func wantNoTurnOf(t *testing.T, e *Engine, owner memory.Owner, words string) {
	t.Helper()
	turns := try(e.Store.Turns(context.Background(), owner, memory.TurnQuery{Statuses: core.AllStatuses})).orFail(t)
	for _, turn := range turns {
		if strings.Contains(turn.Content, words) {
			t.Errorf("%q is kept", turn.Content)
		}
	}
}

func TestALongChatGoesAlongByItsEnd(t *testing.T) {
	s := newScene(t, stores["inmem"])
	ctx, ana := context.Background(), memtest.Ana
	chat := newChat(t, s.Engine, chats.ChatEdit{})
	m := &model{answer: func(n int) (string, error) { return fmt.Sprintf("Answer %d.", n), nil }}
	for i := range chats.MaxSentTurns/2 + 5 {
		noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: fmt.Sprintf("Question %d?", i), Model: "m"}, m.talk, deaf))
	}
	asked := m.last(t)
	if len(asked) > chats.MaxSentTurns+2 || asked[1].Role != memory.RoleUser || asked[len(asked)-2].Content != fmt.Sprintf("Answer %d.", chats.MaxSentTurns/2+3) {
		t.Errorf("%d messages go along, from %+v", len(asked), asked[1])
	}
	if c := try(s.Chats.Chat(ctx, ana, chat)).orFail(t); c.MessageCount != chats.MaxSentTurns+10 {
		t.Errorf("%d messages are kept, want %d", c.MessageCount, chats.MaxSentTurns+10)
	}
	noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Regenerate: true, Model: "m"}, m.talk, deaf))
	if c := try(s.Chats.Chat(ctx, ana, chat)).orFail(t); c.MessageCount != chats.MaxSentTurns+10 {
		t.Errorf("%d messages are kept after a regenerate, want %d", c.MessageCount, chats.MaxSentTurns+10)
	}
	if _, err := s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: strings.Repeat("x", s.Opts.MaxTextBytes+1), Model: "m"}, m.talk, deaf); !errors.Is(err, memory.TooLarge) {
		t.Errorf("a message past limits.text: %v", err)
	}
	if _, err := s.Chats.Say(ctx, chats.SayRequest{Owner: memtest.Ben, Chat: chat, Content: "Hello?", Model: "m"}, m.talk, deaf); !errors.Is(err, memory.NotFound) {
		t.Errorf("another's chat: %v", err)
	}
}

// TestEventsTellWhatHappenedInAChat, the oldest first, a page at a time.
func TestEventsTellWhatHappenedInAChat(t *testing.T) {
	eachStore(t, func(t *testing.T, s *scene) {
		ctx, ana := context.Background(), memtest.Ana
		chat := newChat(t, s.Engine, chats.ChatEdit{})
		m := replies("Nice.", "Lovely.")
		noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Content: "I live in Lisbon.", Model: "m"}, m.talk, deaf))
		wantLearned(t, s, "User lives in Lisbon")
		s.clock.Advance(time.Hour)
		noError(t)(s.Chats.Say(ctx, chats.SayRequest{Owner: ana, Chat: chat, Regenerate: true, Model: "m"}, m.talk, deaf))
		noError(t)(s.Chats.EditChat(ctx, ana, chat, chats.ChatEdit{Title: ptr("Lisbon")}, her))
		var all []string
		for cursor := ""; ; {
			page := try(s.Chats.Events(ctx, ana, chat, 2, cursor)).orFail(t)
			for _, x := range page.Events {
				switch {
				case x.Turn != nil:
					all = append(all, fmt.Sprintf("%s %s %s", x.Type, x.Turn.Status, x.Turn.Content))
				case x.Change != nil:
					all = append(all, fmt.Sprintf("%s %s %s", x.Type, x.Change.Action, strings.Split(x.Change.After.Target(), ":")[0]))
				default:
					all = append(all, string(x.Type))
				}
			}
			if cursor = page.Next; cursor == "" {
				break
			}
			if len(page.Events) != 2 || len(all) > 50 {
				t.Fatalf("a page has %d events of 2: %q", len(page.Events), all)
			}
		}
		got := strings.Join(all, "\n")
		at := -1
		for _, want := range []string{"prompt active I live in Lisbon.", "response replaced Nice.", "memory add fact", "response active Lovely.", "memory update turn", "memory update conversation"} {
			i := strings.Index(got, want)
			if i <= at || strings.Count(got, want) != 1 {
				t.Errorf("%q is not there once and in order:\n%s", want, got)
			}
			at = i
		}
		if _, err := s.Chats.Events(ctx, memtest.Ben, chat, 0, ""); !errors.Is(err, memory.NotFound) {
			t.Errorf("another's events: %v", err)
		}
	})
}

// TestASessionOfQueriesHasEvents, as any chat has.
func TestASessionOfQueriesHasEvents(t *testing.T) {
	s := newScene(t, stores["inmem"])
	ctx, ana := context.Background(), memtest.Ana
	for _, words := range []string{"I keep bees.", "What do I keep?"} {
		noError(t)(s.Query.Query(ctx, query.Request{Owner: ana, SessionID: "hive", Text: words, UseMemory: true}, nil))
	}
	types := map[chats.EventType]int{}
	for _, x := range try(s.Chats.Events(ctx, ana, "hive", 0, "")).orFail(t).Events {
		types[x.Type]++
	}
	if types[chats.EventPrompt] != 2 || types[chats.EventResponse] != 2 || types[chats.EventRecall] != 2 {
		t.Errorf("the events are %v, want two prompts, what was recalled for each, and two responses", types)
	}
}

package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func TestKilledServerRemembersAfterRestart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	data := t.TempDir()
	before := serve(t, data, up.setting())
	first := chat{client: before.sdk()}
	first.say(t, allergy)
	before.settle(t, nil, patience)
	first.say(t, "Good night!")
	before.kill(t)

	after := serve(t, data, up.setting())
	turns := after.turns(t, nil)
	for _, said := range []string{allergy, "Good night!"} {
		if count(turns, "user", said) != 1 || count(turns, "assistant", acknowledged(said)) != 1 {
			t.Errorf("%q and its answer have to be there once each; there is:%s", said, contents(turns))
		}
	}
	second := chat{client: after.sdk()}
	second.say(t, askAllergy)
	if asked := up.last(t).Body; !strings.Contains(blockOf(t, asked), allergyTold) {
		t.Errorf("after the restart the upstream was not told %q:\n%s", allergyFact, asked)
	}

	// The first chat goes on as if nothing had happened.
	first.client = after.sdk()
	first.say(t, "Good morning!")
	turns = after.turns(t, nil)
	conversation := map[string]string{}
	for _, turn := range turns {
		conversation[turn.Content] = turn.Conversation
	}
	if conversation["Good morning!"] != conversation[allergy] || conversation[allergy] == conversation[askAllergy] {
		t.Errorf("the chats were mixed up: %v", conversation)
	}
	if n := count(turns, "user", allergy); n != 1 {
		t.Errorf("going on recorded %q %d times", allergy, n)
	}
	if facts := after.facts(t, nil); count(facts, "", allergyFact) != 1 {
		t.Errorf("%q has to be known once; known is:%s", allergyFact, contents(facts))
	}
}

func TestQuestionThatAKillCutOffIsLearnedOnceAskedAgain(t *testing.T) {
	t.Parallel()
	never := make(chan string)
	up := newUpstream(t, streams(never, nil))
	data := t.TempDir()
	before := serve(t, data, up.setting())
	c := chat{client: before.sdk(option.WithHeader("Idempotency-Key", "k")), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(allergy)}}
	cut := make(chan error, 1)
	go func() {
		_, err := c.tryStream(t.Context())
		cut <- err
	}()
	eventually(t, before, "the question", patience, func() bool { return len(before.turns(t, nil)) == 1 })
	before.kill(t)
	if err := <-cut; err == nil {
		t.Fatal("the client did not see that its answer was cut off")
	}

	after := serve(t, data, up.setting())
	c.client = after.sdk(option.WithHeader("Idempotency-Key", "k"))
	c.send(t)
	after.settle(t, nil, patience)
	if turns := after.turns(t, nil); len(turns) != 2 || count(turns, "user", allergy) != 1 {
		t.Errorf("one exchange had to leave two turns; there is:%s", contents(turns))
	}
	if facts := after.facts(t, nil); count(facts, "", allergyFact) != 1 {
		t.Errorf("%q has to be known once; known is:%s", allergyFact, contents(facts))
	}
}

var (
	seed   = flag.Uint64("kill.seed", 1, "where the random kills begin")
	rounds = flag.Int("kill.rounds", 15, "how often the server is killed")
)

// longestLife is how long a server of the random kills lives at most: enough for
// some exchanges.
const longestLife = 400 * time.Millisecond

// TestKillAtRandomLosesNothingAcknowledged kills the server again and again while
// somebody chats. What got no answer the client sends once more, with the same
// key, to the next server.
func TestKillAtRandomLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*seed, 0))
	up := newUpstream(t)
	data := t.TempDir()
	talk := &talker{random: random}
	for range *rounds {
		l := serve(t, data, up.setting())
		talk.client = l.sdk(keyed())
		ctx, stop := context.WithCancel(t.Context())
		finished := make(chan error, 1)
		go func() { finished <- talk.on(ctx) }()
		death := time.After(time.Duration(random.Int64N(int64(longestLife))))
		select {
		case <-death:
		case err := <-finished:
			t.Fatalf("the chat broke off while the server was alive: %v\n%s", err, l.log)
		}
		l.kill(t)
		stop()
		<-finished // with the error of a server that is gone
	}
	t.Logf("%d exchanges were acknowledged over %d kills", len(talk.acknowledged), *rounds)

	l := serve(t, data, up.setting())
	talk.client = l.sdk(keyed())
	if err := talk.catchUp(t.Context()); err != nil {
		t.Fatalf("seed %d: what the last kill cut off, asked again: %v\n%s", *seed, err, l.log)
	}
	turns := l.turns(t, nil)
	for _, name := range talk.acknowledged {
		said := adopted(name)
		if count(turns, "user", said) != 1 || count(turns, "assistant", acknowledged(said)) != 1 {
			t.Errorf("seed %d: %q and its answer have to be there once each; they are there %d and %d times",
				*seed, said, count(turns, "user", said), count(turns, "assistant", acknowledged(said)))
		}
	}
	l.settle(t, nil, leases)
	facts := l.facts(t, nil)
	for _, name := range talk.acknowledged {
		if n := count(facts, "", "User has a cat named "+name); n != 1 {
			t.Errorf("seed %d: the cat %s has to be known once, not %d times", *seed, name, n)
		}
	}
}

// talker chats on and on, each time about another cat.
type talker struct {
	random *rand.Rand
	client openai.Client

	chat         chat
	name         string // of the cat that was not acknowledged yet, "" for none
	cats         int
	acknowledged []string
}

// exchanges is how many a conversation has.
const exchanges = 5

// on talks until something fails. Called again it begins with what failed.
func (p *talker) on(ctx context.Context) error {
	for {
		if err := p.catchUp(ctx); err != nil {
			return err
		}
		p.next()
	}
}

// catchUp sends what got no answer, if there is any. Left unasked, a question that
// a kill cut off is learned from too, but only after minutes.
func (p *talker) catchUp(ctx context.Context) error {
	if p.name == "" {
		return nil
	}
	p.chat.client = p.client
	if err := p.send(ctx); err != nil {
		return err
	}
	p.acknowledged = append(p.acknowledged, p.name)
	p.name = ""
	return nil
}

func (p *talker) next() {
	if p.cats%exchanges == 0 {
		p.chat.history = nil
	}
	p.cats++
	p.name = catName(p.cats)
	p.chat.history = append(p.chat.history, openai.UserMessage(adopted(p.name)))
}

func (p *talker) send(ctx context.Context) error {
	if p.cats%2 == 0 {
		_, err := p.chat.tryStream(ctx)
		return err
	}
	_, err := p.chat.try(ctx)
	return err
}

func adopted(name string) string { return fmt.Sprintf("I have a cat named %s.", name) }

// catName returns the n-th name, unlike any other.
func catName(n int) string {
	syllables := []string{"ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu"}
	name := ""
	for range 4 {
		name += syllables[n%len(syllables)]
		n /= len(syllables)
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
)

// life is what the pupil knows of one person.
func life() *pupil {
	return &pupil{
		tells: map[string]fact{
			"I live in Berlin":    {Text: "User lives in Berlin", Subject: "user", Attribute: "home", Category: "home", Confidence: 0.9},
			"I moved to Lisbon":   {Text: "User lives in Lisbon", Subject: "user", Attribute: "home", Category: "home", Confidence: 0.9},
			"a dog named Rex":     {Text: "User has a dog named Rex", Quote: "I have a dog named Rex", Subject: "user", Attribute: "pet", Confidence: 0.9},
			"no longer have":      {Text: "User no longer has a dog", Quote: "I no longer have a dog", Subject: "user", Attribute: "pet", Confidence: 0.9},
			"allergic to peanuts": {Text: allergyFact, Quote: "I am allergic to peanuts", Subject: "user", Attribute: "allergy", Category: "health", Confidence: 0.9},
			"work as a nurse":     {Text: "User works as a nurse", Quote: "I work as a nurse", Subject: "user", Attribute: "occupation", Category: "work", Confidence: 0.9},
		},
		over: map[string]string{"User lives in Lisbon": "User lives in Berlin"},
		ends: map[string]string{"User no longer has a dog": "User has a dog named Rex"},
	}
}

// tell says something in a conversation of its own, and waits until it is learned
// from.
func (l *loci) tell(t *testing.T, text string) {
	t.Helper()
	c := chat{client: l.sdk()}
	c.say(t, text)
	l.settle(t, nil, patience)
}

// idOf returns the id of the one fact with this content and status.
func (l *loci) idOf(t *testing.T, content, status string) string {
	t.Helper()
	var page struct{ Memories []remembered }
	l.read(t, "/api/memory?kind=fact&limit=500&status="+status, &page)
	id := ""
	for _, m := range page.Memories {
		if m.Content == content {
			if id != "" {
				t.Fatalf("%q is there twice:%s", content, contents(page.Memories))
			}
			id = m.ID
		}
	}
	if id == "" {
		t.Fatalf("no %s fact %q; there is:%s\nloci said:\n%s", status, content, contents(page.Memories), l.log)
	}
	return id
}

// read gets a path of the REST API.
func (l *loci) read(t *testing.T, path string, into any) {
	t.Helper()
	status, body := l.request(t, http.MethodGet, path, nil, nil)
	if err := json.Unmarshal(body, into); err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v:\n%s", path, status, err, body)
	}
}

func TestModelLearnsWhatAPersonTellsCorrectsAndTakesBack(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	l := serve(t, t.TempDir(), up.learning("LOCI_RECALL_CORE=0")...) // what was so until then is told of what was searched for
	l.tell(t, "I live in Berlin. I have a dog named Rex.")
	l.tell(t, "I moved to Lisbon last week.")
	l.tell(t, "I no longer have a dog.")

	for _, streamed := range []bool{false, true} {
		c := chat{client: l.sdk(), history: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Where do I live?")}}
		if streamed {
			if _, err := c.tryStream(t.Context()); err != nil {
				t.Fatalf("stream: %v", err)
			}
		} else {
			answer := c.send(t)
			hits, _ := hitsOf(t, answer)
			if !slices.ContainsFunc(hits, func(h hit) bool { return h.Kind == "fact" && h.Content == "User lives in Lisbon" }) {
				t.Errorf("memory_hits had to name where the user lives: %+v", hits)
			}
		}
		block := blockOf(t, up.last(t).Body)
		until := "User lives in Lisbon [until " + time.Now().UTC().Format("2006-01-02 Mon") + ": User lives in Berlin]"
		if !strings.Contains(block, until) || strings.Count(block, "User lives in Berlin") != 1 {
			t.Errorf("streamed %v: the block had to have the newer statement, with what was so until then: %s", streamed, block)
		}
		for line := range strings.SplitSeq(block, `\n`) {
			if strings.Contains(line, "user said: ") && strings.Contains(line, "I live in Berlin") && !strings.Contains(line, "no longer so") {
				t.Errorf("streamed %v: what is not so any more has to say so: %s", streamed, line)
			}
		}
	}
	facts := l.facts(t, nil)
	if count(facts, "", "User has a dog named Rex") > 0 {
		t.Errorf("the dog is gone, but known is:%s", contents(facts))
	}

	berlin, lisbon := l.idOf(t, "User lives in Berlin", "superseded"), l.idOf(t, "User lives in Lisbon", "active")
	for _, id := range []string{berlin, lisbon} {
		out := l.command(t, "history", id)
		if !strings.Contains(out, "Berlin") || !strings.Contains(out, "Lisbon") || !strings.Contains(out, pupilModel) && !strings.Contains(out, "scripted") {
			t.Errorf("a fact's history has to hold both and who decided:\n%s", out)
		}
	}
}

func TestNotAnyMoreSupportsNoLonger(t *testing.T) {
	t.Parallel()
	p := life()
	p.tells["have a dog any more"] = fact{Text: "User no longer has a dog", Quote: "I don't have a dog any more", Subject: "user", Attribute: "pet", Confidence: 0.9}
	l := serve(t, t.TempDir(), teach(t, p).learning()...)
	l.tell(t, "I have a dog named Rex.")
	l.tell(t, "I don't have a dog any more.")
	if facts := l.facts(t, nil); count(facts, "", "User has a dog named Rex") > 0 {
		t.Errorf("the dog is gone, but known is:%s", contents(facts))
	}
}

func TestLearnedFactsCarryTheirWordsAndTheirTurn(t *testing.T) {
	t.Parallel()
	l := serve(t, t.TempDir(), teach(t, life()).learning()...)
	const said = "Hello! I am allergic to peanuts, by the way."
	l.tell(t, said)
	var got struct {
		Confidence float64
		Category   string
		Model      string
		Provenance struct {
			Conversation string
			Turns        []string
			Quote        struct {
				Turn       string
				Start, End int
			}
		}
	}
	l.read(t, "/api/memory/"+l.idOf(t, allergyFact, "active"), &got)
	turns := l.turns(t, nil)
	i := slices.IndexFunc(turns, func(m remembered) bool { return m.Content == said })
	if i < 0 {
		t.Fatalf("the turn is gone:%s", contents(turns))
	}
	q := got.Provenance.Quote
	if q.Turn != turns[i].ID || !slices.Equal(got.Provenance.Turns, []string{q.Turn}) || got.Provenance.Conversation != turns[i].Conversation {
		t.Errorf("the fact is from %+v, want the turn %s of %s", got.Provenance, turns[i].ID, turns[i].Conversation)
	}
	if q.Start < 0 || q.End > len(said) || q.Start >= q.End || said[q.Start:q.End] != "I am allergic to peanuts" {
		t.Errorf("its words are %d to %d of %q", q.Start, q.End, said)
	}
	if got.Category != "health" || !strings.Contains(got.Model, "+") {
		t.Errorf("category %q, model %q; want health, and a model with its prompt's hash", got.Category, got.Model)
	}
}

func TestUnsupportedFactsWaitForAPerson(t *testing.T) {
	t.Parallel()
	const rich, boat, farm = "User owns a castle in Scotland", "User sails every weekend", "User grew up on a farm"
	p := life()
	for words, text := range map[string]string{"nice weather": rich, "a quiet evening": boat, "a long walk": farm} {
		p.tells[words] = fact{Text: text, Quote: text, Subject: "user", Confidence: 0.9}
	}
	up := teach(t, p)
	l := serve(t, t.TempDir(), up.learning()...)
	l.tell(t, "What nice weather we have today.")
	l.tell(t, "I had a quiet evening yesterday.")
	l.tell(t, "I took a long walk this morning.")
	if facts := l.facts(t, nil); len(facts) > 0 {
		t.Errorf("nobody said it, but known is:%s", contents(facts))
	}
	var waits []string
	for _, text := range []string{rich, boat, farm} {
		waits = append(waits, l.idOf(t, text, "pending"))
	}
	l.prints(t, "review --list", rich, boat, farm, "1 of 3", "nice weather")
	c := chat{client: l.sdk()}
	c.say(t, "Do I own a castle?")
	if block := blockOf(t, up.last(t).Body); strings.Contains(block, rich) {
		t.Errorf("what waits was recalled: %s", block)
	}

	const better = "User sails now and then"
	if out := l.command(t, "review", "--approve", waits[0], "--reject", waits[2], "--edit", waits[1]+"="+better); !strings.Contains(out, "to undo this: ") {
		t.Errorf("what was decided can be taken back, and review has to say how:\n%s", out)
	}
	facts := l.facts(t, nil)
	if len(facts) != 2 || count(facts, "", rich) != 1 || count(facts, "", better) != 1 {
		t.Errorf("after approving and editing there has to be %q and %q; there is:%s", rich, better, contents(facts))
	}
	l.prints(t, "review --list", "no facts wait for review")
	l.tell(t, "Again I took a long walk this morning.")
	l.prints(t, "review --list", "no facts wait for review") // what was rejected does not come again
}

func TestChatGoesOnWhileLearningHangs(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	asked, released := make(chan struct{}, 1), make(chan struct{})
	p.then(holds(asked, released, func(w http.ResponseWriter, r *http.Request, body []byte) {
		says(p.answer(readLesson(body)))(w, r, body)
	}))
	l := serve(t, t.TempDir(), up.learning()...)
	c := chat{client: l.sdk()}
	c.say(t, allergy)
	<-asked
	c.say(t, "Hello again!")
	c.history = append(c.history, openai.UserMessage("And again!"))
	if _, err := c.tryStream(t.Context()); err != nil {
		t.Errorf("stream while learning hangs: %v", err)
	}
	l.prints(t, "jobs", "learn") // a model on the machine that answers gives way
	close(released)
	l.settle(t, nil, patience)
	if facts := l.facts(t, nil); len(facts) != 1 || count(facts, "", allergyFact) != 1 {
		t.Errorf("%q has to be known once; known is:%s", allergyFact, contents(facts))
	}
}

func TestWhatAModelFailsAtIsLearnedLater(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for name, test := range map[string]struct {
		fails []answer
		least int // how often the model is asked
	}{
		"500":                 {[]answer{refuses(500, "down", nil)}, 2},
		"429 with a time":     {[]answer{refuses(429, "slow down", http.Header{"Retry-After-Ms": {"20"}})}, 2},
		"401":                 {[]answer{refuses(401, "who are you?", nil)}, 2},
		"no choices":          {[]answer{replies(200, nil, `{"choices":[]}`)}, 2},
		"a page":              {[]answer{replies(200, http.Header{"Content-Type": {"text/html"}}, "<html>Log in</html>")}, 2},
		"hangs":               {[]answer{holds(make(chan struct{}, 1), never, acknowledge)}, 2},
		"prose, then prose":   {[]answer{says("Sure!\nI would be\nglad to."), says("Sure!\nI would be\nglad to."), says("Sure!\nI would be\nglad to."), says("I have\nno clue.")}, 2},
		"broken off, unclear": {[]answer{says(`{"facts": [{"te`)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := life()
			up := teach(t, p)
			p.then(test.fails...)
			l := serve(t, t.TempDir(), up.learning("LOCI_LEARN_TIMEOUT=1s")...)
			c := chat{client: l.sdk()}
			c.say(t, allergy)
			c.say(t, "Hello again!")
			l.settle(t, nil, patience)
			facts := l.facts(t, nil)
			if len(facts) != 1 || count(facts, "", allergyFact) != 1 {
				t.Errorf("%q has to be known once; known is:%s\nloci said:\n%s", allergyFact, contents(facts), l.log)
			}
			if n := len(p.lessons("extract")); n < test.least {
				t.Errorf("the model was asked %d times, want at least %d", n, test.least)
			}
		})
	}
}

func TestFailedLearningIsShown(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	for range 20 {
		p.then(refuses(401, "this key is not known", nil))
	}
	l := serve(t, t.TempDir(), up.learning()...)
	c := chat{client: l.sdk()}
	c.say(t, allergy)
	eventually(t, l, "a failure", patience, func() bool {
		return strings.Contains(l.command(t, "jobs"), "failed ")
	})
	l.prints(t, "jobs", "learn", "next try", "this key is not known")
	c.say(t, "Hello again!")
	if facts := l.facts(t, nil); len(facts) > 0 {
		t.Errorf("known is:%s", contents(facts))
	}
	if out := l.command(t, "jobs", "--all"); !strings.Contains(out, "no job is parked") {
		t.Errorf("a job that is tried again by itself is not parked:\n%s", out)
	}
}

func TestHowAnUpstreamTakesASchemaIsRemembered(t *testing.T) {
	t.Parallel()
	p := life()
	up := teach(t, p)
	p.then(refuses(400, "response_format json_schema is not supported", nil))
	l := serve(t, t.TempDir(), up.learning()...)
	l.tell(t, allergy)
	l.tell(t, "I work as a nurse.")
	l.tell(t, "I live in Berlin.")
	var formats []string
	for _, lesson := range p.lessons("") {
		formats = append(formats, lesson.Format)
	}
	if len(formats) < 4 || formats[0] != "json_schema" || slices.ContainsFunc(formats[1:], func(format string) bool { return format != "" }) {
		t.Errorf("asked by %q; want json_schema once, then words alone", formats)
	}
	for _, lesson := range p.lessons("extract")[1:] {
		if !strings.Contains(lesson.System, `"ops"`) || !strings.Contains(lesson.System, "JSON schema") {
			t.Errorf("without json_schema the prompt has to tell the schema in words:\n%s", lesson.System)
		}
	}
	if facts := l.facts(t, nil); len(facts) != 3 {
		t.Errorf("three facts had to be learned:%s", contents(facts))
	}
}

func TestRepliesOfEveryShapeAreRead(t *testing.T) {
	t.Parallel()
	const one = `{"text":"User is allergic to peanuts","turn":"t1","quote":"I am allergic to peanuts"}`
	for name, test := range map[string]struct {
		reply string
		facts int
	}{
		"fenced":        {"```json\n{\"facts\":[" + one + "]}\n```", 1},
		"prose around":  {"Here is what I found:\n{\"facts\":[" + one + "]}\nI hope that helps!", 1},
		"bare array":    {"[" + one + "]", 1},
		"memories":      {`{"memories":["User is allergic to peanuts"]}`, 1},
		"one line":      {"User is allergic to peanuts.", 1},
		"cut off":       {`{"facts":[` + one + `,{"text":"User li`, 1},
		"unknown turn":  {`{"facts":[{"text":"User is allergic to peanuts","turn":"t99","quote":"I am allergic to peanuts","confidence":"high"}]}`, 1},
		"thinks aloud":  {"<think>peanuts {</think>" + `{"facts":[` + one + `]}`, 1},
		"nothing":       {"NOTHING", 0},
		"an empty list": {`{"facts":[]}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pupil{}
			up := teach(t, p)
			for range 3 { // it may be asked in words after it did not keep to a schema
				p.then(says(test.reply))
			}
			l := serve(t, t.TempDir(), up.learning()...)
			l.tell(t, allergy)
			facts := l.memories(t, "fact", nil)
			if len(facts) != test.facts || test.facts == 1 && strings.TrimSuffix(facts[0].Content, ".") != allergyFact {
				t.Errorf("want %d facts; there is:%s\nloci said:\n%s", test.facts, contents(facts), l.log)
			}
		})
	}
}

package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pupilModel is the model that learning asks for.
const pupilModel = "pupil"

// learning are the settings of a server whose upstream also learns.
func (u *upstream) learning(more ...string) []string {
	return append([]string{u.setting(), "LOCI_LEARN_MODEL=" + pupilModel, "LOCI_LEARN_TRUST=always", "LOCI_LEARN_EVERY=1"}, more...)
}

// pupil is the model that learns. It knows what certain words tell and reads every
// prompt for them, so that it answers the same whatever is asked first.
type pupil struct {
	tells map[string]fact   // words of a turn → the fact in them
	over  map[string]string // a new fact → the known one whose place it takes
	ends  map[string]string // a new fact → the known one that it ends
	// believes makes a fact of every line of every turn that speaks of the user, as
	// careless models do.
	believes bool

	mu     sync.Mutex
	got    []lesson // guarded by mu, as is the next
	script []answer // of the next lessons, in order; then what it knows
}

// fact is one fact as the extraction prompt asks for it.
type fact struct {
	Text       string  `json:"text"`
	Turn       string  `json:"turn"`
	Quote      string  `json:"quote,omitempty"`
	Subject    string  `json:"subject,omitempty"`
	Attribute  string  `json:"attribute,omitempty"`
	Category   string  `json:"category,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
}

// lesson is one request of the learning model's.
type lesson struct {
	Purpose string // extract, reconcile or summarize
	Format  string // of response_format, "" without one
	System  string
	User    string
}

// teach gives an upstream a model that learns.
func teach(t *testing.T, p *pupil) *upstream {
	t.Helper()
	up := newUpstream(t)
	up.pupil = p
	return up
}

func modelOf(body []byte) string {
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked) // what is not JSON names no model
	return asked.Model
}

func (p *pupil) next(r request) answer {
	l := readLesson(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, l)
	if len(p.script) > 0 {
		a := p.script[0]
		p.script = p.script[1:]
		return a
	}
	return says(p.answer(l))
}

// then sets what the next lessons are answered with.
func (p *pupil) then(script ...answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = append(p.script, script...)
}

// lessons returns what was asked for a purpose, or for any, in order.
func (p *pupil) lessons(purpose string) []lesson {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.got), func(l lesson) bool { return purpose != "" && l.Purpose != purpose })
}

func readLesson(body []byte) lesson {
	var asked struct {
		Messages []struct{ Role, Content string }
		Format   struct {
			Type   string
			Schema struct{ Name string } `json:"json_schema"`
		} `json:"response_format"`
	}
	_ = json.Unmarshal(body, &asked) // Loci's own requests are JSON; else no memories match
	l := lesson{Format: asked.Format.Type, Purpose: asked.Format.Schema.Name}
	for _, m := range asked.Messages {
		if m.Role == "system" {
			l.System = m.Content
		} else {
			l.User = m.Content
		}
	}
	switch {
	case l.Purpose != "":
	case strings.Contains(l.User, "\nNew:\n"):
		l.Purpose = "reconcile"
	case strings.Contains(l.User, "The summary so far:"):
		l.Purpose = "summarize"
	default:
		l.Purpose = "extract"
	}
	return l
}

// answer is what the pupil says to a lesson.
func (p *pupil) answer(l lesson) string {
	switch l.Purpose {
	case "reconcile":
		return inJSON(map[string]any{"decisions": p.decide(l.User)})
	case "summarize":
		return p.sumUp(l.User)
	}
	return inJSON(map[string]any{"facts": p.extract(l.User)})
}

func (p *pupil) extract(user string) []fact {
	facts := []fact{}
	for _, turn := range turnsIn(user) {
		for words, f := range p.tells {
			if strings.Contains(turn.text, words) {
				f.Turn = turn.id
				if f.Quote == "" {
					f.Quote = words
				}
				facts = append(facts, f)
			}
		}
		for line := range strings.Lines(turn.text) {
			line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-"))
			if p.believes && strings.HasPrefix(line, "User ") {
				facts = append(facts, fact{Text: line, Turn: turn.id, Quote: line, Confidence: 1})
			}
		}
	}
	slices.SortFunc(facts, func(a, b fact) int { return strings.Compare(a.Turn+a.Text, b.Turn+b.Text) })
	return facts
}

var reconcileLine = regexp.MustCompile(`(?m)^\[(\d+)\] (?:\([\d-]+\) )?(.*)$`)

func (p *pupil) decide(user string) []map[string]any {
	remembered, fresh, _ := strings.Cut(user, "\nNew:\n")
	id := map[string]string{}
	for _, m := range reconcileLine.FindAllStringSubmatch(remembered, -1) {
		id[m[2]] = m[1]
	}
	var decisions []map[string]any
	for _, m := range reconcileLine.FindAllStringSubmatch(fresh, -1) {
		d := map[string]any{"new": m[1], "event": "ADD"}
		if old, known := id[p.over[m[2]]]; known {
			d = map[string]any{"new": m[1], "event": "UPDATE", "id": old, "text": m[2], "reason": "newer"}
		} else if old, known := id[p.ends[m[2]]]; known {
			d = map[string]any{"new": m[1], "event": "DELETE", "id": old, "reason": "it is over"}
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// sumUp makes a bullet of each line of the user's, and keeps those from before.
func (p *pupil) sumUp(user string) string {
	before, _, _ := strings.Cut(user, "The turns:")
	var lines []string
	for line := range strings.Lines(before) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "- ") {
			lines = append(lines, line)
		}
	}
	for _, turn := range turnsIn(user) {
		if turn.role == "user" {
			lines = append(lines, "- "+strings.ReplaceAll(strings.TrimSpace(turn.text), "\n", " "))
		}
	}
	return strings.Join(lines, "\n")
}

// told is one turn of a prompt.
type told struct{ id, role, text string }

var turnHead = regexp.MustCompile(`^\[(\w+)\] (\w+)`)

func turnsIn(user string) []told {
	var turns []told
	for line := range strings.Lines(user) {
		if head := turnHead.FindStringSubmatch(line); head != nil {
			turns = append(turns, told{id: head[1], role: head[2]})
		} else if text, ok := strings.CutPrefix(line, "    "); ok && len(turns) > 0 {
			turns[len(turns)-1].text += text
		} else if line = strings.TrimSpace(line); line != "" && len(turns) > 0 {
			turns = append(turns, told{}) // a message that is there to understand the others
		}
	}
	return slices.DeleteFunc(turns, func(t told) bool { return t.id == "" })
}

func inJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // these values always encode
	}
	return string(b)
}

// holds answers with then once released is closed, and says that it is asked.
func holds(asked chan<- struct{}, released <-chan struct{}, then answer) answer {
	return func(w http.ResponseWriter, r *http.Request, body []byte) {
		asked <- struct{}{}
		select {
		case <-released:
			then(w, r, body)
		case <-r.Context().Done(): // whoever asked is gone
		}
	}
}

// refuses answers with an error of OpenAI's shape.
func refuses(status int, message string, header http.Header) answer {
	return replies(status, header, `{"error":{"message":`+quote(message)+`,"type":"invalid_request_error"}}`)
}

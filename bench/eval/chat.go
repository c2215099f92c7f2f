package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// The sources of the facts of a trial set's memory.
const (
	FactsByRules = "rules" // Loci's built-in rules learn from the exchanges
	FactsGiven   = "given" // the set's facts are added, as a good model would learn them
)

// Chat runs trial sets with the models and recall settings of c. It records each person's chats through the proxy,
// then sends every message, bare and in each surrounding, in read mode. facts is [FactsByRules] or [FactsGiven].
func Chat(ctx context.Context, persons []ChatPerson, c config.Config, facts string) (report ChatReport, err error) {
	report = ChatReport{TopK: core.Options{TopK: c.Recall.TopK}.DefaultTopK(true), counts: map[string]int{}}
	trial, err := openChatTrial(ctx, c, facts)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, trial.close()) }()
	report.Models = trial.Models()
	for _, p := range persons {
		run := &chatRun{chatTrial: trial, report: &report, person: p}
		if err := run.all(ctx); err != nil {
			return report, fmt.Errorf("%s: %w", p.ID, err)
		}
	}
	return report, nil
}

// chatTrial has a Loci in this process, used through its proxy, and the model server, which gives the set answer and
// records the messages it gets.
type chatTrial struct {
	*Instance
	upstream *httptest.Server
	facts    string
	now      atomic.Int64 // in seconds

	mu     sync.Mutex // guards the fields below
	answer string
	sent   []chatMessage
}

// openChatTrial opens a new memory.
func openChatTrial(ctx context.Context, c config.Config, facts string) (t *chatTrial, err error) {
	t = &chatTrial{facts: facts}
	t.upstream = httptest.NewServer(t)
	settings := map[string]string{"upstream.url": t.upstream.URL + "/v1"}
	if facts == FactsGiven {
		settings["learn.after"] = "never"
	}
	clock := func() time.Time { return time.Unix(t.now.Load(), 0).UTC() }
	if t.Instance, err = OpenInstance(ctx, c, settings, clock); err != nil {
		t.upstream.Close()
	}
	return t, err
}

func (t *chatTrial) close() error {
	err := t.Close()
	t.upstream.Close()
	return err
}

// ServeHTTP implements http.Handler as the upstream.
func (t *chatTrial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Messages []chatMessage }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = asked.Messages
	choice := map[string]any{"message": chatMessage{memory.RoleAssistant, t.answer}, "finish_reason": "stop"}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{choice}}) // the client may have disconnected
}

// chatHit is a memory in a prompt.
type chatHit struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Core    bool   `json:"core"`
}

// chatMessage is one message of a request.
type chatMessage struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// send sends a chat through the proxy, and returns the text and hits that memory added. The conversation's id may be
// empty.
func (t *chatTrial) send(ctx context.Context, user, mode, id string, messages []chatMessage, answer string) (
	block string, hits []chatHit, err error,
) {
	t.mu.Lock()
	t.answer, t.sent = answer, nil
	t.mu.Unlock()
	chat := map[string]any{"model": "m", "messages": messages, "memory_mode": mode, "memory_id": id}
	body, err := json.Marshal(chat)
	if err != nil {
		return "", nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Loci-User", user)
	resp, err := t.HTTP.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var answered struct {
		Hits []chatHit `json:"memory_hits"`
	}
	err = json.NewDecoder(resp.Body).Decode(&answered)
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", nil, fmt.Errorf("chat: %s, %w", resp.Status, err)
	}
	return t.added(messages), answered.Hits, nil
}

// added returns the text that the upstream got in addition to the client's messages.
func (t *chatTrial) added(own []chatMessage) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, m := range t.sent {
		if slices.Contains(own, m) {
			continue
		}
		for _, o := range own {
			m.Content = strings.Replace(m.Content, o.Content, "", 1)
		}
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// record sends a person's chats through the proxy, and waits for learning after each exchange. The set's facts are
// added at their date or, without one, after the chats. The messages follow a day after the last chat.
func (t *chatTrial) record(ctx context.Context, p ChatPerson) error {
	end := p.Chats[len(p.Chats)-1].At.Add(24 * time.Hour)
	addFacts := t.ownFacts(p, end)
	for i, c := range p.Chats {
		if err := addFacts(ctx, c.At); err != nil {
			return err
		}
		var messages []chatMessage
		for j, e := range c.Exchanges {
			t.now.Store(c.At.Add(time.Duration(j) * time.Minute).Unix())
			messages = append(messages, chatMessage{memory.RoleUser, e.User})
			_, _, err := t.send(ctx, p.ID, "read_write", fmt.Sprint("chat-", i), messages, e.Assistant)
			if err == nil {
				err = t.Loci.Settle(ctx)
			}
			if err != nil {
				return fmt.Errorf("exchange %s: %w", e.ID, err)
			}
			messages = append(messages, chatMessage{memory.RoleAssistant, e.Assistant})
		}
	}
	err := addFacts(ctx, end.Add(time.Second))
	t.now.Store(end.Unix())
	return errors.Join(err, t.Loci.Settle(ctx))
}

// ownFacts returns a function that adds a person's facts before a time, each once, with [FactsGiven].
func (t *chatTrial) ownFacts(p ChatPerson, end time.Time) func(ctx context.Context, before time.Time) error {
	next, ids := 0, map[string]string{}
	return func(ctx context.Context, before time.Time) (err error) {
		for ; t.facts == FactsGiven && next < len(p.Facts); next++ {
			f := p.Facts[next]
			if f.At.IsZero() {
				f.At = end
			}
			if !f.At.Before(before) {
				break
			}
			t.now.Store(f.At.Unix())
			var written client.Written
			switch old := ids[f.Replaces]; {
			case f.Replaces == "":
				written, _, err = t.As(p.ID).Add(ctx, client.AddMemory{Content: f.Text})
			case f.Text == "":
				_, err = t.As(p.ID).Delete(ctx, old)
			default:
				written, err = t.As(p.ID).Edit(ctx, old, client.EditMemory{Content: &f.Text})
			}
			if err != nil {
				return fmt.Errorf("add fact %s: %w", f.ID, err)
			}
			ids[f.ID] = written.ID
		}
		return nil
	}
}

// chatMemory is a memory of a person, with the exchanges and facts of the set that are its sources.
type chatMemory struct {
	id, content string
	from        []string
}

func (m chatMemory) isFrom(gold []string) bool {
	return slices.ContainsFunc(m.from, func(id string) bool { return slices.Contains(gold, id) })
}

// memories returns the turns and active facts of a person after the chats.
func (t *chatTrial) memories(ctx context.Context, p ChatPerson) (out []chatMemory, err error) {
	by := map[string][]string{} // exchanges and facts by a memory's text or a turn's id
	for _, chat := range p.Chats {
		for _, e := range chat.Exchanges {
			by[e.User], by[e.Assistant] = append(by[e.User], e.ID), append(by[e.Assistant], e.ID)
		}
	}
	for _, f := range p.Facts {
		by[f.Text] = append(by[f.Text], f.ID)
	}
	for _, kind := range []string{"turn", "fact"} {
		listed, err := memory.Collect(t.As(p.ID).AllMemories(ctx, client.ListQuery{Kind: kind, Status: "active"}))
		if err != nil {
			return nil, fmt.Errorf("list memories: %w", err)
		}
		for _, m := range listed {
			stored := chatMemory{id: m.ID, content: m.Content, from: slices.Clone(by[m.Content])}
			if kind == "turn" {
				by[m.ID] = stored.from
			} else if m.Provenance != nil {
				for _, turn := range m.Provenance.Turns {
					stored.from = append(stored.from, by[turn]...)
				}
			}
			out = append(out, stored)
		}
	}
	slices.SortFunc(out, func(a, b chatMemory) int { return strings.Compare(a.id, b.id) })
	return out, nil
}

// ChatReport has the results of trial sets.
type ChatReport struct {
	Models Models
	TopK   int

	Missed  []string // messages without an answer, and unrelated ones with memory
	arounds []string // surroundings, in the order of the sets
	counts  map[string]int
}

// chatRun is the run of one person's messages.
type chatRun struct {
	*chatTrial
	report   *ChatReport
	person   ChatPerson
	memories []chatMemory
	bare     bool // the message was answered without surroundings
}

// all records the person's chats and sends all messages.
func (r *chatRun) all(ctx context.Context) (err error) {
	if err := r.record(ctx, r.person); err != nil {
		return err
	}
	if r.memories, err = r.chatTrial.memories(ctx, r.person); err != nil {
		return err
	}
	for i, messages := range [][]ChatMessage{r.person.Needed, r.person.Unrelated} {
		for _, m := range messages {
			if err := r.ask(ctx, m, []string{"", "unrelated"}[i]); err != nil {
				return fmt.Errorf("message %s: %w", m.ID, err)
			}
		}
	}
	return nil
}

// unrelatedAround is the only surrounding of messages that need no memory.
const unrelatedAround = "small talk 120"

// ask sends a message, bare and in its surroundings.
func (r *chatRun) ask(ctx context.Context, m ChatMessage, kind string) error {
	if err := r.probe(ctx, m, m.Message, kind, ""); err != nil {
		return err
	}
	for _, s := range r.person.Surroundings {
		for _, place := range s.Places {
			around := s.name(place)
			if kind == "" {
				r.report.arounds = distinct(append(r.report.arounds, around))
			} else if around = "around"; !strings.HasPrefix(s.Name, unrelatedAround) {
				continue
			}
			if err := r.probe(ctx, m, s.around(m.Message, place), kind, around); err != nil {
				return err
			}
		}
	}
	return nil
}

// probe sends one message, and counts its memories.
func (r *chatRun) probe(ctx context.Context, m ChatMessage, message, kind, around string) error {
	block, hits, err := r.send(ctx, r.person.ID, "read", "", []chatMessage{{memory.RoleUser, message}}, "ok")
	if err != nil {
		return err
	}
	var core, found []chatMemory
	for _, h := range hits {
		hit := chatMemory{content: h.Content}
		if i := slices.IndexFunc(r.memories, func(m chatMemory) bool { return m.id == h.ID }); i >= 0 {
			hit.from = r.memories[i].from
		}
		if h.Core {
			core = append(core, hit)
		} else {
			found = append(found, hit)
		}
	}
	add := func(what, around string, n int) { r.report.counts[kind+" "+what+" "+around] += n }
	answered := holds(block, m.Answers)
	add("messages", around, 1)
	add("answered", around, count(answered))
	add("in core", around, count(answered && m.answeredBy(core)))
	add("in hits", around, count(answered && m.answeredBy(found)))
	if around == "" {
		r.bare = answered
		add("core", "", count(len(core) > 0))
		add("tokens", "", text.EstimateTokens(block))
		if m.Kind == "direct" {
			add("messages", "direct", 1)
			add("answered", "direct", count(answered))
		}
	}
	add("lost in", around, count(r.bare && !answered))
	helped := 0
	for _, f := range found {
		helped += count(holds(f.content, m.Answers) || f.isFrom(m.Gold))
	}
	for _, of := range distinct([]string{around, "all"}) {
		add("matched", of, count(len(found) > 0))
		add("hits", of, len(found))
		add("helped", of, helped)
	}
	if kind == "" && !answered || kind != "" && len(found) > 0 {
		missed := fmt.Sprintf("%s %s (%d hits) %s %s", r.person.ID, m.ID, len(found), kind, around)
		r.report.Missed = append(r.report.Missed, strings.Join(strings.Fields(missed), " "))
	}
	return nil
}

// answeredBy reports whether one of the memories has an answer.
func (m ChatMessage) answeredBy(memories []chatMemory) bool {
	return slices.ContainsFunc(memories, func(g chatMemory) bool { return holds(g.content, m.Answers) })
}

// Rows returns the measures whose whole is not 0.
func (r ChatReport) Rows() (rows []report.Row) {
	add := func(name, part, whole string, cell func(metric string, n, of int) report.Cell) {
		if of := r.counts[whole]; of > 0 {
			rows = append(rows, report.Row{Name: name, Cells: []report.Cell{cell("loci", r.counts[part], of)}})
		}
	}
	for _, around := range append([]string{""}, r.arounds...) {
		add(cmp.Or(around, "answer in the prompt, bare"), " answered "+around, " messages "+around, report.Count)
		add("  in the core "+around, " in core "+around, " messages "+around, report.Count)
		add("  among the hits "+around, " in hits "+around, " messages "+around, report.Count)
	}
	add("asked directly, bare", " answered direct", " messages direct", report.Count)
	for _, around := range r.arounds {
		r.counts[" lost"] = max(r.counts[" lost"], r.counts[" lost in "+around])
	}
	add("lost, worst surrounding", " lost", " answered ", report.Count)
	add("unrelated with memory", "unrelated matched ", "unrelated messages ", report.Count)
	add("  "+unrelatedAround+" around", "unrelated matched around", "unrelated messages around", report.Count)
	add("hits of these", "unrelated hits ", "unrelated matched ", report.Average)
	add("hits of a bare message", " hits ", " messages ", report.Average)
	add("hits that help", " helped ", " hits ", report.Percent)
	add("hits that help, all", " helped all", " hits all", report.Percent)
	add("core, needed", " core ", " messages ", report.Count)
	add("core, unrelated", "unrelated core ", "unrelated messages ", report.Count)
	add("tokens a conversation, needed", " tokens ", " messages ", report.Average)
	add("tokens a conversation, unrelated", "unrelated tokens ", "unrelated messages ", report.Average)
	return rows
}

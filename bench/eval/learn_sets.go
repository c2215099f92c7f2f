package eval

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// learnLoCoMo makes two lessons of each conversation, one for each speaker: what
// that speaker says is the user's, what the other says the assistant's, and the
// gold is the observations about the user, whose name stands as "User" in them.
func learnLoCoMo(data []byte, _ string) ([]Lesson, error) {
	var samples []struct {
		locomoSample
		Observation map[string]map[string][][]json.RawMessage `json:"observation"`
	}
	if err := json.Unmarshal(data, &samples); err != nil {
		return nil, fmt.Errorf("locomo: %w", err)
	}
	var out []Lesson
	for _, s := range samples {
		c, err := s.read()
		if err != nil {
			return nil, fmt.Errorf("locomo %s: %w", s.ID, err)
		}
		var speakers []string
		for _, t := range c.Turns {
			if !slices.Contains(speakers, t.Name) {
				speakers = append(speakers, t.Name)
			}
		}
		for _, speaker := range speakers {
			l := Lesson{Name: s.ID + " " + speaker}
			places := map[string]int{}
			for i, t := range c.Turns {
				places[t.Ref] = i
				if t.Name != speaker {
					t.Role = memory.RoleAssistant
				}
				t.Name = ""
				l.Turns = append(l.Turns, t)
			}
			for _, session := range keys(s.Observation) {
				for _, o := range s.Observation[session][speaker] {
					l.Gold = append(l.Gold, observation(o, speaker, places)...)
				}
			}
			out = append(out, l)
		}
	}
	return out, nil
}

// observation reads a statement and the turn, or the first of the turns, it is
// from. What is spelled otherwise is left out.
func observation(raw []json.RawMessage, speaker string, places map[string]int) []GoldFact {
	var words, ref string
	var refs []string
	if len(raw) < 2 || json.Unmarshal(raw[0], &words) != nil {
		return nil
	}
	if json.Unmarshal(raw[1], &ref) != nil && json.Unmarshal(raw[1], &refs) == nil && len(refs) > 0 {
		ref = refs[0]
	}
	g := GoldFact{Text: strings.ReplaceAll(words, speaker, "User"), Turn: -1, Replaces: -1, Category: "observation"}
	if place, ok := places[strings.TrimSpace(ref)]; ok {
		g.Turn = place
	}
	return []GoldFact{g}
}

// learnRealMem makes a lesson of a persona. Gold is the memories extracted from
// the user's turns; those extracted from the assistant's may be remembered.
func learnRealMem(data []byte, file string) ([]Lesson, error) {
	c, err := parseRealMem(data)
	if err != nil {
		return nil, err
	}
	var set struct {
		Dialogues []struct {
			Session string `json:"session_uuid"`
			Memory  []struct {
				Type    string `json:"type"`
				Content string `json:"content"`
				Role    string `json:"source_role_snapshot"`
				Source  string `json:"source_content_snapshot"`
			} `json:"extracted_memory"`
		} `json:"dialogues"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("realmem: %w", err)
	}
	l := Lesson{Turns: c.Turns}
	l.Name, _, _ = strings.Cut(filepath.Base(file), ".")
	seen := map[string]bool{}
	for _, d := range set.Dialogues {
		for _, m := range d.Memory {
			_, words, labelled := strings.Cut(m.Content, "】")
			if !labelled {
				words = m.Content
			}
			words = strings.TrimSpace(words)
			if words == "" || seen[words] {
				continue
			}
			seen[words] = true
			if m.Role != "User" {
				l.Extra = append(l.Extra, words)
				continue
			}
			turn := slices.IndexFunc(l.Turns, func(t Turn) bool { return t.Session == d.Session && t.Content == m.Source })
			l.Gold = append(l.Gold, GoldFact{Text: words, Turn: turn, Replaces: -1, Category: m.Type})
		}
	}
	return []Lesson{l}, nil
}

// learnBEAM makes a lesson of each chat. Its gold is the pairs of statements of
// which the later one takes the earlier one's place: what was updated, and what
// contradicts. The data set names their messages; the statement is the sentence
// of the message that has most of the question's and the answer's terms, without
// what it asks for and in the third person. Pairs whose sides are the same message, or
// an update that comes before what it updates, are left out.
func learnBEAM(data []byte, _ string) ([]Lesson, error) {
	set, err := parseBEAM(data)
	if err != nil {
		return nil, err
	}
	var out []Lesson
	i := 0
	for line := range strings.Lines(string(data)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var chat struct {
			Probing map[string][]struct {
				Question string          `json:"question"`
				Answer   string          `json:"answer"`
				Ideal    string          `json:"ideal_answer"`
				Source   json.RawMessage `json:"source_chat_ids"`
			} `json:"probing_questions"`
		}
		if err := json.Unmarshal([]byte(line), &chat); err != nil {
			return nil, fmt.Errorf("beam: line %d: %w", i+1, err)
		}
		c := set.Conversations[i]
		i++
		l := Lesson{Name: c.Name, Turns: c.Turns, Partial: true}
		for _, kind := range []string{"knowledge_update", "contradiction_resolution"} {
			for _, p := range chat.Probing[kind] {
				l.pair(kind, p.Question, p.Answer+" "+p.Ideal, p.Source)
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// pair adds two statements of which the later replaces the earlier, if the source
// names two different messages of the user.
func (l *Lesson) pair(kind, question, answer string, source json.RawMessage) {
	var sides map[string]json.RawMessage
	if json.Unmarshal(source, &sides) != nil {
		return
	}
	asked := terms(question + " " + answer)
	one, haveOne := l.statement(sides["original_info"], sides["first_statement"], asked)
	two, haveTwo := l.statement(sides["updated_info"], sides["second_statement"], asked)
	if !haveOne || !haveTwo || one.Turn == two.Turn {
		return
	}
	if one.Turn > two.Turn {
		if kind == "knowledge_update" {
			return
		}
		one, two = two, one
	}
	one.Category, two.Category, two.Question = kind, kind, question
	one.Replaces, two.Replaces = -1, len(l.Gold)
	l.Gold = append(l.Gold, one, two)
}

// statement returns the sentence that says most of what is asked among the user's
// turns that either list names.
func (l *Lesson) statement(raw, or json.RawMessage, asked map[string]bool) (GoldFact, bool) {
	if raw == nil {
		raw = or
	}
	best, most := GoldFact{Turn: -1, Replaces: -1}, 0
	for _, ref := range numbersIn(raw) {
		place := slices.IndexFunc(l.Turns, func(t Turn) bool { return t.Ref == ref })
		if place < 0 || l.Turns[place].Role != memory.RoleUser {
			continue
		}
		said, _, _ := strings.Cut(l.Turns[place].Content, "```") // code states nothing
		for _, span := range text.Sentences(said) {
			words := asserted(span.Of(said))
			if n := sharedTerms(terms(words), asked); n > most {
				best.Turn, best.Text, most = place, thirdPerson(words), n
			}
		}
	}
	return best, most > 0
}

// asserted returns the part of a sentence that asks for nothing, "" if it only asks.
func asserted(sentence string) string {
	s := strings.TrimSpace(sentence)
	if strings.HasSuffix(s, "?") {
		s = request.ReplaceAllString(s, "")
	}
	if strings.HasSuffix(s, "?") {
		return ""
	}
	return strings.TrimSpace(s)
}

// request is where a sentence begins to ask.
var request = lazy.Compile(`(?is)(?:^|[,;:–—-])\s*(?:(?:and|but|so|then|also|or) )*(?:can|could|would|should|will|how|what|which|why|where|who|do|does|is|are|am|any)\b[^,;]*(?:[,;][^?]*)?\?$`)

// thirdPerson turns what the user says into what is said of them.
func thirdPerson(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "’", "'")
	for _, p := range persons {
		s = p.first.ReplaceAllString(s, p.third)
	}
	return strings.TrimSpace(s)
}

// persons are how the first person becomes the third, longer forms first.
var persons = func() (out []struct {
	first *lazy.Pattern
	third string
}) {
	for _, p := range [][2]string{
		{`I'm|I am`, "User is"}, {`I've|I have`, "User has"}, {`I'd`, "User would"}, {`I'll`, "User will"}, {`I don't`, "User does not"},
		{`I was`, "User was"}, {`I`, "User"}, {`[Mm]y`, "User's"}, {`me`, "User"}, {`[Ww]e`, "they"}, {`[Oo]ur`, "their"},
	} {
		out = append(out, struct {
			first *lazy.Pattern
			third string
		}{lazy.Compile(`\b(?:` + p[0] + `)\b`), p[1]})
	}
	return out
}()

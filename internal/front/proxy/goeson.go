package proxy

import (
	"sync"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// maxAnswers is how many answers are remembered by their id: those of some days, for
// the users of one server.
const maxAnswers = 20_000

// lateAnswers remembers which conversation the latest answers belong to. A request of
// the Responses API may name the answer that it goes on from and send nothing of what
// came before. What is not known here, as after a restart or from another server, begins a
// conversation of its own, unless the client names one.
type lateAnswers struct {
	mu    sync.Mutex // guards both
	of    map[answerKey]string
	order []answerKey // a ring, from next on the oldest
	next  int
}

// answerKey is an answer that an owner was given: nobody goes on from another's.
type answerKey struct {
	owner memory.Owner
	id    string
}

func (l *lateAnswers) conversation(owner memory.Owner, id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[answerKey{owner, id}]
}

func (l *lateAnswers) add(owner memory.Owner, id, conversation string) {
	if id == "" || conversation == "" || len(id) > maxAnswerID {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[answerKey]string{}
	}
	key := answerKey{owner, id}
	if _, known := l.of[key]; !known {
		if len(l.order) < maxAnswers {
			l.order = append(l.order, key)
		} else {
			delete(l.of, l.order[l.next])
			l.order[l.next] = key
			l.next = (l.next + 1) % maxAnswers
		}
	}
	l.of[key] = conversation
}

// maxAnswerID bounds an id, which an upstream makes, in bytes.
const maxAnswerID = 256

// goesOn returns the conversation that a request goes on in, by what it says of the
// server's keeping; "" where it says nothing that is known.
func (d *Door) goesOn(owner memory.Owner, chat *wire.Chat) string {
	switch {
	case chat.Conversation != "":
		return chat.Conversation
	case chat.Previous != "":
		return d.answers.conversation(owner, chat.Previous)
	}
	return ""
}

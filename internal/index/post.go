package index

import (
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// indexText adds the postings of document n. It returns the document's own length in thirds of a word,
// and the flags and classes of all its words.
func (s *contents) indexText(n int32, m memory.Memory, statedAt time.Time) (length int32, flags memory.TextFlags, classes text.Classes) {
	count := func(w string, weight int32) *word {
		props := sharedLexicon.wordFor(w)
		if props.term != "" {
			length += weight
			s.addPosting(n, s.termNumber(props.term), weight)
		}
		return props
	}
	text.EachWord(m.Content(), func(w string) {
		props := count(w, wordWeight)
		flags |= props.flags
		classes |= props.classes
	})
	if m.Turn != nil && m.Turn.Name != "" {
		text.EachWord(m.Turn.Name, func(w string) { count(w, wordWeight) })
	}
	if m.Fact != nil {
		for _, tag := range m.Fact.Tags {
			text.EachWord(tag, func(w string) { count(w, wordWeight) })
		}
	}
	if !statedAt.IsZero() {
		for _, w := range dateWords(statedAt) {
			count(w, dateWordWeight)
		}
	}
	return length, flags, classes
}

// termNumber returns the number of a term, and adds a missing term without copying the string.
func (s *contents) termNumber(t string) int32 {
	id, ok := s.terms[t]
	if !ok {
		id = int32(len(s.postings))
		s.terms[t] = id
		s.indexCharacters(t, id)
		s.postings = append(s.postings, nil)
	}
	return id
}

// addPosting adds weight, in thirds, to the posting of a term in document n, which must be the newest document.
func (s *contents) addPosting(n, term int32, weight int32) {
	if s.pendingPostings != nil {
		s.pendingPostings.addPosting(n, term, weight)
		return
	}
	list := s.postings[term]
	if last := len(list) - 1; last >= 0 && int32(list[last]>>8) == n {
		list[last] = raisedPosting(list[last], weight)
		return
	}
	s.postings[term] = append(list, uint32(n)<<8|uint32(weight))
	s.postingCapacity += cap(s.postings[term]) - cap(list)
}

// raisedPosting returns a posting with its count raised by weight, up to maxCount.
func raisedPosting(posting uint32, weight int32) uint32 {
	return posting&^maxCount | min(maxCount, posting&maxCount+uint32(weight))
}

// dateWords returns the words by which a question may mention a day: its month's name, year and number.
func dateWords(t time.Time) [3]string {
	y, m, d := t.UTC().Date()
	return [3]string{monthNames[m-1], strconv.Itoa(y), strconv.Itoa(d)}
}

var monthNames = func() (names [12]string) {
	for i := range names {
		names[i] = strings.ToLower(time.Month(i + 1).String())
	}
	return names
}()

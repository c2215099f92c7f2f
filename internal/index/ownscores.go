package index

import "math"

// computeOwnScores scores the documents of list, and all turns of their conversations, each only by
// the words in its own text. It also sets the session scores of these conversations.
func computeOwnScores(segments []*segment, groups []termGroup, list []scoredDoc) {
	for _, f := range list {
		segments[f.segmentIndex].requestOwnScore(f.doc)
	}
	for _, p := range segments {
		p.requestConversations()
	}
	_, means := corpusStatistics(segments)
	for i, w := range groups {
		if w.isRelated {
			continue
		}
		for _, p := range segments {
			p.addOwnScores(p.postingLists[i], float32(w.idf), means)
		}
	}
	for _, p := range segments {
		for _, t := range p.sessionRequests {
			p.sessionScores[t] = p.sessionScore(t)
		}
	}
}

// requestOwnScore requests the own score of a document and, for a turn, its conversation's session score.
func (p *segment) requestOwnScore(n int32) {
	markDoc(p.ownScoreRequests, n)
	t := p.docs[n].conversation
	if p.kinds[n] != turn || p.sessionScores[t] != 0 {
		return
	}
	p.sessionScores[t] = -1 // -1 means requested
	p.sessionRequests = append(p.sessionRequests, t)
}

// requestConversations requests the own scores of all turns of the requested conversations, or of all
// documents if these turns are more than a quarter of all documents.
func (p *segment) requestConversations() {
	turns := 0
	for _, t := range p.sessionRequests {
		turns += len(p.conversationTurns[t])
	}
	if turns > len(p.docs)/4 {
		for i := range p.ownScoreRequests {
			p.ownScoreRequests[i] = math.MaxUint64
		}
		return
	}
	for _, t := range p.sessionRequests {
		for _, n := range p.conversationTurns[t] {
			markDoc(p.ownScoreRequests, n)
		}
	}
}

func (p *segment) addOwnScores(lists [][]uint32, idf float32, means [4]meanLengths) {
	bm25 := newBM25(1.0/wordWeight, idf, means, func(mean meanLengths) float64 { return mean.own })
	for _, list := range lists {
		for _, posting := range list {
			n := int32(posting >> 8)
			if isMarked(p.ownScoreRequests, n) {
				p.ownScores[n] += bm25.Score(posting&maxCount, uint8(p.kinds[n]), p.ownLengths[n])
			}
		}
	}
}

// sessionScore returns the mean of the three best own scores among a conversation's turns.
func (p *segment) sessionScore(t int32) float32 {
	var first, second, third float32
	for _, n := range p.conversationTurns[t] {
		switch x := p.ownScores[n]; {
		case x <= third: // the most frequent case
		case x > first:
			first, second, third = x, first, second
		case x > second:
			second, third = x, second
		default:
			third = x
		}
	}
	return (first + second + third) / 3
}

// peakScore returns how much a turn's own score exceeds the best own score of the turns at distances 1 and 2.
func (p *segment) peakScore(n int32) float32 {
	var best float32
	prev, next := p.links[n].prev, p.links[n].next
	for range 2 {
		if prev != none {
			best = max(best, p.ownScores[prev])
			prev = p.links[prev].prev
		}
		if next != none {
			best = max(best, p.ownScores[next])
			next = p.links[next].next
		}
	}
	return max(0, p.ownScores[n]-best)
}

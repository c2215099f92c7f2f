package index

import "math"

// computeOwnScores scores the documents of list and all turns of their conversations by the
// document's own words, without neighbours. It also sets the session scores of these conversations.
func scoreOwn(parts []*segment, asked []words, list []found) {
	for _, f := range list {
		parts[f.part].requestScore(f.n)
	}
	for _, p := range parts {
		p.needConversations()
	}
	_, means := statistics(parts)
	for i, w := range asked {
		if w.related {
			continue
		}
		for _, p := range parts {
			p.scoreOwn(p.lists[i], float32(w.idf), means)
		}
	}
	for _, p := range parts {
		for _, t := range p.ranked {
			p.session[t] = p.bestOf(t)
		}
	}
}

// requestOwnScore marks a document and, if it is a turn, requests the score of its conversation.
func (p *segment) requestScore(n int32) {
	mark(p.needed, n)
	t := p.docs[n].thread
	if p.kinds[n] != turn || p.session[t] != 0 {
		return
	}
	p.session[t] = -1 // -1 means requested
	p.ranked = append(p.ranked, t)
}

// requestConversations marks the turns of requested conversations, or all documents if the turns
// are more than a quarter.
func (p *segment) needConversations() {
	turns := 0
	for _, t := range p.ranked {
		turns += len(p.threads[t])
	}
	if turns > len(p.docs)/4 {
		for i := range p.needed {
			p.needed[i] = math.MaxUint64
		}
		return
	}
	for _, t := range p.ranked {
		for _, n := range p.threads[t] {
			mark(p.needed, n)
		}
	}
}

func (p *segment) scoreOwn(lists [][]uint32, idf float32, means [4]lengths) {
	worth := bm25(1.0/occurrence, idf, means, func(mean lengths) float64 { return mean.own })
	for _, list := range lists {
		for _, posting := range list {
			n := int32(posting >> 8)
			if marked(p.needed, n) {
				p.own[n] += worth.Of(posting&maxCount, uint8(p.kinds[n]), p.olen[n])
			}
		}
	}
}

// sessionScore returns the mean of the three best own scores among a conversation's turns.
func (p *segment) bestOf(t int32) float32 {
	var first, second, third float32
	for _, n := range p.threads[t] {
		switch x := p.own[n]; {
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

// peakScore returns how much a turn's own score exceeds the best own score within two turns.
func (p *segment) peak(n int32) float32 {
	var best float32
	prev, next := p.link[n].prev, p.link[n].next
	for range 2 {
		if prev != none {
			best = max(best, p.own[prev])
			prev = p.link[prev].prev
		}
		if next != none {
			best = max(best, p.own[next])
			next = p.link[next].next
		}
	}
	return max(0, p.own[n]-best)
}

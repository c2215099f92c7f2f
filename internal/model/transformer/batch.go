package transformer

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// groupTokens is the number of tokens that a goroutine processes together: enough to use each loaded weight
// many times, but few enough for intermediate values to stay in the CPU cache.
const groupTokens = 192

// appendSequences appends a text's tokens as one sequence. If there are more than the model's limit, it splits
// them into sequences of nearly equal length, each with the text's prefix.
func (m *Model) appendSequences(sequences []sequence, prefix, ids []int32) []sequence {
	room := m.maxTokens - 2
	if len(ids) <= room || m.truncate {
		return append(sequences, m.sequenceOf(ids[:min(len(ids), room)]))
	}
	if len(prefix) >= room || !slices.Equal(ids[:len(prefix)], prefix) {
		prefix = nil
	}
	ids, room = ids[len(prefix):], room-len(prefix)
	for left := (len(ids) + room - 1) / room; left > 0; left-- {
		n := (len(ids) + left - 1) / left
		sequences = append(sequences, m.sequenceOf(slices.Concat(prefix, ids[:n])))
		ids = ids[n:]
	}
	return sequences
}

func (m *Model) sequenceOf(ids []int32) sequence {
	all := slices.Concat([]int32{m.tokenizer.cls}, ids, []int32{m.tokenizer.sep})
	return sequence{all, len(all)}
}

// pairSequence returns two texts as one sequence. The longer text is truncated until both fit.
func (m *Model) pairSequence(a, b []int32) sequence {
	between := []int32{m.tokenizer.sep}
	if m.tokenizer.pairing == pairRoBERTa {
		between = append(between, m.tokenizer.sep)
	}
	room := m.maxTokens - 2 - len(between)
	short, long := min(len(a), len(b)), max(len(a), len(b))
	if short+long > room {
		if long = max(short, room-short); short+long > room {
			short, long = room/2, room-room/2
		}
	}
	if len(a) <= len(b) {
		a, b = a[:short], b[:long]
	} else {
		a, b = a[:long], b[:short]
	}
	all := slices.Concat([]int32{m.tokenizer.cls}, a, between, b, []int32{m.tokenizer.sep})
	if m.tokenizer.pairing == pairRoBERTa {
		return sequence{all, len(all)}
	}
	return sequence{all, len(a) + 2}
}

// encode encodes sequences in concurrent groups. From several goroutines it calls use with each sequence's
// index and its tokens' vectors, only the first if firstOnly is true. use must not retain the vectors.
func (m *Model) encode(ctx context.Context, sequences []sequence, firstOnly bool, use func(i int, rows []float32)) error {
	ends := groupEnds(sequences, cap(m.workspaces))
	return runParallel(ctx, len(ends), cap(m.workspaces), func(g int) error {
		start := 0
		if g > 0 {
			start = ends[g-1]
		}
		team, err := m.acquireTeam(ctx, sequences, len(ends))
		if err != nil {
			return err
		}
		defer func() {
			for _, r := range team {
				m.workspaces <- r
			}
		}()
		rows, err := m.encoder.encode(ctx, team, sequences[start:ends[g]], firstOnly)
		if err != nil {
			return err
		}
		for i := start; i < ends[g]; i++ {
			n := m.dims
			if !firstOnly {
				n *= len(sequences[i].ids)
			}
			use(i, rows[:n])
			rows = rows[n:]
		}
		return nil
	})
}

// rowsPerHelper is the minimum number of a text's tokens for each goroutine of a team, and maxTeam the maximum
// number of goroutines for one group.
const (
	rowsPerHelper = 4
	maxTeam       = 4
)

// acquireTeam waits for a workspace. If there is only one group, it also takes other free workspaces, so that
// a single text, such as a question, is embedded sooner.
func (m *Model) acquireTeam(ctx context.Context, sequences []sequence, groups int) (team []*workspace, err error) {
	select {
	case r := <-m.workspaces:
		team = append(team, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for groups == 1 && len(team) < maxTeam && len(sequences[0].ids) >= (len(team)+1)*rowsPerHelper {
		select {
		case r := <-m.workspaces:
			team = append(team, r)
		default:
			return team, nil
		}
	}
	return team, nil
}

// groupEnds divides sequences into groups and returns the end index of each group. A group is one sequence or
// has at most groupTokens tokens, and all workers get about the same number of tokens.
func groupEnds(sequences []sequence, workers int) (ends []int) {
	total, tokens := 0, 0
	for _, t := range sequences {
		total += len(t.ids)
	}
	rounds := max(1, (total+workers*groupTokens-1)/(workers*groupTokens))
	maxTokens := (total + rounds*workers - 1) / (rounds * workers)
	for i, t := range sequences {
		if tokens > 0 && tokens+len(t.ids) > maxTokens {
			ends = append(ends, i)
			tokens = 0
		}
		tokens += len(t.ids)
	}
	if len(sequences) > 0 {
		ends = append(ends, len(sequences))
	}
	return ends
}

// runParallel calls do for 0 to n-1 on at most workers goroutines, and waits for the calls. It returns the
// first error; after an error or the end of ctx, it starts no more calls.
func runParallel(ctx context.Context, n, workers int, do func(i int) error) error {
	var next atomic.Int64
	var failed error
	var once sync.Once
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			err := ctx.Err()
			if err == nil {
				err = do(i)
			}
			if err != nil {
				once.Do(func() { failed = err })
				next.Store(int64(n))
			}
		}
	}
	var others sync.WaitGroup
	for range min(workers, n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return failed
}

// staticBatch is the number of texts that a goroutine embeds with a static model at once.
const staticBatch = 16

func (m *Model) embedStatic(ctx context.Context, n int, tokensOf func(i int) []int32) ([][]float32, error) {
	out := make([][]float32, n)
	err := runParallel(ctx, (n+staticBatch-1)/staticBatch, runtime.GOMAXPROCS(0), func(block int) error {
		for i := block * staticBatch; i < min(n, (block+1)*staticBatch); i++ {
			out[i] = m.static.embed(tokensOf(i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

package eval

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Formats are the names of the formats that [Open] reads.
var Formats = []string{"locomo", "longmemeval", "beam", "realmem", "jsonl"}

// Open reads the first limit conversations (0: all) of a data set in one of
// [Formats]. The files' conversations are put together. [memory.Invalid] for
// another format, or where there is no question.
func Open(format string, limit int, files ...string) (Dataset, error) {
	all := Dataset{Name: format}
	if !slices.Contains(Formats, format) {
		return all, memory.Errorf(memory.Invalid, "%q is not a data set; valid: %s", format, strings.Join(Formats, ", "))
	}
	questions := 0
	for _, f := range files {
		set, err := openOne(format, limit, f)
		if err != nil {
			return Dataset{}, err
		}
		all.Conversations = append(all.Conversations, set.Conversations...)
	}
	if limit > 0 {
		all.Conversations = all.Conversations[:min(limit, len(all.Conversations))]
	}
	for _, c := range all.Conversations {
		questions += len(c.Questions)
	}
	if questions == 0 {
		return all, memory.Errorf(memory.Invalid, "no question with gold in %s", strings.Join(files, ", "))
	}
	return all, nil
}

func openOne(format string, limit int, file string) (Dataset, error) {
	switch format {
	case "locomo":
		return LoCoMo(file)
	case "longmemeval":
		return LongMemEval(file, limit)
	case "beam":
		return BEAM(file)
	case "jsonl":
		return JSONL(file)
	}
	c, err := RealMem(file)
	return Dataset{Conversations: []Conversation{c}}, err
}

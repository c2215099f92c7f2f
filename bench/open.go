package bench

import "github.com/loci-memory/loci/memory"

// Open reads a data set by the name of its format: locomo, beam or realmem. The
// files' conversations are put together.
func Open(name string, files ...string) (Dataset, error) {
	all := Dataset{Name: name}
	for _, f := range files {
		set, err := openOne(name, f)
		if err != nil {
			return Dataset{}, err
		}
		all.Conversations = append(all.Conversations, set.Conversations...)
	}
	return all, nil
}

func openOne(name, file string) (Dataset, error) {
	switch name {
	case "locomo":
		return LoCoMo(file)
	case "beam":
		return BEAM(file)
	case "realmem":
		c, err := RealMem(file)
		return Dataset{Conversations: []Conversation{c}}, err
	}
	return Dataset{}, memory.Errorf(memory.Invalid, "%q is no data set; valid: locomo, beam, realmem", name)
}

package prompt

// System is the data for system.md, the system message of a chat of /api/chats. Contexts and Memory are
// texts that package recall marked as data. Empty fields are omitted.
type System struct {
	Contexts, Rules, Memory string
	Message                 string // the user's current message
}

func (System) promptName() string { return "system" }

func (d System) placeholderValues() map[string]string {
	return map[string]string{"CONTEXTS": d.Contexts, "RULES": d.Rules, "MEMORY": d.Memory, "MESSAGE": d.Message}
}

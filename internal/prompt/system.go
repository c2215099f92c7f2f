package prompt

// System fills system.md: what a model is told in a chat of /api/chats. Contexts and
// Memory come fenced, as package recall writes them; what is empty is left out.
type System struct {
	Contexts, Rules, Memory string
	Message                 string // what the user says now
}

func (System) name() string { return "system" }

func (d System) values() map[string]string {
	return map[string]string{"CONTEXTS": d.Contexts, "RULES": d.Rules, "MEMORY": d.Memory, "MESSAGE": d.Message}
}

package core

// Belonging is what a learned fact belongs to, and so who is shown it.
type Belonging string

// What facts belong to.
const (
	OfUser         Belonging = "user"         // to the user, or to the chat's project where they are about that
	OfProject      Belonging = "project"      // to the chat's project, to the user where it has none
	OfConversation Belonging = "conversation" // to the conversation that taught it (design 4)
)

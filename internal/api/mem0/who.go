package mem0

import (
	"errors"
	"net/url"
	"strings"
	"unicode"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// Limits of arguments, in bytes.
const (
	maxNameBytes     = 256
	maxQueryBytes    = 100_000
	maxMetadataBytes = 64 << 10
)

// ids are the ids by which mem0 scopes a memory.
type ids struct {
	User  string `json:"user_id"`
	Agent string `json:"agent_id"`
	App   string `json:"app_id"`
	Run   string `json:"run_id"`
}

// idNames are the JSON names of the ids, in the order of [ids.fields].
var idNames = []string{"user_id", "agent_id", "app_id", "run_id"}

func (i *ids) fields() []*string { return []*string{&i.User, &i.Agent, &i.App, &i.Run} }

// fillFrom replaces empty ids by the ids in defaults.
func (i *ids) fillFrom(defaults ids) {
	defaultFields := defaults.fields()
	for n, field := range i.fields() {
		if *field == "" {
			*field = *defaultFields[n]
		}
	}
}

// ownerName returns the name of the user that owns memories with these ids: user_id, or the result of
// [ownerNameOf] for the first other id.
func (i *ids) ownerName() string {
	for n, v := range i.fields() {
		if *v != "" && (n == 0 || *v != wildcard) {
			return ownerNameOf(n, *v)
		}
	}
	return ""
}

// ownerNameOf returns the name of the user that owns memories with only one id, of the kind idNames[idIndex].
// Memories of an agent, app or run without a user belong to a user named "agent_id=NAME".
func ownerNameOf(idIndex int, id string) string {
	if idIndex == 0 {
		return id
	}
	return idNames[idIndex] + "=" + id
}

// parseOwnerName is the inverse of [ownerNameOf].
func parseOwnerName(user string) (idIndex int, id string) {
	for idIndex, name := range idNames[1:] {
		if id, ok := strings.CutPrefix(user, name+"="); ok {
			return idIndex + 1, id
		}
	}
	return 0, user
}

func (i *ids) validate() error {
	if n, _ := parseOwnerName(i.User); n > 0 {
		return errReservedName
	}
	for n, v := range i.fields() {
		if len(*v) > maxNameBytes || strings.ContainsFunc(*v, unicode.IsControl) {
			return memory.Errorf(memory.Invalid, "%s: an id is at most %d bytes without control characters", idNames[n], maxNameBytes)
		}
	}
	return nil
}

// idsFromQuery returns the ids in a URL's query.
func idsFromQuery(query url.Values) (ids, error) {
	var out ids
	for n, v := range out.fields() {
		*v = query.Get(idNames[n])
	}
	return out, out.validate()
}

// errReservedName is the error for names that [ownerNameOf] reserves.
var errReservedName = memory.Errorf(memory.Invalid, "user_id: must not begin with agent_id=, app_id= or run_id=; send that id instead")

const conversationPrefix = "mem0?"

// conversation returns the name of the conversation of memories that were added with these ids and
// instructions, or "" if both are empty.
func (i *ids) conversation(instructions string) string {
	values := url.Values{}
	if instructions != "" {
		values.Set("wishes", core.DerivedID("", instructions))
	}
	for n, v := range i.fields() {
		if *v != "" {
			values.Set(idNames[n], *v)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return conversationPrefix + values.Encode()
}

// labelsOf returns the ids in the name of the memory's conversation.
func labelsOf(m memory.Memory) (out ids) {
	conversation := ""
	switch {
	case m.Fact != nil:
		conversation = m.Fact.Provenance.Conversation
	case m.Turn != nil:
		conversation = m.Turn.Conversation
	case m.Summary != nil:
		conversation = m.Summary.Scope.Conversation
	}
	if encoded, ok := strings.CutPrefix(conversation, conversationPrefix); ok {
		if values, err := url.ParseQuery(encoded); err == nil {
			for n, v := range out.fields() {
				*v = values.Get(idNames[n])
			}
		}
	}
	return out
}

// caller is the owner whose memory a request uses, and the author of its changes.
type caller struct {
	owner         memory.Owner
	author        memory.Author
	hasNamedOwner bool // user_id names the owner, so memory ids contain the owner's name
}

// callerFor returns the caller of a request that names a user. The name is used only if the key may name any
// user. The error is [memory.Conflict] while the owner's memory is paused.
func (h *handler) callerFor(c *call, user string) (caller, error) {
	if c.identity.Owner == "" && len(user) > maxNameBytes {
		return caller{}, memory.Errorf(memory.Invalid, "the owner's id is longer than %d bytes", maxNameBytes)
	}
	if user == wildcard && c.identity.Owner == "" {
		user = ""
	}
	id, err := c.identity.WithUser(user)
	if err != nil {
		return caller{}, err
	}
	if id.Owner == "" {
		return caller{}, memory.Errorf(memory.Invalid, "missing user: this server has several users; send user_id, agent_id, app_id or run_id, or use a user's key")
	}
	return caller{id.Owner, id.Author(), c.identity.Owner == ""}, h.engine.Curate.CheckToolAccess(c.Context(), id.Owner, c.isWrite)
}

// idsOf returns the ids of a memory for the caller: the labels, the agent and project of the scope, and the owner
// as the user, unless a label names a user.
func (c caller) idsOf(m memory.Memory) ids {
	out, scope := labelsOf(m), m.Scope()
	out.fillFrom(ids{Agent: scope.Agent, App: scope.Project})
	if n, _ := parseOwnerName(c.owner.Name()); n == 0 || !c.hasNamedOwner {
		out.fillFrom(ids{User: c.owner.Name()})
	}
	return out
}

// hasIDs reports whether a memory has the wanted ids. For reading, any user_id matches a memory without mem0 ids.
func (c caller) hasIDs(m memory.Memory, wanted ids, forReading bool) bool {
	if forReading && !c.hasNamedOwner && labelsOf(m) == (ids{}) {
		wanted.User = ""
	}
	actual := c.idsOf(m)
	theirs := actual.fields()
	for n, want := range wanted.fields() {
		if *want != "" && *want != *theirs[n] && (*want != wildcard || *theirs[n] == "") {
			return false
		}
	}
	return true
}

// labelsFor returns the ids to store with a memory, without the user_id if the user_id names the owner.
func (c caller) labelsFor(i ids) ids {
	if c.hasNamedOwner || i.User == c.owner.Name() {
		i.User = ""
	}
	return i
}

// clientID returns the id that clients use for a memory or event.
func (c caller) clientID(id string) string {
	if c.hasNamedOwner {
		return id + "@" + c.owner.Name()
	}
	return id
}

// resolveID splits a client's id into the owner and Loci's id of the memory, and returns a caller for this owner.
func (h *handler) resolveID(c *call, clientID string) (caller, string, error) {
	id, user, _ := strings.Cut(clientID, "@")
	unknown := memory.Errorf(memory.NotFound, "no such memory: %s", httpx.Truncate(clientID, maxNameBytes))
	if id == "" || len(clientID) > 2*maxNameBytes {
		return caller{}, "", unknown
	}
	who, err := h.callerFor(c, user)
	if err != nil && !errors.Is(err, memory.Invalid) {
		return caller{}, "", err
	}
	if err != nil || user != "" && who.owner.Name() != user {
		return caller{}, "", unknown
	}
	return who, id, nil
}

package memory

import (
	"net/url"
	"strings"
)

// Owner identifies the owner of memory: a user, a shared pool, or "global" (all users) in a namespace. Every
// store call and every key of a row begins with the owner. The text is stable: "default/user/ana",
// "default/pool/team", "default/global". Namespace and name are path-escaped, so any text is a valid name and
// two names never collide. Stores refuse the empty Owner.
type Owner string

// OwnerKind is the kind of an owner.
type OwnerKind string

// The kinds of owner.
const (
	UserKind   OwnerKind = "user"
	PoolKind   OwnerKind = "pool"
	GlobalKind OwnerKind = "global"
)

// DefaultNamespace is the namespace of API keys without a namespace.
const DefaultNamespace = "default"

// User returns the owner of a user's memory.
func User(namespace, id string) Owner { return newOwner(namespace, UserKind, id) }

// Pool returns the owner of a pool's memory, which several users can read.
func Pool(namespace, name string) Owner { return newOwner(namespace, PoolKind, name) }

// Global returns the owner of memory that all users of the namespace can read.
func Global(namespace string) Owner {
	return Owner(url.PathEscape(namespace) + "/" + string(GlobalKind))
}

func newOwner(namespace string, kind OwnerKind, name string) Owner {
	if namespace == "" || name == "" {
		return ""
	}
	return Owner(url.PathEscape(namespace) + "/" + string(kind) + "/" + url.PathEscape(name))
}

// ParseOwner parses a text returned by [User], [Pool] or [Global]; any other text is [Invalid].
func ParseOwner(s string) (Owner, error) {
	o := Owner(s)
	namespace, kind, name := o.parts()
	switch {
	case namespace != "" && kind == GlobalKind && o == Global(namespace):
		return o, nil
	case (kind == UserKind || kind == PoolKind) && o == newOwner(namespace, kind, name) && o != "":
		return o, nil
	}
	return "", Errorf(Invalid, "invalid owner %q (example: default/user/ana)", s)
}

// Valid reports whether o is a valid owner.
func (o Owner) Valid() bool {
	_, err := ParseOwner(string(o))
	return err == nil
}

// Namespace returns the namespace, unescaped.
func (o Owner) Namespace() string { n, _, _ := o.parts(); return n }

// Kind returns the kind of owner, "" for an invalid owner.
func (o Owner) Kind() OwnerKind { _, k, _ := o.parts(); return k }

// Name returns the user's or pool's name, unescaped, or "" for a global owner.
func (o Owner) Name() string { _, _, n := o.parts(); return n }

// DisplayName returns the owner's name for people: "user/ben", "pool/team" or "global".
func (o Owner) DisplayName() string {
	if o.Kind() == GlobalKind {
		return string(GlobalKind)
	}
	return string(o.Kind()) + "/" + o.Name()
}

func (o Owner) parts() (namespace string, kind OwnerKind, name string) {
	namespaceText, rest, _ := strings.Cut(string(o), "/")
	kindText, nameText, _ := strings.Cut(rest, "/")
	namespace, err1 := url.PathUnescape(namespaceText)
	name, err2 := url.PathUnescape(nameText)
	if err1 != nil || err2 != nil {
		return "", "", ""
	}
	return namespace, OwnerKind(kindText), name
}

// Scope is an owner, optionally narrowed to a project, agent or conversation. Projects, agents and
// conversations only filter memory; they do not own it.
type Scope struct {
	Owner        Owner  `json:"owner"`
	Project      string `json:"project,omitempty"`
	Agent        string `json:"agent,omitempty"`
	Conversation string `json:"conversation,omitempty"`
}

// Sees reports whether a reader in scope s may see memory in scope other: the owners are equal, and project,
// agent and conversation are each equal or empty in one of the scopes.
func (s Scope) Sees(other Scope) bool {
	return s.Owner == other.Owner &&
		equalOrEmpty(s.Project, other.Project) &&
		equalOrEmpty(s.Agent, other.Agent) &&
		equalOrEmpty(s.Conversation, other.Conversation)
}

func equalOrEmpty(a, b string) bool { return a == "" || b == "" || a == b }

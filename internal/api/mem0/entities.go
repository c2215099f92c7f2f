package mem0

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// organizationID is the organization's id in responses to mem0's clients.
const organizationID = "loci"

func (h *handler) ping(c *call) (any, error) {
	return map[string]any{"status": "ok", "org_id": organizationID, "project_id": c.identity.Namespace, "user_email": nil}, nil
}

// projectOwner returns the owner whose profile contains the settings of the request's project: the key's user or,
// if the key may name any user, the global pool.
func (h *handler) projectOwner(c *call) (caller, error) {
	if c.identity.Owner != "" {
		return h.callerFor(c, "")
	}
	who, err := h.callerFor(c, httpx.DefaultUser)
	who.owner = memory.Global(c.identity.Namespace)
	return who, err
}

func (h *handler) getProject(c *call) (any, error) {
	who, err := h.projectOwner(c)
	if err != nil {
		return nil, err
	}
	entries, err := h.engine.Store.Profile(c.Context(), who.owner, memory.At{})
	out := map[string]any{
		"id": c.identity.Namespace, "org_id": organizationID, "name": c.identity.Namespace,
		"custom_instructions": nil, "agent_custom_instructions": nil, "custom_categories": []string{},
	}
	for _, e := range entries {
		if e.Key == core.EntryInstructions {
			out["custom_instructions"] = e.Value
		}
	}
	return out, err
}

// changeProject sets a project's instructions. It ignores other settings.
func (h *handler) changeProject(c *call) (any, error) {
	var b struct {
		Instructions string `json:"custom_instructions"`
	}
	var sent map[string]json.RawMessage
	if err := errors.Join(c.decode(&b), c.decode(&sent)); err != nil {
		return nil, err
	}
	who, err := h.projectOwner(c)
	if err != nil {
		return nil, err
	}
	ignored := []string{}
	for _, name := range sortedKeys(sent) {
		if name != "custom_instructions" || h.engine.LLM == nil {
			ignored = append(ignored, name)
		}
	}
	if text := strings.TrimSpace(b.Instructions); text != "" {
		_, err = h.engine.SetProfileEntry(c.Context(), who.owner, core.EntryInstructions, text, who.author)
	} else if sent["custom_instructions"] != nil {
		_, err = h.engine.RetireProfileEntry(c.Context(), who.owner, core.EntryInstructions, who.author)
	}
	if err != nil && !errors.Is(err, memory.NotFound) { // NotFound means that the entry was not set
		return nil, err
	}
	return map[string]any{"message": "custom_instructions apply from now on, if learning uses a model", "ignored": ignored}, nil
}

// entity is a user, agent, app or run with memories.
type entity struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Type  string `json:"type"`
	Total int    `json:"total_memories"`
	Owner string `json:"owner"`

	Created  *time.Time `json:"created_at"` // always null, like Updated and Metadata, because Loci stores none of them
	Updated  *time.Time `json:"updated_at"`
	Metadata *string    `json:"metadata"`
}

// entityTypes are the types of entities, in the order of [ids.fields].
var entityTypes = []string{"user", "agent", "app", "run"}

func (h *handler) listEntities(c *call) (any, error) {
	page, err := pageRequestOf(c.query)
	if err != nil {
		return nil, err
	}
	var all []entity
	if c.identity.Owner == "" {
		all, err = h.usersWithFacts(c)
	} else {
		all, err = h.entitiesOf(c)
	}
	if err != nil {
		return nil, err
	}
	from := min(page.firstIndex(), len(all))
	shown := append([]entity{}, all[from:min(from+page.size, len(all))]...)
	return page.response(c, len(all), shown), nil
}

// usersWithFacts returns the users that have facts, for admins.
func (h *handler) usersWithFacts(c *call) ([]entity, error) {
	if c.identity.Role != httpx.RoleAdmin {
		return nil, memory.Errorf(memory.Forbidden, "the list of users needs an admin key")
	}
	var out []entity
	for u, err := range memory.Pages(func(after string) ([]core.User, string, error) {
		return h.engine.Users(c.Context(), c.identity.Namespace, after, walkPageSize)
	}) {
		if err != nil {
			return nil, err
		}
		counts, err := h.engine.Stats(c.Context(), u.Owner)
		if err != nil {
			return nil, err
		}
		if counts.Facts > 0 {
			n, name := parseOwnerName(u.Owner.Name())
			out = append(out, entity{ID: name, Name: name, Type: entityTypes[n], Total: counts.Facts, Owner: organizationID})
		}
	}
	return out, nil
}

// entitiesOf returns the entities that own or label the memories of the caller's owner.
func (h *handler) entitiesOf(c *call) ([]entity, error) {
	who, err := h.callerFor(c, "")
	if err != nil {
		return nil, err
	}
	totals := map[entity]int{}
	err = h.walkMemories(c, who.owner, memory.Query{}, func(m memory.Memory) {
		memoryIDs := who.idsOf(m)
		for n, name := range memoryIDs.fields() {
			if *name != "" {
				totals[entity{ID: *name, Name: *name, Type: entityTypes[n], Owner: organizationID}]++
			}
		}
	})
	var out []entity
	for e, total := range totals {
		e.Total = total
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b entity) int { return strings.Compare(a.Type+"/"+a.Name, b.Type+"/"+b.Name) })
	return out, err
}

// deleteEntity forgets all memories of an entity.
func (h *handler) deleteEntity(c *call) (any, error) {
	n := slices.Index(entityTypes, c.PathValue("type"))
	if n < 0 {
		return nil, memory.Errorf(memory.Invalid, "invalid entity type; valid: %s", strings.Join(entityTypes, ", "))
	}
	var wanted ids
	*wanted.fields()[n] = c.PathValue("id")
	if err := wanted.validate(); err != nil {
		return nil, err
	}
	return messageResponse("Entity deleted successfully!"), h.forgetAll(c, wanted)
}

// getUserProfile returns the entries of a user's profile, without Loci's own entries.
func (h *handler) getUserProfile(c *call) (any, error) {
	who, err := h.callerFor(c, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	entries, err := h.engine.ProfileEntries(c.Context(), who.owner, memory.At{})
	if err != nil {
		return nil, err
	}
	values, status := map[string]string{}, "insufficient_data"
	var updated *time.Time
	for _, e := range entries {
		values[e.Key], status = e.Value, stateSucceeded
		if updated == nil || e.UpdatedAt.After(*updated) {
			updated = &e.UpdatedAt
		}
	}
	return map[string]any{
		"profile": values, "status": strings.ToLower(status), "entity_type": "user", "entity_id": c.PathValue("id"),
		"updated_at": updated, "generation_count": len(values),
	}, nil
}

// getAddStatus returns the state and the results of an earlier request to add memories.
func (h *handler) getAddStatus(c *call) (any, error) {
	who, id, err := h.resolveID(c, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	results, status := []memoryEvent{}, stateSucceeded
	if m, err := h.engine.Get(c.Context(), who.owner, id); err == nil && m.Fact != nil { // added with infer=false
		results = append(results, memoryEventOf(who, *m.Fact, "ADD"))
	} else {
		state, changes, err := h.engine.Lessons.JobResult(c.Context(), who.owner, id)
		if err != nil {
			return nil, err
		}
		switch state {
		case memory.JobQueued:
			status = statePending
		case memory.JobRunning:
			status = stateRunning
		case memory.JobParked:
			status = stateFailed
		}
		for _, change := range changes {
			if f := change.After.Fact; f != nil && f.Status.Live() {
				kind := "ADD"
				if change.Action != memory.ActionAdd {
					kind = "UPDATE"
				}
				results = append(results, memoryEventOf(who, *f, kind))
			}
		}
	}
	return map[string]any{"id": c.PathValue("id"), "event_type": "ADD", "status": status, "results": results}, nil
}

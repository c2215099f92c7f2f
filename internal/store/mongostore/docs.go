package mongostore

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// docHeader has the first fields of every document written by commits.
type docHeader struct {
	ID       string `bson:"_id"`  // owner and target: see docID
	Seq      int64  `bson:"seq"`  // seq of the commit that wrote the document
	UserName string `bson:"user"` // the owner's name, for the chat platform's programs
}

// embedding is a vector in the document of its memory.
type embedding struct {
	Model string `bson:"model"`
	Data  []byte `bson:"data"` // float16 values, little endian
}

// The types of documents, one for each collection. A document has the fields of a type of package memory,
// named by their bson tags, and further fields for queries and for the chat platform's programs.
type (
	factDoc struct {
		Header   docHeader    `bson:",inline"`
		Owner    memory.Owner `bson:"owner"`
		Fact     memory.Fact  `bson:",inline"`
		LiveHash string       `bson:"live,omitempty"` // the fact's hash; "" if the fact is neither active nor pending
		Vectors  []embedding  `bson:"vectors,omitempty"`
	}
	linkDoc struct {
		Header  docHeader     `bson:",inline"`
		ID      string        `bson:"id"`
		Created time.Time     `bson:"created"` // creation time of the linked fact
		Status  memory.Status `bson:"status"`  // the link's status: see [memory.Memory.Status]
		Link    memory.Link   `bson:",inline"`
		Vectors []embedding   `bson:"vectors,omitempty"`
	}
	turnDoc struct {
		Header    docHeader     `bson:",inline"`
		User      string        `bson:"user_id"` // the owner's name
		Turn      memory.Turn   `bson:",inline"`
		Timestamp bson.DateTime `bson:"timestamp"` // creation time of the turn
		Embedding []float32     `bson:"embedding"` // one of Vectors, for the chat platform's programs
		Vectors   []embedding   `bson:"vectors,omitempty"`
	}
	summaryDoc struct {
		Header    docHeader      `bson:",inline"`
		Owner     memory.Owner   `bson:"owner"`
		User      string         `bson:"user_id"`    // the owner's name
		Session   string         `bson:"session_id"` // id of the conversation
		ID        string         `bson:"id"`
		Status    memory.Status  `bson:"status"`
		Version   int64          `bson:"version"`
		Created   time.Time      `bson:"created"`
		Summaries []summaryEntry `bson:"summaries"`  // always one entry
		CreatedAt bson.DateTime  `bson:"created_at"` // same time as Created, for the chat platform's programs
		Vectors   []embedding    `bson:"vectors,omitempty"`
	}
	summaryEntry struct {
		Time    bson.DateTime  `bson:"t"`
		Summary memory.Summary `bson:",inline"`
	}
	profileDoc struct {
		Header    docHeader           `bson:",inline"`
		User      string              `bson:"user_id"` // the owner's name
		Profile   memory.ProfileEntry `bson:",inline"`
		UpdatedAt bson.DateTime       `bson:"updated_at"`
	}
	relationDoc struct {
		Header   docHeader       `bson:",inline"`
		Relation memory.Relation `bson:",inline"`
	}
	contextDoc struct {
		Header  docHeader      `bson:",inline"`
		Context memory.Context `bson:",inline"`
	}
	conversationDoc struct {
		Header       docHeader           `bson:",inline"`
		User         string              `bson:"user_id"` // the owner's name
		Conversation memory.Conversation `bson:",inline"`
		CreatedAt    bson.DateTime       `bson:"created_at"`
		UpdatedAt    bson.DateTime       `bson:"updated_at"`
	}
	jobDoc struct {
		Header docHeader  `bson:",inline"`
		Job    memory.Job `bson:",inline"`
	}
	changeDoc struct {
		Header  docHeader     `bson:",inline"`
		Ordinal int           `bson:"ordinal"` // position of the change in its run, from 1
		Target  string        `bson:"target"`
		Change  memory.Change `bson:",inline"`
	}
	runDoc struct {
		Header  docHeader      `bson:",inline"`
		Owner   memory.Owner   `bson:"owner"`
		Kind    string         `bson:"kind"`
		Author  memory.Author  `bson:"author"`
		Receipt memory.Receipt `bson:",inline"`
	}
	tombstoneDoc struct {
		Header docHeader    `bson:",inline"`
		Owner  memory.Owner `bson:"owner"`
		TurnID string       `bson:"turn"`
		Hash   string       `bson:"mark"` // keyed hash of the turn's text
	}
)

// docID returns the _id of an owner's document. Profile keys are hashed, since an erasure must
// remove their text.
func docID(owner memory.Owner, target string) string {
	if key, is := strings.CutPrefix(target, "profile:"); is {
		sum := sha256.Sum256([]byte(string(owner) + "\x00" + key))
		target = "profile:" + hex.EncodeToString(sum[:16])
	}
	return string(owner) + " " + target
}

func docIDs(owner memory.Owner, kind string, ids []string) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = docID(owner, kind+":"+id)
	}
	return keys
}

// stateDoc returns the collection and the document of a state.
func stateDoc(h docHeader, i memory.State, vectors []embedding) (string, any) {
	switch {
	case i.Fact != nil:
		d := factDoc{Header: h, Owner: i.Fact.Scope.Owner, Fact: *i.Fact, Vectors: vectors}
		if i.Fact.Status.Live() {
			d.LiveHash = i.Fact.Hash
		}
		return facts, d
	case i.Link != nil:
		m := memory.Memory{Fact: &i.Link.Fact, Link: i.Link}
		return links, linkDoc{Header: h, ID: i.Link.Fact.ID, Created: i.Link.Fact.CreatedAt, Status: m.Status(), Link: *i.Link, Vectors: vectors}
	case i.Profile != nil:
		return profile, profileDoc{Header: h, User: h.UserName, Profile: *i.Profile, UpdatedAt: bsonDate(i.Profile.UpdatedAt)}
	case i.Relation != nil:
		return relations, relationDoc{Header: h, Relation: *i.Relation}
	case i.Context != nil:
		return contexts, contextDoc{Header: h, Context: *i.Context}
	}
	s := i.Summary
	return summaries, summaryDoc{
		Header: h, Owner: s.Scope.Owner, User: h.UserName, Session: s.Scope.Conversation, ID: s.ID, Status: s.Status, Version: s.Version, Created: s.CreatedAt,
		Summaries: []summaryEntry{{Time: bsonDate(s.CreatedAt), Summary: *s}}, CreatedAt: bsonDate(s.CreatedAt), Vectors: vectors,
	}
}

// The methods addTo add the content of a document to an owner's data.

func (d *factDoc) addTo(data *ownerdata.Data) {
	addState(data, memory.State{Fact: &d.Fact}, d.Vectors)
}

func (d *linkDoc) addTo(data *ownerdata.Data) {
	addState(data, memory.State{Link: &d.Link}, d.Vectors)
}

func (d *turnDoc) addTo(data *ownerdata.Data) {
	data.Turns[d.Turn.ID] = d.Turn
	addVectors(data, d.Turn.ID, d.Vectors)
}

func (d *summaryDoc) addTo(data *ownerdata.Data) {
	for i := range d.Summaries {
		addState(data, memory.State{Summary: &d.Summaries[i].Summary}, d.Vectors)
	}
}

func (d *profileDoc) addTo(data *ownerdata.Data) {
	if d.Profile.Owner != "" { // an erased entry has no owner
		addState(data, memory.State{Profile: &d.Profile}, nil)
	}
}

func (d *relationDoc) addTo(data *ownerdata.Data) {
	addState(data, memory.State{Relation: &d.Relation}, nil)
}

func (d *contextDoc) addTo(data *ownerdata.Data) {
	addState(data, memory.State{Context: &d.Context}, nil)
}

func (d *conversationDoc) addTo(data *ownerdata.Data) {
	data.Conversations[d.Conversation.ID] = d.Conversation
}

func (d *jobDoc) addTo(data *ownerdata.Data) { data.Jobs[d.Job.ID] = d.Job }

func (d *changeDoc) addTo(data *ownerdata.Data) { data.Journal = append(data.Journal, d.Change) }

func (d *runDoc) addTo(data *ownerdata.Data) {
	data.Runs[d.Receipt.Run] = ownerdata.RunRecord{Receipt: d.Receipt, Kind: d.Kind, Author: d.Author}
}

func (d *tombstoneDoc) addTo(data *ownerdata.Data) { data.Tombstones[d.TurnID] = d.Hash }

func addState(data *ownerdata.Data, i memory.State, vectors []embedding) {
	data.States[i.Target()] = i
	addVectors(data, ownerdata.MemoryID(i), vectors)
}

func addVectors(data *ownerdata.Data, id string, vectors []embedding) {
	for _, e := range vectors {
		data.Vectors[ownerdata.VectorKey{Memory: id, Model: e.Model}] = vector.ValuesFromBytes(e.Data)
	}
}

func turnDocOf(h docHeader, t memory.Turn, data *ownerdata.Data, vectors []embedding) turnDoc {
	d := turnDoc{Header: h, User: h.UserName, Turn: t, Timestamp: bsonDate(t.CreatedAt), Vectors: vectors}
	if len(vectors) > 0 {
		d.Embedding = data.Vectors[ownerdata.VectorKey{Memory: t.ID, Model: vectors[0].Model}]
	}
	return d
}

// vectorsOf returns the vectors of an owner's data by memory, ordered by model.
func vectorsOf(data *ownerdata.Data) map[string][]embedding {
	byMemory := map[string][]embedding{}
	for key, values := range data.Vectors {
		byMemory[key.Memory] = append(byMemory[key.Memory], embedding{Model: key.Model, Data: vector.EncodeBytes(values)})
	}
	for _, list := range byMemory {
		slices.SortFunc(list, func(a, b embedding) int { return cmp.Compare(a.Model, b.Model) })
	}
	return byMemory
}

// hashedTarget returns the target of a journal entry, with a hash instead of a profile key.
func hashedTarget(target string) string {
	if strings.HasPrefix(target, "profile:") {
		return docID("", target)
	}
	return target
}

func marshal(doc any) (bson.Raw, error) {
	var out bytes.Buffer
	enc := bson.NewEncoder(bson.NewDocumentWriter(&out))
	enc.SetRegistry(registry)
	err := enc.Encode(doc)
	return out.Bytes(), err
}

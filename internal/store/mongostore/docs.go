package mongostore

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// header begins every document that commits write.
type header struct {
	Key string `bson:"_id"`  // owner and target: see keyOf
	Seq int64  `bson:"seq"`  // the commit that wrote it
	Of  string `bson:"user"` // the owner's name, as the platform's programs know a user
}

// The twins of package memory's types: the same fields, under the names they have here. Go
// converts one to the other, so that a field which is new there does not build here.
type (
	factFields struct {
		ID           string            `bson:"id"`
		Scope        memory.Scope      `bson:"scope"`
		Content      string            `bson:"content"`
		Category     string            `bson:"category,omitempty"`
		Tags         []string          `bson:"tags,omitempty"`
		Subject      string            `bson:"subject,omitempty"`
		Attribute    string            `bson:"attribute,omitempty"`
		Confidence   float64           `bson:"confidence"`
		Status       memory.Status     `bson:"status"`
		Source       memory.FactSource `bson:"source"`
		Trust        memory.Trust      `bson:"trust"`
		Core         memory.Core       `bson:"pinned,omitempty"` // true, or a text: see newRegistry
		Provenance   memory.Provenance `bson:"provenance"`
		ObservedAt   time.Time         `bson:"observed"`
		ObservedSeq  int64             `bson:"observed_seq,omitempty"`
		ValidFrom    time.Time         `bson:"valid_from"`
		ValidTo      time.Time         `bson:"valid_to"`
		CreatedAt    time.Time         `bson:"created"`
		UpdatedAt    time.Time         `bson:"updated"`
		ExpiresAt    time.Time         `bson:"expires"`
		SupersededBy string            `bson:"superseded_by,omitempty"`
		Model        string            `bson:"model,omitempty"`
		Metadata     json.RawMessage   `bson:"metadata,omitempty"`
		Hash         string            `bson:"hash"`
		Version      int64             `bson:"version"`
	}
	linkFields struct {
		Owner       memory.Owner  `bson:"owner"`
		Fact        memory.Fact   `bson:"fact"`
		HomeVersion int64         `bson:"home_version"`
		Status      memory.Status `bson:"link_status"`
		CreatedAt   time.Time     `bson:"linked"`
		Version     int64         `bson:"version"`
	}
	profileFields struct {
		Owner     memory.Owner  `bson:"owner"`
		Key       string        `bson:"key"`
		Value     string        `bson:"value"`
		Tokens    int           `bson:"tokenCount"`
		Status    memory.Status `bson:"status"`
		UpdatedAt time.Time     `bson:"updated"`
		Version   int64         `bson:"version"`
	}
	relationFields struct {
		Owner     memory.Owner        `bson:"owner"`
		From      string              `bson:"from"`
		To        string              `bson:"to"`
		Kind      memory.RelationKind `bson:"kind"`
		Status    memory.Status       `bson:"status"`
		CreatedAt time.Time           `bson:"created"`
		Version   int64               `bson:"version"`
	}
	summaryFields struct {
		ID           string        `bson:"id"`
		Scope        memory.Scope  `bson:"scope"`
		Text         string        `bson:"text"`
		MessageCount int           `bson:"message_count"`
		Model        string        `bson:"model"`
		Status       memory.Status `bson:"status"`
		CreatedAt    time.Time     `bson:"created"`
		Version      int64         `bson:"version"`
	}
	contextFields struct {
		ID        string        `bson:"id"`
		Owner     memory.Owner  `bson:"owner"`
		Title     string        `bson:"title,omitempty"`
		Content   string        `bson:"content"`
		Status    memory.Status `bson:"status"`
		CreatedAt time.Time     `bson:"created"`
		UpdatedAt time.Time     `bson:"updated"`
		Version   int64         `bson:"version"`
	}
	turnFields struct {
		ID           string        `bson:"id"`
		Owner        memory.Owner  `bson:"owner"`
		Conversation string        `bson:"session_id"`
		Project      string        `bson:"project,omitempty"`
		Agent        string        `bson:"agent,omitempty"`
		Index        int           `bson:"message_index"`
		Parent       string        `bson:"parent,omitempty"`
		Chain        string        `bson:"chain"`
		Role         memory.Role   `bson:"role"`
		Name         string        `bson:"name,omitempty"`
		Content      string        `bson:"content"`
		Ref          string        `bson:"ref,omitempty"`
		Status       memory.Status `bson:"status"`
		CreatedAt    time.Time     `bson:"created"`
		RecordedAt   time.Time     `bson:"recorded"`
		LearnedAt    time.Time     `bson:"learned"`
		NoLearn      bool          `bson:"no_learn,omitempty"`
		History      bool          `bson:"history,omitempty"`
		Given        string        `bson:"given,omitempty"`
		Version      int64         `bson:"version"`
		Foreign      memory.Ranges `bson:"foreign,omitempty"`
	}
	conversationFields struct {
		ID           string        `bson:"session_id"`
		Owner        memory.Owner  `bson:"owner"`
		Project      string        `bson:"project,omitempty"`
		Agent        string        `bson:"agent,omitempty"`
		Title        string        `bson:"title,omitempty"`
		Contexts     []string      `bson:"contexts,omitempty"`
		Rules        string        `bson:"rules,omitempty"`
		Status       memory.Status `bson:"status"`
		MessageCount int           `bson:"-"` // counted when it is asked for
		CreatedAt    time.Time     `bson:"created"`
		UpdatedAt    time.Time     `bson:"updated"`
		Version      int64         `bson:"version"`
	}
	jobFields struct {
		ID           string          `bson:"id"`
		Owner        memory.Owner    `bson:"owner"`
		Kind         memory.JobKind  `bson:"kind"`
		Conversation string          `bson:"session_id,omitempty"`
		Turns        []string        `bson:"turns,omitempty"`
		State        memory.JobState `bson:"state"`
		Attempts     int             `bson:"attempts"`
		RunAt        time.Time       `bson:"run_at"`
		CreatedAt    time.Time       `bson:"created"`
		Error        string          `bson:"error,omitempty"`
		Lease        memory.Lease    `bson:"lease"`
	}
	changeFields struct {
		Action  memory.Action `bson:"action"`
		After   memory.Image  `bson:"after"`
		Base    int64         `bson:"base,omitempty"`
		OldID   string        `bson:"old_id,omitempty"`
		NewID   string        `bson:"new_id,omitempty"`
		Reason  string        `bson:"reason,omitempty"`
		Author  memory.Author `bson:"author"`
		ID      string        `bson:"id"`
		Owner   memory.Owner  `bson:"owner"`
		Run     string        `bson:"run"`
		Version int64         `bson:"version"`
		At      time.Time     `bson:"at"`
		Before  memory.Image  `bson:"before"`
	}
	receiptFields struct {
		Run     string    `bson:"run"`
		Version int64     `bson:"version"`
		At      time.Time `bson:"at"`
		Changes int       `bson:"changes"`
		Again   bool      `bson:"-"`
		Traces  int       `bson:"-"`
		Held    []string  `bson:"-"`
	}
)

// embedding is a vector as it is kept beside what it is of.
type embedding struct {
	Model string `bson:"model"`
	Data  []byte `bson:"data"` // float16, little endian
}

// The documents of each collection: a twin, and what the collection is searched and read by.
type (
	factDoc struct {
		Header  header       `bson:",inline"`
		Owner   memory.Owner `bson:"owner"`
		Fact    factFields   `bson:",inline"`
		Live    string       `bson:"live,omitempty"` // the hash, while it is live
		Vectors []embedding  `bson:"vectors,omitempty"`
	}
	linkDoc struct {
		Header  header        `bson:",inline"`
		ID      string        `bson:"id"`
		Created time.Time     `bson:"created"` // of the fact, as its status
		Status  memory.Status `bson:"status"`  // as [memory.Memory.Status] says
		Link    linkFields    `bson:",inline"`
		Vectors []embedding   `bson:"vectors,omitempty"`
	}
	turnDoc struct {
		Header    header        `bson:",inline"`
		User      string        `bson:"user_id"`
		Turn      turnFields    `bson:",inline"`
		Timestamp bson.DateTime `bson:"timestamp"`
		Embedding []float32     `bson:"embedding"`
		Vectors   []embedding   `bson:"vectors,omitempty"`
	}
	summaryDoc struct {
		Header    header         `bson:",inline"`
		Owner     memory.Owner   `bson:"owner"`
		User      string         `bson:"user_id"`
		Session   string         `bson:"session_id"`
		ID        string         `bson:"id"`
		Status    memory.Status  `bson:"status"`
		Version   int64          `bson:"version"`
		Created   time.Time      `bson:"created"`
		Summaries []summaryEntry `bson:"summaries"` // one
		CreatedAt bson.DateTime  `bson:"created_at"`
		Vectors   []embedding    `bson:"vectors,omitempty"`
	}
	summaryEntry struct {
		T       bson.DateTime `bson:"t"`
		Summary summaryFields `bson:",inline"`
	}
	profileDoc struct {
		Header    header        `bson:",inline"`
		User      string        `bson:"user_id"`
		Profile   profileFields `bson:",inline"`
		UpdatedAt bson.DateTime `bson:"updated_at"`
	}
	relationDoc struct {
		Header   header         `bson:",inline"`
		Relation relationFields `bson:",inline"`
	}
	contextDoc struct {
		Header  header        `bson:",inline"`
		Context contextFields `bson:",inline"`
	}
	conversationDoc struct {
		Header       header             `bson:",inline"`
		User         string             `bson:"user_id"`
		Conversation conversationFields `bson:",inline"`
		CreatedAt    bson.DateTime      `bson:"created_at"`
		UpdatedAt    bson.DateTime      `bson:"updated_at"`
	}
	jobDoc struct {
		Header header    `bson:",inline"`
		Job    jobFields `bson:",inline"`
	}
	changeDoc struct {
		Header  header       `bson:",inline"`
		Ordinal int          `bson:"ordinal"`
		Target  string       `bson:"target"`
		Change  changeFields `bson:",inline"`
	}
	runDoc struct {
		Header  header        `bson:",inline"`
		Owner   memory.Owner  `bson:"owner"`
		Kind    string        `bson:"kind"`
		Author  memory.Author `bson:"author"`
		Receipt receiptFields `bson:",inline"`
	}
	tombDoc struct {
		Header header       `bson:",inline"`
		Owner  memory.Owner `bson:"owner"`
		Turn   string       `bson:"turn"`
		Mark   string       `bson:"mark"`
	}
)

// keyOf is the _id of a document of an owner. Keys of the profile are words, which an erasure
// must not leave behind: they are hashed.
func keyOf(owner memory.Owner, target string) string {
	if key, is := strings.CutPrefix(target, "profile:"); is {
		sum := sha256.Sum256([]byte(string(owner) + "\x00" + key))
		target = "profile:" + hex.EncodeToString(sum[:16])
	}
	return string(owner) + " " + target
}

func keysOf(owner memory.Owner, kind string, ids []string) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(owner, kind+":"+id)
	}
	return keys
}

// imageDoc returns the collection and the document of what an image shows.
func imageDoc(h header, i memory.Image, vectors []embedding) (string, any) {
	switch {
	case i.Fact != nil:
		d := factDoc{Header: h, Owner: i.Fact.Scope.Owner, Fact: factFields(*i.Fact), Vectors: vectors}
		if i.Fact.Status.Live() {
			d.Live = i.Fact.Hash
		}
		return facts, d
	case i.Link != nil:
		m := memory.Memory{Fact: &i.Link.Fact, Link: i.Link}
		return links, linkDoc{Header: h, ID: i.Link.Fact.ID, Created: i.Link.Fact.CreatedAt, Status: m.Status(), Link: linkFields(*i.Link), Vectors: vectors}
	case i.Profile != nil:
		return profile, profileDoc{Header: h, User: h.Of, Profile: profileFields(*i.Profile), UpdatedAt: date(i.Profile.UpdatedAt)}
	case i.Relation != nil:
		return relations, relationDoc{Header: h, Relation: relationFields(*i.Relation)}
	case i.Context != nil:
		return contexts, contextDoc{Header: h, Context: contextFields(*i.Context)}
	}
	s := i.Summary
	return summaries, summaryDoc{
		Header: h, Owner: s.Scope.Owner, User: h.Of, Session: s.Scope.Conversation, ID: s.ID, Status: s.Status, Version: s.Version, Created: s.CreatedAt,
		Summaries: []summaryEntry{{T: date(s.CreatedAt), Summary: summaryFields(*s)}}, CreatedAt: date(s.CreatedAt), Vectors: vectors,
	}
}

// Each take puts what a document holds on a shelf.

func (d *factDoc) take(s *shelf.Shelf) {
	f := memory.Fact(d.Fact)
	s.Things["fact:"+f.ID] = memory.Image{Fact: &f}
	takeVectors(s, f.ID, d.Vectors)
}

func (d *linkDoc) take(s *shelf.Shelf) {
	l := memory.Link(d.Link)
	s.Things["link:"+l.Fact.ID] = memory.Image{Link: &l}
	takeVectors(s, l.Fact.ID, d.Vectors)
}

func (d *turnDoc) take(s *shelf.Shelf) {
	s.Turns[d.Turn.ID] = memory.Turn(d.Turn)
	takeVectors(s, d.Turn.ID, d.Vectors)
}

func (d *summaryDoc) take(s *shelf.Shelf) {
	for _, e := range d.Summaries {
		one := memory.Summary(e.Summary)
		s.Things["summary:"+one.ID] = memory.Image{Summary: &one}
		takeVectors(s, one.ID, d.Vectors)
	}
}

func (d *profileDoc) take(s *shelf.Shelf) {
	if d.Profile.Owner == "" { // it is what an erasure left
		return
	}
	p := memory.ProfileEntry(d.Profile)
	s.Things["profile:"+p.Key] = memory.Image{Profile: &p}
}

func (d *relationDoc) take(s *shelf.Shelf) {
	r := memory.Relation(d.Relation)
	i := memory.Image{Relation: &r}
	s.Things[i.Target()] = i
}

func (d *contextDoc) take(s *shelf.Shelf) {
	c := memory.Context(d.Context)
	s.Things["context:"+c.ID] = memory.Image{Context: &c}
}

func (d *conversationDoc) take(s *shelf.Shelf) {
	s.Conversations[d.Conversation.ID] = memory.Conversation(d.Conversation)
}

func (d *jobDoc) take(s *shelf.Shelf) { s.Jobs[d.Job.ID] = memory.Job(d.Job) }

func (d *changeDoc) take(s *shelf.Shelf) { s.Journal = append(s.Journal, memory.Change(d.Change)) }

func (d *runDoc) take(s *shelf.Shelf) {
	s.Runs[d.Receipt.Run] = shelf.Run{Receipt: memory.Receipt(d.Receipt), Kind: d.Kind, Author: d.Author}
}

func (d *tombDoc) take(s *shelf.Shelf) { s.Tombs[d.Turn] = d.Mark }

func takeVectors(s *shelf.Shelf, id string, all []embedding) {
	for _, e := range all {
		s.Vectors[shelf.VectorKey{Memory: id, Model: e.Model}] = vector.FromBytes(e.Data)
	}
}

func turnDocOf(h header, t memory.Turn, s *shelf.Shelf, vectors []embedding) turnDoc {
	d := turnDoc{Header: h, User: h.Of, Turn: turnFields(t), Timestamp: date(t.CreatedAt), Vectors: vectors}
	if len(vectors) > 0 {
		d.Embedding = s.Vectors[shelf.VectorKey{Memory: t.ID, Model: vectors[0].Model}]
	}
	return d
}

// vectorsOf returns the vectors on a shelf by what they are of, each list in order of the model.
func vectorsOf(s *shelf.Shelf) map[string][]embedding {
	of := map[string][]embedding{}
	for key, values := range s.Vectors {
		of[key.Memory] = append(of[key.Memory], embedding{Model: key.Model, Data: vector.Bytes(values)})
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b embedding) int { return cmp.Compare(a.Model, b.Model) })
	}
	return of
}

// targetKey is what entries of the journal are found by: the target, without the words of a
// profile's key.
func targetKey(target string) string {
	if strings.HasPrefix(target, "profile:") {
		return keyOf("", target)
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

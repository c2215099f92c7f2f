package models

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

const (
	// smallest is the entry of learn.prefer that stands for a kind of model.
	smallest = "smallest"

	// given stands for the model that the program brings.
	given = "program"

	// listTime is how long the start waits for a server's list of models.
	listTime = 2 * time.Second
)

// Learner is who learns.
type Learner struct {
	model string // learnAuto while the server does not answer, learnChat for the model of each chat; "": the rules
	later bool   // the server did not answer: [laterLearner] asks it again
	Why   string // for people
	Wrong string // what of the settings cannot be had, for people; "" where nothing is wrong

	wanted   []string         // models that may learn, the best first
	provider *config.Provider // of learn.providers that has the model; nil: learn.url or upstream.url
}

// GivenLearner is the model that the program that embeds Loci brings.
func GivenLearner() Learner { return Learner{model: given, Why: "the program brought a model"} }

// Given reports whether the program that embeds Loci brings the model.
func (l Learner) Given() bool { return l.model == given && l.provider == nil && len(l.wanted) == 0 }

// Apply returns the settings with the model that learns and its server.
func (l Learner) Apply(c config.Config) config.Config {
	c = l.provider.At(c)
	c.Learn.Model = l.model
	return c
}

// Open returns a client of the model that learns, by the settings that [learnerChoice.apply]
// returned.
func (l Learner) Open(c config.Config) (memory.LLM, func() error, error) {
	client, err := llm.New(LearnerOptions(c))
	if err != nil {
		return nil, nil, err
	}
	closeClient := func() error { client.Close(); return nil }
	if l.later {
		return &laterLearner{Client: client, wanted: l.wanted}, closeClient, nil
	}
	return client, closeClient, nil
}

// Named returns the model's name, "" where that is not known, or none.
func (l Learner) Named() string {
	if l.model == config.LearnAuto || l.model == config.LearnChat || l.model == smallest {
		return ""
	}
	return l.model
}

// WhoLearns says it in words.
func WhoLearns(c config.Config, learner Learner) string {
	switch {
	case learner.Given():
		return "the program's model"
	case learner.Named() != "":
		return learner.Named()
	case learner.model == config.LearnAuto:
		return "the upstream's smallest model"
	case learner.later:
		return strings.Join(learnersWanted(c), ", ")
	case learner.model == config.LearnChat:
		return "the chat's own model"
	case c.Learn.Rules == "off":
		return "nobody"
	}
	return "the built-in rules"
}

// ChooseLearner returns who learns: learn.model if the server lists it, else the first of
// learn.prefer that it lists. auto is the smallest that the server lists, else the chat's own.
// Without learn.prefer a model that is named is not looked for. Where the server does not
// answer, the model is the first one wanted until [laterLearner] knows.
func ChooseLearner(ctx context.Context, c config.Config) (Learner, error) {
	choice, err := choose(ctx, c)
	choice.wanted = learnersWanted(c)
	return choice, err
}

func choose(ctx context.Context, c config.Config) (Learner, error) {
	auto := c.Learn.Model == config.LearnAuto && len(c.Learn.Prefer) == 0
	wanted := learnersWanted(c)
	if choice, ok, err := chooseProvider(ctx, c); ok || err != nil {
		return choice, err
	}
	switch {
	case c.Learn.URL == "" && c.Upstream.URL == "":
		return Learner{Why: "no server of models is set"}, nil
	case c.Learn.Model == config.LearnNone || c.Learn.Model == "" && len(c.Learn.Prefer) == 0:
		return Learner{Why: "learn.model says so"}, nil
	case c.Learn.URL == "" && c.Upstream.Key == "" && c.Learn.Key == "" && !c.Learn.ClientKeys && (auto || c.Learn.Model == config.LearnChat) && !nearby(c.Upstream.URL):
		return Learner{Why: "upstream.key is not set, and learn.client_keys, which would learn with each client's own key, is false"}, nil
	case c.Learn.Model == config.LearnChat:
		return Learner{model: config.LearnChat, Why: "learn.model says so"}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed, err := ListModels(ctx, c)
	switch {
	case !auto && len(c.Learn.Prefer) == 0:
		return named(c.Learn.Model, listed, err), nil
	case err != nil && auto && refused(err) && c.UsesClientKeys():
		return Learner{model: config.LearnChat, Why: "the server lists no models without a key; each chat's own learns, with its client's key"}, nil
	case err != nil && auto && refused(err):
		return Learner{Why: err.Error() + "; name a model as learn.model"}, nil
	case err != nil:
		return Learner{model: wanted[0], later: true, Why: "the server did not answer at start; it is asked again once there is something to learn"}, nil
	case !auto:
		if first := firstListed(wanted, listed); first != "" {
			return Learner{model: first, Why: "the first that the server lists, of: " + strings.Join(wanted, ", ")}, nil
		}
		none := "the server lists none of: " + strings.Join(wanted, ", ")
		return Learner{Why: none, Wrong: none}, nil
	}
	model, why := chooseAuto(listed)
	if model == "" && c.Learn.URL == "" {
		model, why = config.LearnChat, "the server lists no small model: each chat's own learns"
	}
	return Learner{model: model, Why: why}, nil
}

// named is the choice of a model that learn.model names. It is asked even where its server does
// not list it: some servers list less than they have.
func named(model string, listed []string, err error) Learner {
	choice := Learner{model: model, Why: "it is named"}
	if err == nil && listedAs(model, listed) == "" {
		choice.Wrong = "the server does not list " + model + ", which learn.model names"
		choice.Why += "; the server does not list it"
	}
	return choice
}

// chooseProvider returns the first model wanted that one of learn.providers has, if any.
func chooseProvider(ctx context.Context, c config.Config) (choice Learner, ok bool, err error) {
	all, err := c.Learn.ProviderList()
	if err != nil || len(all) == 0 || c.Learn.Model == config.LearnChat || c.Learn.Model == config.LearnNone {
		return Learner{}, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	lists, errs := make([][]string, len(all)), make([]error, len(all))
	var listing sync.WaitGroup
	for i := range all {
		listing.Go(func() { lists[i], errs[i] = ListModels(ctx, all[i].At(c)) })
	}
	listing.Wait()
	var listed []string // as PROVIDER/MODEL
	for i, p := range all {
		for _, model := range lists[i] {
			listed = append(listed, p.Name+"/"+model)
		}
	}
	wanted := learnersWanted(c)
	if wanted[0] == config.LearnAuto {
		wanted = []string{smallest}
	}
	for _, name := range wanted {
		if full := listedAs(name, listed); full != "" {
			i := slices.IndexFunc(all, func(p config.Provider) bool { return strings.HasPrefix(full, p.Name+"/") })
			return Learner{model: strings.TrimPrefix(full, all[i].Name+"/"), Why: all[i].Name + " lists it", provider: &all[i]}, true, nil
		}
		for i, p := range all {
			model, its := strings.CutPrefix(name, p.Name+"/")
			switch {
			case its && errs[i] != nil:
				return Learner{model: model, later: true, Why: p.Name + " did not answer at start; it is asked again once there is something to learn", provider: &all[i]}, true, nil
			case its && len(c.Learn.Prefer) == 0:
				choice = named(model, lists[i], nil)
				choice.provider = &all[i]
				return choice, true, nil
			}
		}
	}
	return Learner{}, false, nil
}

// chooseAuto returns the smallest of the models that a server lists, or the only one.
func chooseAuto(listed []string) (model, why string) {
	if model = smallestOf(listed); model != "" {
		return model, "the smallest that the server lists"
	}
	if chats := slices.DeleteFunc(slices.Clone(listed), writesNothing); len(chats) == 1 {
		return chats[0], "the only one that the server lists"
	}
	return "", "the server lists no small model; name one as learn.model"
}

// refused reports whether a server answered, and will answer the same again.
func refused(err error) bool {
	var answered interface{ Status() int }
	return errors.As(err, &answered) && answered.Status() >= 400 && answered.Status() < 500 && answered.Status() != http.StatusTooManyRequests
}

// nearby reports whether a server is on this machine or in its network: such ones take no
// key, and cost nobody a quota.
func nearby(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".localhost")
}

// learnersWanted are the models that may learn, the best first.
func learnersWanted(c config.Config) []string {
	if (c.Learn.Model == config.LearnAuto || c.Learn.Model == "") && len(c.Learn.Prefer) > 0 {
		return c.Learn.Prefer
	}
	return append([]string{c.Learn.Model}, c.Learn.Prefer...)
}

// firstListed returns the first model wanted that a server lists, as that calls it; ""
// for none.
func firstListed(wanted, listed []string) string {
	for _, name := range wanted {
		if model := listedAs(name, listed); model != "" {
			return model
		}
	}
	return ""
}

// laterLearner is the model that learns of a server that did not answer at the start:
// which one that is, it asks when there is something to learn.
type laterLearner struct {
	*llm.Client
	wanted []string

	mu     sync.Mutex
	chosen string
}

// Complete implements [memory.LLM].
func (l *laterLearner) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	model, err := l.model(ctx, p.Model)
	if err != nil {
		return memory.Reply{}, err
	}
	p.Model = model
	reply, err := l.Client.Complete(ctx, p)
	reply.Model = cmp.Or(reply.Model, model)
	return reply, err
}

// Chosen returns the model that learns, "" while that is not known.
func (l *laterLearner) Chosen() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chosen
}

// model returns the model that learns; chats is the one that the chat asked.
func (l *laterLearner) model(ctx context.Context, chats string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.chosen != "" {
		return l.chosen, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed, err := l.Models(ctx)
	if err != nil {
		return "", memory.Errorf(memory.Unavailable, "which model learns is not known yet: %w", err)
	}
	if l.chosen = firstListed(l.wanted, listed); l.chosen == "" && slices.Contains(l.wanted, config.LearnAuto) {
		if l.chosen, _ = chooseAuto(listed); l.chosen == "" {
			l.chosen = chats // the chat's own
		}
	}
	if l.chosen == "" {
		return "", memory.Errorf(memory.Unavailable, "the server lists none of the models that may learn: %s", strings.Join(l.wanted, ", "))
	}
	return l.chosen, nil
}

// listedAs returns what a server calls a model, "" if it does not list it. A
// provider's name in front and ":latest" behind do not count.
func listedAs(name string, listed []string) string {
	if name == smallest {
		return smallestOf(listed)
	}
	if slices.Contains(listed, name) {
		return name
	}
	if i := slices.IndexFunc(listed, func(id string) bool { return plainModel(id) == plainModel(name) }); i >= 0 {
		return listed[i]
	}
	return ""
}

func plainModel(id string) string {
	return strings.TrimSuffix(strings.ToLower(id[strings.LastIndexByte(id, '/')+1:]), ":latest")
}

// parameters are how many billions of them a model's name says that it has:
// "qwen2.5:0.5b", "Llama-3.2-1B-Instruct".
var parameters = lazy.Compile(`(?i)(?:^|[^0-9.a-z])(\d+(?:\.\d+)?)b(?:[^a-z0-9]|$)`)

// families are the words by which makers name their small models, with what stands for
// billions of parameters.
var families = map[string]float64{"nano": 2, "lite": 4, "mini": 8, "haiku": 9, "flash": 10, "small": 24}

// otherUse are words in the names of models that are not for chats.
var otherUse = []string{"embed", "rerank", "tts", "audio", "realtime", "transcribe", "whisper", "image", "vision", "search", "moderation", "guard", "voxtral", "ocr", "minilm", "live", "codex", "deep-research"}

func writesNothing(id string) bool {
	low := strings.ToLower(id)
	return slices.ContainsFunc(otherUse, func(w string) bool { return strings.Contains(low, w) })
}

// sizeOf returns how large a model's name says that it is, in billions of parameters.
func sizeOf(id string) float64 {
	if m := parameters.FindStringSubmatch(id); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			return n
		}
	}
	least := math.Inf(1)
	for _, w := range strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if n, ok := families[w]; ok {
			least = min(least, n)
		}
	}
	return least
}

// smallestOf returns the smallest model by the parameters or the family in its name; of
// equals the one with the shortest name, and of those the last in order: names with a date or
// "preview" are longer, and later versions come behind. "" if no name tells a size.
func smallestOf(listed []string) string {
	best, least := "", math.Inf(1)
	for _, id := range listed {
		size := sizeOf(id)
		if writesNothing(id) || math.IsInf(size, 1) {
			continue
		}
		if size < least || size == least && (len(id) < len(best) || len(id) == len(best) && id > best) {
			best, least = id, size
		}
	}
	return best
}

// LearnerOptions returns how the learning model is reached.
func LearnerOptions(c config.Config) llm.Options {
	o := llm.Options{BaseURL: c.Learn.URL, Key: c.Learn.Key, Model: Learner{model: c.Learn.Model}.Named(), Timeout: c.Learn.Timeout}
	if o.BaseURL == "" {
		o.BaseURL = c.Upstream.URL
		if o.Key == "" {
			o.Key = c.Upstream.Key
		}
	}
	return o
}

// QueryModel returns the upstream's model that answers queries, "" for none.
func QueryModel(c config.Config) string {
	if c.Query.Model == "" && c.Learn.URL == "" {
		return Learner{model: c.Learn.Model}.Named()
	}
	return c.Query.Model
}

// ChatModel returns the upstream's model that answers chats which name none, "" for none.
func ChatModel(c config.Config) string { return cmp.Or(c.Chats.Model, QueryModel(c)) }

// ListModels asks the server that learns for its models, once.
func ListModels(ctx context.Context, c config.Config) ([]string, error) {
	o := LearnerOptions(c)
	o.Patience = time.Millisecond // one attempt
	server, err := llm.New(o)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	names, err := server.Models(ctx)
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "%s lists no models: %w", config.UpstreamConfig{URL: o.BaseURL}.Shown(), err)
	}
	return names, nil
}

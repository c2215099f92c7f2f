package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

const (
	// smallest is the entry of learn.prefer that means the smallest model in the server's list.
	smallest = "smallest"

	// programModel is the value of learn.model if a program that contains Loci as a library supplies the model.
	programModel = "program"

	// listTimeout is the time limit for reading a server's list of models.
	listTimeout = 2 * time.Second
)

// Learner chooses the learning model and calls its server. It chooses a model at the start. If no model is
// available or the server refuses the model, it chooses again before the next learning job.
type Learner struct {
	programSupplied bool          // whether a program that contains Loci as a library supplies the model
	settings        config.Config // settings as configured, before the choice
	log             *slog.Logger

	choiceMu    sync.Mutex   // serializes choices of a model; locked before mu
	choiceCount atomic.Int64 // number of choices after the start

	mu sync.Mutex // guards the fields below
	choice
	client            *llm.Client                  // client of the chosen server; nil before the first request
	lastReplyDuration time.Duration                // duration of the latest reply
	trials            map[string]learn.TrialResult // trials (tests of models) by this process, by trialKey
	lastTrial         learn.TrialResult            // trial of the model of the latest learning job
	chatTracker                                    // the active chats, which learning waits for
}

// choice is the chosen learning model.
type choice struct {
	model       string           // LearnAuto before the choice; LearnChat means the model of each chat, "" only the built-in rules
	unavailable bool             // no wanted model is available; the field model then has the first wanted model
	provider    *config.Provider // entry of learn.providers with the model; nil uses learn.url or upstream.url
	LearnerStatus
}

// LearnerStatus tells people which model learns.
type LearnerStatus struct {
	Description, Why string // which model learns, and the reason for the choice
	Problem          string // problem with a setting; "" if there is none
	Model            string // name of the model; empty if only the rules or each chat's own model learn, or before the choice
	DistrustReason   string // reason why facts from the last learning job's model await approval; empty if these facts need no approval
}

// ProgramLearner returns a Learner for a model supplied by a program that contains Loci as a library.
func ProgramLearner() *Learner {
	return &Learner{programSupplied: true, choice: choice{model: programModel, LearnerStatus: LearnerStatus{Description: "the program's model", Why: "the program supplied a model"}}}
}

// Status returns a description of the model that currently learns.
func (l *Learner) Status() LearnerStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	info := l.choice.LearnerStatus
	if l.lastTrial.Explanation != "" && !l.lastTrial.Passed {
		info.DistrustReason = l.lastTrial.String()
	}
	if l.lastReplyDuration > 0 {
		info.Why += fmt.Sprintf("; its last reply took %.1f seconds", l.lastReplyDuration.Seconds())
	}
	return info
}

// ChosenModel returns the name of the model that learns, "" if there is none or if each chat's model learns.
func (l *Learner) ChosenModel() string { return l.Status().Model }

// WantedModel returns the name of the model that learns or, before the choice, of the first wanted model.
func (l *Learner) WantedModel() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return modelName(l.model)
}

// ApplyTo returns the settings with the chosen model and its server.
func (l *Learner) ApplyTo(c config.Config) config.Config {
	c = l.provider.ApplyTo(c)
	c.Learn.Model = l.model
	return c
}

// Close closes idle connections.
func (l *Learner) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Close()
	}
	return nil
}

// Complete implements [memory.LLM].
func (l *Learner) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	client, model, err := l.chosenClient(ctx)
	if err != nil {
		return memory.Reply{}, err
	}
	if model != config.LearnChat {
		p.Model = model
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := l.startJob(ctx, cancel)
	reply, err := memory.Reply{}, context.Cause(ctx)
	if err == nil {
		reply, err = client.Complete(ctx, p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unavailable = l.unavailable || isRefusal(err) // the server may have removed the model
	if err == nil {
		l.lastReplyDuration = time.Since(began)
	}
	err = l.endJob(ctx, err)
	reply.Model = cmp.Or(reply.Model, p.Model)
	return reply, err
}

// chosenClient returns the chosen model and a client of its server. If none was available, it chooses again.
func (l *Learner) chosenClient(ctx context.Context) (client *llm.Client, model string, err error) {
	previousCount := l.choiceCount.Load()
	l.choiceMu.Lock()
	defer l.choiceMu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unavailable && previousCount == l.choiceCount.Load() { // if the counts differ, a concurrent call has just chosen
		l.mu.Unlock()
		next, err := makeChoice(ctx, l.settings)
		l.mu.Lock()
		if err != nil {
			return nil, "", err
		}
		if l.choice.LearnerStatus != next.LearnerStatus {
			l.log.Info("learning model", "model", next.Description, "why", next.Why, "wrong", next.Problem)
		}
		l.choice, l.client = next, nil
		l.choiceCount.Add(1)
	}
	switch {
	case l.unavailable:
		return nil, "", memory.Errorf(memory.Unavailable, "no model learns yet: %s", l.Problem)
	case l.model == "":
		return nil, "", memory.Errorf(memory.Unavailable, "%w: %s", llm.ErrNoModel, l.Why)
	case l.client == nil:
		l.client, err = llm.New(LearnerOptions(l.provider.ApplyTo(l.settings)))
	}
	return l.client, l.model, err
}

// modelName returns the name of a model, "" for auto, chat and smallest.
func modelName(model string) string {
	if model == config.LearnAuto || model == config.LearnChat || model == smallest {
		return ""
	}
	return model
}

// describe returns a text for people about which model learns. rules is the setting learn.rules.
func (c choice) describe(rulesSetting string) string {
	switch {
	case c.unavailable:
		return "no model yet (" + c.Problem + ")"
	case c.model == config.LearnChat:
		return "the chat's own model"
	case c.model != "":
		return c.model
	case rulesSetting == "off":
		return "nobody"
	}
	return "the built-in rules"
}

// ChooseLearner chooses the model that learns: the model of learn.model if the server lists it, otherwise the
// first listed model of learn.prefer. auto means the smallest listed model or, if none is small, each chat's
// model. Without learn.prefer, the model of learn.model learns even if the server does not list it.
func ChooseLearner(ctx context.Context, c config.Config, log *slog.Logger) (*Learner, error) {
	decided, err := makeChoice(ctx, c)
	l := &Learner{
		settings: c, log: log, choice: decided,
		trials: map[string]learn.TrialResult{}, chatTracker: chatTracker{cancelJobs: map[context.Context]context.CancelCauseFunc{}},
	}
	if c.Learn.Trust == "tried" {
		l.Trial(decided.Model) // sets lastTrial, so that Status tells of a failed trial before the first learning job
	}
	return l, err
}

func makeChoice(ctx context.Context, c config.Config) (choice, error) {
	out, err := chooseModel(ctx, c)
	if out.Description = out.describe(c.Learn.Rules); !out.unavailable {
		out.Model = modelName(out.model)
	}
	return out, err
}

func chooseModel(ctx context.Context, c config.Config) (choice, error) {
	auto := c.Learn.Model == config.LearnAuto && len(c.Learn.Prefer) == 0
	wanted := wantedModels(c)
	if fromProvider, ok, err := chooseProvider(ctx, c); ok || err != nil {
		return fromProvider, err
	}
	switch {
	case c.Learn.URL == "" && c.Upstream.URL == "":
		return newChoice("", "no model server is configured"), nil
	case c.Learn.Model == config.LearnNone || c.Learn.Model == "" && len(c.Learn.Prefer) == 0:
		return newChoice("", "set by learn.model"), nil
	case c.Learn.URL == "" && c.Upstream.Key == "" && c.Learn.Key == "" && !c.Learn.ClientKeys && (auto || c.Learn.Model == config.LearnChat) && !isNearby(c.Upstream.URL):
		return newChoice("", "upstream.key is not set, and learn.client_keys, which would learn with each client's own key, is false"), nil
	case c.Learn.Model == config.LearnChat:
		return newChoice(config.LearnChat, "set by learn.model"), nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	listed, err := ListModels(ctx, c)
	switch {
	case !auto && len(c.Learn.Prefer) == 0:
		return choiceByName(c.Learn.Model, listed, err), nil
	case err != nil && auto && isRefusal(err) && c.UsesClientKeys():
		return newChoice(config.LearnChat, "the server lists no models without a key; each chat's own model learns, with its client's key"), nil
	case err != nil && auto && isRefusal(err):
		return newChoice("", err.Error()+"; name a model as learn.model"), nil
	case err != nil:
		return noModelYet(wanted[0], "the learning model's server does not list its models"), nil
	case !auto:
		if first := firstListedModel(wanted, listed); first != "" {
			return newChoice(first, "the first of these models that the server lists: "+strings.Join(wanted, ", ")), nil
		}
		return noModelYet(wanted[0], "the server lists none of the wanted models: "+strings.Join(wanted, ", ")), nil
	}
	model, why := chooseAuto(listed)
	if model == "" && c.Learn.URL == "" {
		model, why = config.LearnChat, "the server lists no small model: each chat's own model learns"
	}
	return newChoice(model, why), nil
}

// newChoice returns the choice of a model with the reason. An empty model means the built-in rules.
func newChoice(model, why string) choice {
	return choice{model: model, LearnerStatus: LearnerStatus{Why: why}}
}

// noModelYet returns the choice while no wanted model is available. firstWanted is the first wanted model.
func noModelYet(firstWanted, problem string) choice {
	return choice{model: firstWanted, unavailable: true, LearnerStatus: LearnerStatus{Why: "Loci looks for the model again before each learning job", Problem: problem}}
}

// choiceByName returns the choice of the model in learn.model, even if the server does not list the model:
// some servers have unlisted models.
func choiceByName(model string, listedModels []string, listErr error) choice {
	c := newChoice(model, "learn.model names it")
	if listErr == nil && listedName(model, listedModels) == "" {
		c.Problem = "the server does not list " + model + ", which learn.model names"
		c.Why += "; the server does not list it"
	}
	return c
}

// chooseProvider chooses the first wanted model of an entry of learn.providers. ok is false if there is none.
func chooseProvider(ctx context.Context, c config.Config) (out choice, ok bool, err error) {
	providers, err := c.Learn.ProviderList()
	if err != nil || len(providers) == 0 || c.Learn.Model == config.LearnChat || c.Learn.Model == config.LearnNone {
		return choice{}, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	lists, errs := make([][]string, len(providers)), make([]error, len(providers))
	var listing sync.WaitGroup
	for i := range providers {
		listing.Go(func() { lists[i], errs[i] = ListModels(ctx, providers[i].ApplyTo(c)) })
	}
	listing.Wait()
	var listed []string // names in the form PROVIDER/MODEL
	for i, p := range providers {
		for _, model := range lists[i] {
			listed = append(listed, p.Name+"/"+model)
		}
	}
	wanted := wantedModels(c)
	if wanted[0] == config.LearnAuto {
		wanted = []string{smallest}
	}
	for _, name := range wanted {
		if full := listedName(name, listed); full != "" {
			i := slices.IndexFunc(providers, func(p config.Provider) bool { return strings.HasPrefix(full, p.Name+"/") })
			out = newChoice(strings.TrimPrefix(full, providers[i].Name+"/"), providers[i].Name+" lists it")
			out.provider = &providers[i]
			return out, true, nil
		}
		for i, p := range providers {
			model, hasPrefix := strings.CutPrefix(name, p.Name+"/")
			switch {
			case hasPrefix && errs[i] != nil:
				out = noModelYet(model, p.Name+" does not list its models")
			case hasPrefix && len(c.Learn.Prefer) == 0:
				out = choiceByName(model, lists[i], nil)
			default:
				continue
			}
			out.provider = &providers[i]
			return out, true, nil
		}
	}
	return choice{}, false, nil
}

// chooseAuto returns the smallest listed model or, if only one chat model is listed, that model.
func chooseAuto(listedModels []string) (model, why string) {
	if model = smallestModel(listedModels); model != "" {
		return model, "the smallest model that the server lists"
	}
	if chats := slices.DeleteFunc(slices.Clone(listedModels), isNonChatModel); len(chats) == 1 {
		return chats[0], "the only chat model that the server lists"
	}
	return "", "the server lists no small model; name one as learn.model"
}

// isRefusal reports whether a server refused a request permanently: with a status 4xx other than 429.
func isRefusal(err error) bool {
	var statusErr interface{ Status() int }
	return errors.As(err, &statusErr) && statusErr.Status() >= 400 && statusErr.Status() < 500 && statusErr.Status() != http.StatusTooManyRequests
}

// isNearby reports whether a server is on this machine or in the same network. A nearby server needs no API
// key and has no quota.
func isNearby(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".localhost")
}

// wantedModels returns the models that may learn, in order of preference.
func wantedModels(c config.Config) []string {
	if (c.Learn.Model == config.LearnAuto || c.Learn.Model == "") && len(c.Learn.Prefer) > 0 {
		return c.Learn.Prefer
	}
	return append([]string{c.Learn.Model}, c.Learn.Prefer...)
}

// firstListedModel returns the listed name of the first wanted model in a server's list, or "".
func firstListedModel(wanted, listedModels []string) string {
	for _, name := range wanted {
		if model := listedName(name, listedModels); model != "" {
			return model
		}
	}
	return ""
}

// listedName returns the name of a model in a server's list, or "". The comparison ignores a provider prefix
// and the suffix ":latest".
func listedName(name string, listedModels []string) string {
	if name == smallest {
		return smallestModel(listedModels)
	}
	if slices.Contains(listedModels, name) {
		return name
	}
	if i := slices.IndexFunc(listedModels, func(id string) bool { return plainModelName(id) == plainModelName(name) }); i >= 0 {
		return listedModels[i]
	}
	return ""
}

func plainModelName(id string) string {
	return strings.TrimSuffix(strings.ToLower(id[strings.LastIndexByte(id, '/')+1:]), ":latest")
}

// sizePattern matches the billions of parameters in a model's name: "qwen2.5:0.5b", "Llama-3.2-1B-Instruct".
var sizePattern = lazy.Compile(`(?i)(?:^|[^0-9.a-z])(\d+(?:\.\d+)?)b(?:[^a-z0-9]|$)`)

// familySizes maps words in the names of small models to sizes comparable with billions of parameters.
var familySizes = map[string]float64{"nano": 2, "lite": 4, "mini": 8, "haiku": 9, "flash": 10, "small": 24}

// nonChatWords lists words in the names of models that do not answer chats.
var nonChatWords = []string{"embed", "rerank", "tts", "audio", "realtime", "transcribe", "whisper", "image", "vision", "search", "moderation", "guard", "voxtral", "ocr", "minilm", "live", "codex", "deep-research"}

func isNonChatModel(id string) bool {
	low := strings.ToLower(id)
	return slices.ContainsFunc(nonChatWords, func(w string) bool { return strings.Contains(low, w) })
}

// modelSize returns the billions of parameters in a model's name, or infinity if the name shows no size.
func modelSize(id string) float64 {
	if m := sizePattern.FindStringSubmatch(id); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			return n
		}
	}
	least := math.Inf(1)
	for _, w := range strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if n, ok := familySizes[w]; ok {
			least = min(least, n)
		}
	}
	return least
}

// smallestModel returns the listed model with the smallest size in its name, or "" if no name shows a size.
// Of models with equal size it prefers the shortest name, which has no date or "preview", and then the last
// name in order, which has the latest version.
func smallestModel(listedModels []string) string {
	best, least := "", math.Inf(1)
	for _, id := range listedModels {
		size := modelSize(id)
		if isNonChatModel(id) || math.IsInf(size, 1) {
			continue
		}
		if size < least || size == least && (len(id) < len(best) || len(id) == len(best) && id > best) {
			best, least = id, size
		}
	}
	return best
}

// LearnerOptions returns the client options for the model that learns.
func LearnerOptions(c config.Config) llm.Options {
	o := llm.Options{BaseURL: c.Learn.URL, Key: c.Learn.Key, Model: modelName(c.Learn.Model), Timeout: c.Learn.Timeout}
	if o.BaseURL == "" {
		o.BaseURL = c.Upstream.URL
		if o.Key == "" {
			o.Key = c.Upstream.Key
		}
	}
	return o
}

// ChatModel returns the upstream's model for queries and for chats that name no model, "" if there is none.
func (l *Learner) ChatModel(ctx context.Context, c config.Config) string {
	if c.Chats.Model != "" || c.Learn.URL != "" || l.programSupplied {
		return c.Chats.Model
	}
	_, model, err := l.chosenClient(ctx)
	if err != nil {
		return ""
	}
	return modelName(model)
}

// ListModels returns the models that the learning model's server lists. It makes one attempt.
func ListModels(ctx context.Context, c config.Config) ([]string, error) {
	o := LearnerOptions(c)
	o.RetryTimeout = time.Millisecond // one attempt
	server, err := llm.New(o)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	names, err := server.Models(ctx)
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "%s lists no models: %w", config.UpstreamConfig{URL: o.BaseURL}.RedactedURL(), err)
	}
	return names, nil
}

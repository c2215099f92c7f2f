package chatapi

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// response is an answer as the Responses API gives it, with the fields that its clients
// count on.
type response struct {
	ID        string         `json:"id"`
	Object    string         `json:"object"`
	CreatedAt int64          `json:"created_at"`
	Status    string         `json:"status"`
	Error     *string        `json:"error"`
	Why       *string        `json:"incomplete_details"`
	Preface   *string        `json:"instructions"`
	Metadata  struct{}       `json:"metadata"`
	Model     string         `json:"model"`
	Output    []outputItem   `json:"output"`
	Parallel  bool           `json:"parallel_tool_calls"`
	Heat      *float64       `json:"temperature"`
	Choice    string         `json:"tool_choice"`
	Tools     []string       `json:"tools"`
	TopP      *float64       `json:"top_p"`
	Usage     *responseUsage `json:"usage"`
}

type outputItem struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    memory.Role  `json:"role"`
	Content []outputText `json:"content"`
}

type outputText struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
}

type responseUsage struct {
	Input        int          `json:"input_tokens"`
	InputDetail  inputDetail  `json:"input_tokens_details"`
	Output       int          `json:"output_tokens"`
	OutputDetail outputDetail `json:"output_tokens_details"`
	Total        int          `json:"total_tokens"`
}

type inputDetail struct {
	Cached int `json:"cached_tokens"`
}

type outputDetail struct {
	Reasoning int `json:"reasoning_tokens"`
}

func newResponse(a Answer, created time.Time) response {
	return response{
		ID: a.ID, Object: "response", CreatedAt: created.Unix(), Status: "in_progress", Model: a.Model,
		Output: []outputItem{}, Choice: "auto", Tools: []string{},
	}
}

// wholeResponse is the response once all is said.
func wholeResponse(a Answer, created time.Time) response {
	r := newResponse(a, created)
	r.Status, r.Output = "completed", []outputItem{wholeItem(a)}
	r.Usage = &responseUsage{Input: a.InputTokens, Output: a.OutputTokens, Total: a.InputTokens + a.OutputTokens}
	return r
}

// itemID is the id of the only item of an answer that Loci makes.
func itemID(a Answer) string { return "msg_" + strings.TrimPrefix(a.ID, responseID) }

func newItem(a Answer) outputItem {
	return outputItem{ID: itemID(a), Type: "message", Status: "in_progress", Role: memory.RoleAssistant, Content: []outputText{}}
}

func wholeItem(a Answer) outputItem {
	item := newItem(a)
	item.Status, item.Content = "completed", []outputText{newText(a.Text)}
	return item
}

func newText(text string) outputText { return outputText{"output_text", text, []string{}} }

func encodeResponsesAnswer(a Answer, created time.Time) []byte {
	return mustEncode(wholeResponse(a, created))
}

// responseEvent is an event of a stream; what it does not name it leaves out.
type responseEvent struct {
	Type     string      `json:"type"`
	Number   int         `json:"sequence_number"`
	Response *response   `json:"response,omitempty"`
	ItemID   string      `json:"item_id,omitempty"`
	Index    *int        `json:"output_index,omitempty"`
	Place    *int        `json:"content_index,omitempty"`
	Item     *outputItem `json:"item,omitempty"`
	Part     *outputText `json:"part,omitempty"`
	Delta    *string     `json:"delta,omitempty"`
	Text     *string     `json:"text,omitempty"`
}

// responseEvents writes events, numbered from first on.
func responseEvents(first int, events ...responseEvent) []byte {
	var out []byte
	for i, e := range events {
		e.Number = first + i
		out = append(out, EncodeEvent(e.Type, e)...)
	}
	return out
}

// openings is how many events stand before the first words of a stream.
const openings = 4

func encodeResponsesPiece(a Answer, created time.Time, text string, n int) []byte {
	var out []byte
	id, zero := itemID(a), new(int)
	if n == 0 {
		r, item, part := newResponse(a, created), newItem(a), newText("")
		out = responseEvents(
			0,
			responseEvent{Type: "response.created", Response: &r},
			responseEvent{Type: "response.in_progress", Response: &r},
			responseEvent{Type: "response.output_item.added", Index: zero, Item: &item},
			responseEvent{Type: "response.content_part.added", ItemID: id, Index: zero, Place: zero, Part: &part},
		)
	}
	return append(out, responseEvents(openings+n, responseEvent{Type: "response.output_text.delta", ItemID: id, Index: zero, Place: zero, Delta: &text})...)
}

func encodeResponsesEnd(a Answer, created time.Time, pieces int) []byte {
	id, zero := itemID(a), new(int)
	r, item, part := wholeResponse(a, created), wholeItem(a), newText(a.Text)
	return responseEvents(
		openings+pieces,
		responseEvent{Type: "response.output_text.done", ItemID: id, Index: zero, Place: zero, Text: &a.Text},
		responseEvent{Type: "response.content_part.done", ItemID: id, Index: zero, Place: zero, Part: &part},
		responseEvent{Type: "response.output_item.done", Index: zero, Item: &item},
		responseEvent{Type: "response.completed", Response: &r},
	)
}

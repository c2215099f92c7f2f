package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// FuzzRequest: any request becomes valid JSON or is refused as invalid.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","system":[{"type":"text","text":"A"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}`))
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}]}`))
	files, _ := filepath.Glob("../chatapi/testdata/*/*.txtar")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			_, text, _ = bytes.Cut(text, []byte("-- request.json --\n"))
			text, _, _ = bytes.Cut(text, []byte("\n-- "))
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range []*chatapi.Dialect{chatapi.Messages, chatapi.Responses} {
			c, err := New(d, body, "R1", noon)
			if err != nil {
				if !errors.Is(err, memory.Invalid) {
					t.Errorf("%s: %v is not a refusal", body, err)
				}
				continue
			}
			if !json.Valid(c.Body) {
				t.Errorf("%s becomes %s", body, c.Body)
			}
		}
	})
}

// FuzzStream: how a stream is cut into pieces changes nothing, and each event is valid JSON.
func FuzzStream(f *testing.F) {
	f.Add([]byte(streamOf(append(chunks, "[DONE]")...)), 7)
	f.Add([]byte(streamOf(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}]}`, `{"error":"x"}`)), 3)
	f.Fuzz(func(t *testing.T, stream []byte, n int) {
		for _, d := range []*chatapi.Dialect{chatapi.Messages, chatapi.Responses} {
			c, err := New(d, []byte(`{"model":"m"}`), "R1", noon)
			if err != nil {
				t.Fatal(err)
			}
			whole, pieces := c.Stream(), c.Stream()
			want := bytes.Clone(whole.Write(stream))
			end, wantEnded := whole.End()
			want = append(want, end...)
			var got []byte
			for rest := stream; len(rest) > 0; {
				k := min(max(n, 1), len(rest))
				got = append(got, pieces.Write(rest[:k])...)
				rest = rest[k:]
			}
			end, ended := pieces.End()
			if got = append(got, end...); !bytes.Equal(got, want) || ended != wantEnded {
				t.Errorf("%s in pieces of %d: got %s, want %s", stream, n, got, want)
			}
			for line := range bytes.Lines(want) {
				if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && !json.Valid(data) {
					t.Errorf("%s: the event %s is not JSON", stream, data)
				}
			}
		}
	})
}

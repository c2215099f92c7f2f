package assembly

import (
	"testing"
)

// TestAnUnchangedBlockIsByteIdentical: the same memories to the same words give the
// same request, in each placement.
func TestAnUnchangedBlockIsByteIdentical(t *testing.T) {
	for _, placement := range []string{"tail", "system", "user"} {
		s := newStage(t, "default", map[string]string{"recall.placement": placement, "learn.after": "never"})
		s.remember(nil, "User plays the cello")
		c := s.talk()
		first, _ := c.says("Which instrument do I play?")
		c.messages = c.messages[:1]
		again, _ := c.send()
		if first.body != again.body {
			t.Errorf("%s: the request sent again is another:\n%s\n%s", placement, first.body, again.body)
		}
		s.has(placement, first.body, "- plays the cello")
	}
}

package chatapi

// Said returns the text of the events that are whole so far. Unlike [Stream.Answer]
// it may be asked for at any time.
func (s *Stream) Said() string { return s.text.String() }

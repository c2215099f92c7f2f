package sqlstore

// Statements returns what a store has said to a server so far, in the server's words.
func (s *Store) Statements() []string {
	var all []string
	s.reader.translator.translations.Range(func(_, text any) bool {
		all = append(all, text.(string))
		return true
	})
	return all
}

// NoError is noError for the tests from outside.
var NoError = noError

package markdown

import "context"

func (s *Store) adopt(ctx context.Context) error { return nil }

//go:build !(linux || darwin)

package disk

import "errors"

// Room is not supported here: [errors.ErrUnsupported].
func Room(string) (int64, error) { return 0, errors.ErrUnsupported }

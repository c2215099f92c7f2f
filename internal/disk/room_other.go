//go:build !(linux || darwin)

package disk

import "errors"

// Room returns [errors.ErrUnsupported]: this system is not supported.
func Room(string) (int64, error) { return 0, errors.ErrUnsupported }

//go:build !(linux || darwin)

package disk

import "errors"

// FreeBytes returns [errors.ErrUnsupported] on this operating system.
func FreeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }

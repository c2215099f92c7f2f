// Package attic stands on no floor.
package attic

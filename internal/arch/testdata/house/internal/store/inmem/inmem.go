// Package inmem breaks nothing.
package inmem

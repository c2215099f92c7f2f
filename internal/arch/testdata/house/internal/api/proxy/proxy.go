// Package proxy breaks nothing.
package proxy

package llm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// DescribeFailure describes why a server did not respond completely. err may be the error of any HTTP client.
// The description omits the server's address, which err contains.
func DescribeFailure(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	f := failureIn(err)
	switch {
	case f != nil && f.status == http.StatusOK:
		return "the server's answer cannot be used"
	case f != nil && f.status != 0:
		return fmt.Sprintf("the server answered with status %d", f.status)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server refused the connection"
	case errors.As(err, &dns):
		return "the server's name was not found"
	case errors.As(err, &certificate):
		return "the server's certificate is not valid"
	case errors.As(err, &record):
		return "the server does not speak TLS"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "the server took too long"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "the server cannot be reached"
	}
	return "the connection failed"
}

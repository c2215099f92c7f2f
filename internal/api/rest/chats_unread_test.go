package rest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener for one connection.
type oneConn struct {
	net.Listener
	conns chan net.Conn
}

func (l oneConn) Accept() (net.Conn, error) {
	if c := <-l.conns; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l oneConn) Addr() net.Addr { return loopback }
func (l oneConn) Close() error   { return nil }

// near is a connection from a loopback address.
type near struct{ net.Conn }

func (near) RemoteAddr() net.Addr { return loopback }

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}

// unread requests a reply over a new connection and never reads it. It returns once the reply is
// blocked.
func (r *rig) unread(chat string) {
	r.t.Helper()
	theirs, ours := net.Pipe()
	l := oneConn{conns: make(chan net.Conn, 1)}
	l.conns <- near{ours}
	server := &http.Server{Handler: r.handler, ReadHeaderTimeout: time.Minute}
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	r.t.Cleanup(func() {
		close(l.conns)
		if err := errors.Join(server.Close(), theirs.Close()); err != nil {
			r.t.Error(err)
		}
		<-done
	})
	const message = `{"content":"Tell me a story."}`
	_, err := fmt.Fprintf(theirs, "POST /api/chats/%s/messages HTTP/1.1\r\nHost: localhost\r\nX-Loci-User: ana\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", chat, len(message), message)
	if err != nil {
		r.t.Fatal(err)
	}
	begin := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(theirs, begin); err != nil || string(begin) != "HTTP/1.1 200" {
		r.t.Fatalf("the reply begins with %q, %v", begin, err)
	}
	synctest.Wait()
}

// TestDeleteDoesNotWaitForAStalledClient deletes a chat whose reply is blocked.
func TestDeleteDoesNotWaitForAStalledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, chat := talker(t, &upstream{status: 200, body: chunks("Once ", "upon")})
		r.unread(chat)
		before := time.Now()
		if w := r.do("DELETE", "/api/chats/"+chat, ""); w.Code != 200 || !time.Now().Equal(before) {
			t.Errorf("deleted with %d after %v, want it at once: %s", w.Code, time.Since(before), w.Body)
		}
	})
}

// TestStalledClientDoesNotBlockItsChat sends the next message while a reply is blocked.
func TestStalledClientDoesNotBlockItsChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, chat := talker(t, &upstream{status: 200, body: chunks("Once ", "upon")})
		r.unread(chat)
		w := r.do("POST", "/api/chats/"+chat+"/messages", `{"content":"Another one."}`)
		if names, _ := eventsOf(t, w); names != "memory delta delta done" {
			t.Errorf("who comes after it gets %s", names)
		}
	})
}

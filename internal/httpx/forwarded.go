package httpx

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// forwardingHeaders are the headers other than X-Forwarded-* that reverse proxies, tunnels and content delivery
// networks add.
var forwardingHeaders = []string{
	"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "X-Envoy-External-Address",
	"True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Azure-Clientip",
}

// IsForwardingHeader reports whether name is the canonical name of a header with which proxies identify the client.
func IsForwardingHeader(name string) bool {
	return strings.HasPrefix(name, "X-Forwarded-") || slices.Contains(forwardingHeaders, name)
}

// proxyEvidence returns evidence that a request came through a proxy: a header's name, "HTTP/1.0", or "" for none.
// By default, nginx adds no header but uses HTTP/1.0, unlike any client.
func proxyEvidence(r *http.Request) string {
	for name := range r.Header {
		if IsForwardingHeader(name) {
			return name
		}
	}
	if r.ProtoMajor == 1 && r.ProtoMinor == 0 {
		return "HTTP/1.0"
	}
	return ""
}

// errProxied is the error for a request through a proxy to a server without a key. The request has the proxy's
// address, which does not identify the server's owner.
func errProxied(evidence string) error {
	return memory.Errorf(memory.Forbidden,
		"the request came through a proxy (%s), and without a key Loci answers only clients on its own machine: set api_key (LOCI_API_KEY) to a long random text", evidence)
}

// applyProxy sets RemoteAddr to the client's address if a configured proxy sent the request. From other requests,
// it removes the proxies' headers that name users. The result secure reports whether the client used TLS. r must
// be a copy, because applyProxy changes it.
func (o *Options) applyProxy(r *http.Request) (secure bool) {
	secure = r.TLS != nil
	if !containsAddress(o.Proxies, parseAddress(r.RemoteAddr)) {
		o.dropUserHeaders(r)
		return secure
	}
	proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	secure = secure || strings.EqualFold(strings.TrimSpace(proto), "https")
	// Each proxy appends the address of its client, so only the last addresses, which configured proxies
	// appended, can be trusted.
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip := parseAddress(strings.TrimSpace(hop))
		if !ip.IsValid() {
			break
		}
		r.RemoteAddr = netip.AddrPortFrom(ip, 0).String()
		if !containsAddress(o.Proxies, ip) {
			break
		}
	}
	return secure
}

func (o *Options) dropUserHeaders(r *http.Request) {
	for _, name := range []string{o.UserHeader, o.SSO.UserHeader, o.SSO.GroupsHeader} {
		r.Header.Del(name)
	}
}

// parseAddress parses an address with or without a port; it returns the zero Addr for an invalid address.
func parseAddress(text string) netip.Addr {
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if ap, withPort := netip.ParseAddrPort(text); withPort == nil {
		ip, err = ap.Addr(), nil
	}
	if err != nil {
		return netip.Addr{}
	}
	return ip.Unmap().WithZone("")
}

func containsAddress(networks []netip.Prefix, ip netip.Addr) bool {
	return ip.IsValid() && slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// IsSecure reports whether the client sent its request over TLS, to Loci or to a configured proxy.
func IsSecure(r *http.Request) bool { return r.TLS != nil || stateOf(r.Context()).secure }

// AdminOnly returns a handler that calls next for admins and refuses other callers.
func AdminOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if IdentityOf(r.Context()).Role != RoleAdmin {
			WriteError(w, r, memory.Errorf(memory.Forbidden, "%s needs an admin key", r.URL.Path))
			return
		}
		next.ServeHTTP(w, r)
	})
}

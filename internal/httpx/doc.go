// Package httpx protects every HTTP API of Loci: it identifies the caller, checks permissions, limits the size
// of requests, and formats errors. It makes no decisions about memory and has no routes.
//
// # Order
//
//	request id → proxy → panics → Host and Origin → key → identity → body limit → handler
//
// [Guard] is the whole chain. Handlers read its result with [IdentityOf] and respond to errors with
// [WriteError]. problem.go maps memory's error codes to HTTP status codes and back.
//
// # Proxies
//
// Without the server's key, only the address of a request distinguishes its owner from other people, and behind
// a reverse proxy every request has the proxy's address. Without a key, a request with signs of a proxy is
// therefore refused, unless a stored key or a signed token identifies the user. X-Forwarded-For and
// X-Forwarded-Proto count only from addresses in Options.Proxies: the first for the limit on wrong keys and the
// log, the second for [Secure]. The same holds for Options.UserHeader, which names the user like X-Loci-User
// and is not forwarded.
//
// # Keys
//
// Loci's own key, or a stored key (keyring.go), is in X-Loci-Key, or in Authorization, X-Api-Key or similar,
// with any scheme but Basic. Guard removes everything that contains a key from the request's headers and query
// (secrets.go) before any handler runs, so that no handler can forward it. A key that is not Loci's is the
// client's key for the upstream and stays.
//
// A request whose key is not accepted counts as an attempt with a wrong key. Attempts are counted by address,
// including those of a sign-in form ([WrongKey]). After several wrong keys, further ones get the status 429.
// The right key is compared first and always accepted.
package httpx

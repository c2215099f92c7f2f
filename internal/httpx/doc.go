// Package httpx protects every HTTP API of Loci: it identifies the caller, checks permissions, limits the size
// of requests, and formats errors. It makes no decisions about memory and has no routes.
//
// # Order
//
//	request id → proxy → panic recovery → Host and Origin → key → identity → body limit → handler
//
// [Guard] runs all these steps. Handlers get the caller by [IdentityOf] and respond to errors with
// [WriteError]. problem.go maps memory's error codes to HTTP status codes.
//
// # Proxies
//
// Without the server's key, only the address of a request distinguishes the server's owner from other people,
// but behind a reverse proxy every request has the proxy's address. A server without a key therefore refuses a
// request with signs of a proxy, unless a stored key or a signed token identifies the user. Only from addresses
// in Options.Proxies, Loci reads X-Forwarded-For (for the limit on wrong keys and the log), X-Forwarded-Proto
// (for [IsSecure]) and Options.UserHeader, which names the user like X-Loci-User and is not forwarded.
//
// # Keys
//
// Clients send Loci's own key, or a stored key (keyring.go), in X-Loci-Key, Authorization, X-Api-Key or similar
// headers, with any scheme except Basic. Before any handler runs, Guard removes all values with such a key from
// the request's headers and query (secrets.go), so that no handler can forward the key. Other keys are the
// client's keys for the upstream and are not removed.
//
// Wrong keys are counted by address, including wrong keys in a sign-in form ([CountWrongKey]). After several
// wrong keys, further wrong keys get the status 429. The right key is compared first and always accepted.
package httpx

// Package httpx is what every HTTP API of Loci stands behind: who asks, whether
// they may, how much they may send, and how an error is told to them. It decides
// nothing about memory and knows no routes.
//
// # Order
//
//	request id → proxy → panics → Host and Origin → key → identity → body limit → handler
//
// [Guard] is that whole chain. A handler reads the outcome with [IdentityOf] and
// answers errors with [WriteError]; both directions of the table between memory's
// codes and HTTP are in problem.go.
//
// # Proxies
//
// Without the server's key the address of a request is all that tells its owner from a
// stranger, and behind a reverse proxy every request has the proxy's address. So without a
// key a request that shows signs of a proxy is refused, unless a stored key or a signed
// token says who asks. X-Forwarded-For and X-Forwarded-Proto count only from the addresses
// in Options.Proxies: the first for the limit on wrong keys and the log, the second for
// [Secure]. So does Options.UserHeader, which names the user as X-Loci-User does and ends here.
//
// # Keys
//
// Loci's own key, or a stored one (keyring.go), comes as X-Loci-Key, or in Authorization,
// X-Api-Key or the like, in any scheme but Basic. Guard takes whatever holds a key out of the
// request's headers and query (secrets.go) before any handler sees it, so that nothing behind it
// can forward it. A key that is not Loci's is the client's for the upstream and stays.
//
// A request that comes with a key and is let in by none came with a wrong one. Those
// are counted by address, a sign-in form's with them ([WrongKey]): after some, further
// wrong keys are answered 429. The right key is compared first and always let in.
package httpx

// Package web is the web page for people, served at / next to the API. It decodes requests, calls methods of
// the engine, and renders HTML. It makes no decisions and stores nothing that it cannot recompute from the
// journal.
//
// Every view works without JavaScript: it has links, and forms that POST and redirect with 303. The script
// makes that faster (it fetches the same pages and swaps their main part) and adds keys and live updates. Pages
// load nothing from other hosts and run nothing inline (see headers). The text of a memory is never markup:
// html/template escapes it, and no template marks anything as safe.
//
//	/                     memories: list, search with reasons, edit, pin, forget, bulk actions
//	/memories/{id}        one fact's history and relations
//	/profile              values about the user by key
//	/review               facts that wait for a decision
//	/conversations[/{id}] transcripts, summaries, what was learned from each turn
//	/contexts[/{id}]      documents, and the chats that they are attached to
//	/traces[/{id}]        the memories that answers used
//	/playground           a chat, with the memories that each answer used and the facts learned from it
//	/time                 memory as of a day, and the changes since
//	/insights /jobs
//	/settings[/prompts/{name}] the server's settings and the reasons for them
//	/data[/export|/import] export and import; an import has a preview
//	/erase /erased/{run}  what an erasure would remove, and its receipt
//	/undo                 what an undo would also undo
//	/signin /signout /events /assets/…
//
// The playground makes the same call as POST /api/chats/{id}/messages. A temporary chat is stored only in its
// page.
//
// [httpx.Guard] identifies the user, as for every API. Browsers cannot send Loci's headers, so [Page.SignedIn]
// runs before the guard and converts the page's cookie to those headers, only for the page's own paths.
package web

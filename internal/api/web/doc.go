// Package web serves Loci's web page for people, at / next to the API. It decodes requests, calls methods of
// the engine, and renders HTML. It makes no decisions and stores nothing that it cannot recompute from the
// journal.
//
// Every view works without JavaScript, by links and by forms that POST and redirect with 303. The script
// fetches the same pages, swaps their main part, and adds keyboard shortcuts and live updates. Pages
// load nothing from other hosts and run no inline scripts (see headers.go). html/template escapes the text
// of memories, and no template marks text as safe HTML.
//
//	/                     memories: list, search with reasons, edit, pin, forget, bulk actions
//	/memories/{id}        one fact's history and relations
//	/profile              values about the user by key
//	/review               facts that wait for a decision
//	/conversations[/{id}] transcripts, summaries, facts learned from each turn
//	/contexts[/{id}]      documents, and the chats to which they are attached
//	/traces[/{id}]        the memories that answers used
//	/playground           a chat, with the memories that each answer used and the facts learned from it
//	/time                 memory as of a day, and later changes
//	/insights /jobs
//	/settings[/prompts/{name}] the server's settings, with the source of each value
//	/data[/export|/import] export and import; an import has a preview
//	/erase /erased/{run}  what an erasure would remove, and its receipt
//	/undo                 what an undo would also undo
//	/signin /signout /events /assets/…
//
// The playground calls the same engine method as POST /api/chats/{id}/messages. A temporary chat is stored only
// in its page.
//
// [httpx.Guard] identifies the user, as for every API. Browsers cannot send Loci's headers, so
// [Page.WithSession] converts the page's cookie to those headers before the guard, only for the page's own paths.
package web

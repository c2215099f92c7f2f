// Package web is the page: for people, at / beside the API. It decodes,
// calls the engine's verbs, and renders HTML; it decides nothing and keeps nothing
// but what can be counted again from the journal.
//
// Every view is whole without JavaScript: links, and forms that POST and come back
// with 303. The script only makes that quick (it fetches the same pages and swaps
// their main part) and adds keys and live changes. Nothing is loaded from elsewhere,
// nothing inline is run (see headers), and the text of a memory is never markup:
// html/template escapes it, and no template declares anything safe.
//
//	/                     memories: list, search with why, edit, pin, forget, bulk
//	/memories/{id}        one fact's life, and what it is related to
//	/profile              what is known as keys and values
//	/review               what waits for a person
//	/conversations[/{id}] transcripts, summaries, what was learned from each turn
//	/contexts[/{id}]      documents, and the chats that they are attached to
//	/traces[/{id}]        what answers were given
//	/playground           a chat, with what memory gave to each answer and learned of it
//	/time                 memory as of a day, and what changed since
//	/insights /jobs
//	/settings[/prompts/{name}] how the server is set, why, and how that is changed
//	/data[/export|/import] memory taken away and brought in; an import can be looked at before
//	/erase /erased/{run}  what would be erased for good, and the receipt of what was
//	/undo                 what an undo would take along
//	/signin /signout /events /assets/…
//
// The playground talks by the call that POST /api/chats/{id}/messages makes. A temporary chat is held by its
// page alone.
//
// Who asks is found out by [httpx.Guard], as for every API. A browser sends no
// header of ours, so [Page.SignedIn] stands before the guard and turns the page's
// cookie into those headers, for the page's own paths alone.
package web

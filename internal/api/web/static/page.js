// What makes the page quick. Every view works without it: this file fetches the same
// pages and swaps their parts, so that there is one way to render.
"use strict";
document.documentElement.classList.add("js");
const $ = (what, from = document) => from.querySelector(what);
const all = (what, from = document) => [...from.querySelectorAll(what)];

// --- Fetching and swapping ---

let asked = null; // the last request; what it answers is not shown once there is a later one
let posting = Promise.resolve(); // ends with the last form sent: forms are sent one by one and never given up
let waiting = 0; // requests under way

// visit fetches a page and shows it. parts are the ids to swap, unless somebody says
// not to by then; what a failed request says is told in the toast and nothing is lost.
// With typed a search leaves no trace: it is not done, or nobody asked.
async function visit(url, { body, parts = ["main"], toast = true, history: how = "push", focus, unless, typed } = {}) {
  asked?.abort();
  const mine = asked = new AbortController();
  const before = posting;
  let ended;
  if (body) posting = new Promise((resolve) => { ended = resolve; });
  waiting++;
  const slow = setTimeout(() => document.documentElement.classList.add("slow"), 400);
  let answer, text;
  try {
    await before;
    answer = await fetch(url, body ? { method: "POST", body } : { signal: mine.signal, headers: typed ? { "X-Loci-Typing": "yes" } : {} });
    text = await answer.text();
  } catch (e) {
    if (e.name !== "AbortError") tell("The server cannot be reached.");
    return false;
  } finally {
    clearTimeout(slow);
    if (!--waiting) document.documentElement.classList.remove("slow");
    ended?.();
  }
  if (mine !== asked || unless?.()) return false;
  const was = current();
  if (!show(text, answer.status, [...parts, "nav", ...toast ? ["toast"] : []])) return false;
  const there = new URL(answer.url);
  if (how === "push" && there.pathname + there.search !== location.pathname + location.search) history.pushState(null, "", there);
  else if (how !== "keep") history.replaceState(null, "", there);
  settle(focus === undefined ? was : focus, parts[0] === "main" && how === "push" && !body);
  return true;
}

// show swaps parts for those of a page; what an answer that is none says is told.
function show(text, status, parts) {
  const page = new DOMParser().parseFromString(text, "text/html");
  if (status >= 400 || !$("#nav", page)) {
    const problem = $("[data-problem]", page);
    if (problem && status !== 401) tell(problem.textContent);
    else location.assign("/signin?next=" + encodeURIComponent(location.pathname + location.search));
    return false;
  }
  for (const id of parts) {
    const from = page.getElementById(id), to = document.getElementById(id);
    if (from && to && !from.isEqualNode(to)) to.replaceWith(from); // nothing moves under a hand for nothing
  }
  document.title = page.title;
  return true;
}

// settle puts the focus where work goes on: a field that was opened, the thing asked
// for, the row that took its place, or the view's beginning; false leaves it.
function settle(to, fresh) {
  const field = fresh ? $("#main [autofocus]") : to !== false ? $("#main .edit [autofocus]") : null;
  if (field) { field.focus(); field.setSelectionRange?.(field.value.length, field.value.length); }
  else if (to && document.getElementById(to.id)) document.getElementById(to.id).focus({ preventScroll: false });
  else if (to && to.place >= 0 && rows().length) rows()[Math.min(to.place, rows().length - 1)].focus();
  else if (fresh) { $("#main").focus({ preventScroll: true }); scrollTo(0, 0); }
  shown();
  fade();
}

// shown brings the view's own link into sight where the links do not fit.
function shown() {
  const nav = $("#nav"), link = $("#nav [aria-current]");
  if (link) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
}

// current is the row that has the focus, by id and place.
function current() {
  const row = document.activeElement?.closest?.("[data-row]");
  return row ? { id: row.id, place: rows().indexOf(row) } : null;
}

let fading;
// fade takes the toast away when it can have been read; one that has the focus stays.
function fade() {
  clearTimeout(fading);
  fading = setTimeout(() => { const t = $("#toast"); if (t && !t.contains(document.activeElement)) t.replaceChildren(); else fade(); }, 12000);
}

function tell(text) {
  const wrong = document.createElement("div");
  wrong.className = "wrong";
  wrong.textContent = text;
  $("#toast").replaceChildren(wrong);
  fade();
}

// --- Links and forms ---

document.addEventListener("submit", (e) => {
  const form = e.target;
  if (form.method === "dialog" || form.matches(".signin, [action='/signout'], [data-whole]")) return;
  e.preventDefault();
  if (form.matches("[data-live]")) return live(form, "push");
  if (form.matches("[data-slide]")) return slide(form);
  if (form.matches("[data-say]")) return say(form);
  if (form.matches("[data-bring]")) return bring(form, e.submitter);
  if (form.method === "get") return visit(addressOf(form));
  const fields = new FormData(form, e.submitter);
  fields.delete("file"); // its words are in the form already
  const body = new URLSearchParams(fields);
  visit(form.action, { body, parts: partsOf(form), history: "replace" });
});

// partsOf is what changes when something is done: of a chat, the talk alone, so that
// what is being typed stays.
const partsOf = (of) => of.closest("#talk") ? ["talk"] : ["main"];

document.addEventListener("click", (e) => {
  if (e.target.closest("[data-stop]")) return speaking?.abort();
  if (e.target.closest("[data-help]")) return $("#keys").showModal();
  const link = e.target.closest("#main a, #nav a, .brand");
  if (!link || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || link.origin !== location.origin || link.pathname.startsWith("/docs")) return;
  e.preventDefault();
  const id = link.hash && decodeURIComponent(link.hash.slice(1));
  const stay = link.matches("[data-edit], [data-cancel]");
  visit(link.href, { parts: stay ? partsOf(link) : ["main"], history: stay ? "replace" : "push", focus: id ? { id } : stay ? current() : false });
});

addEventListener("popstate", () => visit(location.href, { history: "keep" }));

// --- Search as one types, the slider ---

let typing;
document.addEventListener("input", (e) => {
  const form = e.target.form;
  if (form?.matches("[data-slide]")) {
    clearTimeout(typing);
    typing = setTimeout(() => slide(form), 60);
  } else if (e.target.matches("[data-search]")) {
    clearTimeout(typing);
    typing = setTimeout(() => live(form, "replace", { typed: true }), 90);
  }
});
document.addEventListener("change", (e) => {
  const form = e.target.form;
  if (e.target.matches("[data-into]") && e.target.files[0]) return read(e.target, form);
  if (form?.matches("[data-live]") && !e.target.matches("[data-search]")) live(form, "push", { parts: ["main"] });
});

// read puts a file's words where they can be seen before they are sent.
async function read(input, form) {
  const file = input.files[0], words = await file.text();
  if (/[\0\uFFFD]/.test(words)) { input.value = ""; return tell("This file is not text."); }
  form.elements[input.dataset.into].value = words;
  form.elements.title.value ||= file.name.replace(/\.[^.]*$/, "");
}

function addressOf(form) {
  const q = new URLSearchParams();
  for (const [k, v] of new FormData(form)) if (v) q.set(k, v);
  return form.getAttribute("action") + (q.size ? "?" + q : "");
}

function live(form, how, { parts = [form.dataset.live || "results", "kinds"], typed = false } = {}) {
  clearTimeout(typing);
  visit(addressOf(form), { parts, history: how, focus: false, typed });
}

async function slide(form) {
  if (await visit(addressOf(form), { parts: ["then"], history: "replace", focus: false })) {
    $("[type=range]", form).setAttribute("aria-valuetext", $("#then").dataset.day);
  }
}

// --- The playground ---

let speaking = null; // what stops the answer that is under way

// say sends what was typed and writes the answer down as it comes. At its end the
// server shows the chat with what memory gave and took; a temporary chat is nowhere
// but here.
async function say(form) {
  const box = $("textarea", form), words = box.value.trim(), history = form.elements.history;
  if (!words || speaking) return;
  const body = new URLSearchParams(new FormData(form));
  const one = $("#exchange").content.firstElementChild.cloneNode(true), answer = $("[data-answer]", one), stop = $("[data-stop]", form);
  $("[data-asked]", one).textContent = words;
  $("#talk .empty")?.remove();
  $("#talk .chat").append(one);
  box.value = "";
  stop.hidden = false;
  speaking = new AbortController();
  let said = "", wrong = "", reply;
  const heard = (more) => { answer.textContent = said += more; one.scrollIntoView({ block: "nearest" }); };
  heard("");
  try {
    reply = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/x-ndjson" }, signal: speaking.signal });
    form.elements.conversation.value = reply.headers.get("X-Loci-Chat") ?? form.elements.conversation.value;
    wrong = reply.ok ? await hear(reply, heard) : problemOf(await reply.text());
  } catch (e) {
    if (e.name !== "AbortError") wrong = reply ? "The answer was cut off." : "The server cannot be reached.";
  }
  speaking = null;
  stop.hidden = true;
  answer.classList.remove("speaking");
  if (wrong) tell(wrong);
  if (wrong && !said) { one.remove(); box.value ||= words; return; }
  if (history) history.value = JSON.stringify([...JSON.parse(history.value || "[]"), { role: "user", content: words }, { role: "assistant", content: said }]);
  else if (await visit("/playground?" + new URLSearchParams({ conversation: form.elements.conversation.value, model: body.get("model") }), { parts: ["talk", "talks"], toast: false, history: "replace", focus: false })) $("#talk .exchange:last-child")?.scrollIntoView({ block: "nearest" });
}

// hear reads a stream to its end and returns what went wrong, "" for nothing.
async function hear(reply, heard) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", wrong = "";
  for (let piece; !(piece = await reader.read()).done;) {
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const piece = JSON.parse(line);
      wrong = piece.wrong ?? "";
      heard(piece.said ?? "");
    }
  }
  return wrong;
}

function problemOf(text) {
  return $("[data-problem]", new DOMParser().parseFromString(text, "text/html"))?.textContent || "The model did not answer.";
}

// --- Import ---

// bring sends a file and shows how far that is: it is read as it is sent.
function bring(form, button) {
  const ask = new XMLHttpRequest(), row = $(".progress", form), body = new FormData(form);
  const under = (way) => { row.hidden = !way; for (const b of all("button", form)) b.disabled = way; };
  ask.open("POST", button?.getAttribute("formaction") || form.action);
  ask.upload.onprogress = (e) => { $("progress", row).value = e.loaded / e.total; $("[data-progress]", row).textContent = Math.round(100 * e.loaded / e.total) + " %"; };
  ask.onloadend = () => {
    under(false);
    if (!ask.status) return tell("The server cannot be reached.");
    const dry = ask.responseURL.includes("do=look");
    if (!show(ask.responseText, ask.status, ["brought", "nav"])) return;
    if (!dry) form.reset();
    $("#brought").focus();
  };
  under(true);
  ask.send(body);
}

// --- Keys ---

const rows = () => all("#main [data-row]").filter((r) => r.offsetParent);
let going = 0; // when g was pressed

document.addEventListener("keydown", (e) => {
  if (e.metaKey || e.ctrlKey || e.altKey || $("dialog[open]")) return;
  const field = e.target.closest("input:not([type=checkbox], [type=radio], [type=range]), textarea, select");
  if (field) {
    if (e.key === "Escape") { const cancel = field.form && $("[data-cancel]", field.form); cancel ? cancel.click() : field.blur(); }
    if (e.key === "Enter" && field.matches(".edit textarea, .say textarea") && !e.shiftKey && !e.isComposing) { e.preventDefault(); field.form.requestSubmit(); }
    if (e.key === "ArrowDown" && field.matches("[data-search]")) { e.preventDefault(); step(1); }
    return;
  }
  if (e.key >= "0" && e.key <= "9" && Date.now() - going < 1500) return all("#nav a")[(+e.key + 9) % 10]?.click();
  const act = keys[e.key];
  if (act && act(e) !== false) e.preventDefault();
});

const press = (what) => {
  const row = document.activeElement?.closest?.("[data-row]") ?? (rows().length === 1 ? rows()[0] : null);
  const button = row && $(what, row);
  if (!button) return false;
  button.click();
};
const keys = {
  "/": () => { const s = $("[data-search]"); if (s) { s.focus(); s.select(); } else visit("/").then(() => $("[data-search]")?.focus()); },
  j: () => step(1), k: () => step(-1),
  e: () => press("[data-edit]"), p: () => press("[data-pin]"), a: () => press("[data-approve]"), r: () => press("[data-reject]"),
  Delete: () => press("[data-forget]"), x: () => press("input.choose"), Enter: (e) => e.target.matches("[data-row]") ? press("a.words") : false,
  u: () => { const undo = $("#toast [data-undo]"); return undo ? undo.requestSubmit() : false; },
  g: () => { going = Date.now(); },
  "?": () => $("#keys")?.showModal(),
};

// step moves the focus from row to row.
function step(by) {
  const list = rows(), at = current();
  if (list.length) list[Math.min(Math.max(at ? at.place + by : 0, 0), list.length - 1)].focus();
}

// --- Live changes ---

let stream = null, seen = null;

// listen follows the memory's version while the page is looked at.
function listen() {
  if (document.hidden || !$("#nav")) { stream?.close(); stream = null; return; }
  if (stream) return;
  stream = new EventSource("/events");
  stream.addEventListener("version", (e) => {
    if (seen !== null && seen !== e.data) refresh();
    seen = e.data;
  });
  const mine = stream;
  stream.onerror = () => { // of an answer that is none, as a proxy's while its server starts, a browser gives up
    if (mine.readyState !== EventSource.CLOSED || stream !== mine) return;
    stream = null;
    setTimeout(listen, 5000);
  };
}

// busy reports whether somebody is in the middle of something that must not be swapped.
const busy = () => speaking || $("#main [data-writing]") || $("#main form.edit:not(.add .edit, .card)") || $(".choose:checked") || $("#brought .result") || $("#main details[open]:not(.group, .summary, .left)") || $("[data-bring] [type=file], [name=history]")?.value;

let later; // a refresh that had to wait

// refresh shows what changed elsewhere, as soon as nobody is in the middle of something.
function refresh() {
  clearTimeout(later);
  if (busy() || waiting) {
    later = setTimeout(refresh, 2000);
    return;
  }
  const typed = document.activeElement?.matches?.("input, textarea, select");
  const part = ["results", "then", "talk"].find((id) => document.getElementById(id));
  visit(location.href, { parts: [(typed || part === "talk") && part || "main"], toast: false, history: "keep", focus: typed ? false : undefined, unless: busy, typed: !$("#results .found a") });
}

document.addEventListener("visibilitychange", listen);
for (const b of all("[data-help]")) b.hidden = false;
listen();
shown();
fade();

// The labelling page.  The server holds the state; the page shows it and sends actions.
import { $, ask, hue, make, mark, percent, put } from "./dom.js";
import { draw } from "./curve.js";

const state = { session: sessionStorage.getItem("session"), owner: false, labels: [], keys: {}, revision: 0,
  view: null, cursor: 0, whole: true, anchor: null, visited: [], waiting: 0, list: 0, busy: Promise.resolve() };
const MARKS = { open: "·", done: "✓", partial: "◐", skipped: "–" };

const say = (words) => { $("said").textContent = words; };
const count = () => state.view?.tokens.length ?? 0;

function fail(error) {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
  if (error.status === 409 || error.status === 423) refresh();
}

// One request that changes something at a time, in the order of the keys.
function doing(job) {
  state.waiting += 1;
  $("text").setAttribute("aria-busy", "true");
  state.busy = state.busy.then(async () => {
    try { await job(); } catch (error) { fail(error); }
    state.waiting -= 1;
    $("text").setAttribute("aria-busy", String(state.waiting > 0));
  });
  return state.busy;
}

// -- what is shown ---------------------------------------------------------------------------------

const segmentAt = (t) => state.view.segments.find((one) => one.start <= t && t < one.end);
const chosen = () => (state.anchor === null ? null :
  { start: Math.min(state.anchor, state.cursor), end: Math.max(state.anchor, state.cursor) + 1 });
// What keys are about is framed: the selection, the segment at the cursor, or the word there.
const framed = () => (state.whole && state.anchor === null && count() ? segmentAt(state.cursor) : undefined);
const target = () => chosen() ?? framed() ?? { start: state.cursor, end: state.cursor + 1 };

function token(t) {
  const [, words] = state.view.tokens[t], range = chosen();
  const inside = range && range.start <= t && t < range.end;
  const out = state.view.outside.some(([start, end]) => start <= t && t < end);
  return make("span", { class: `tok${t === state.cursor && !framed() ? " at" : ""}${inside ? " in" : ""}${out ? " out" : ""}`, "data-t": t }, words);
}

function show() {
  const { tokens, segments, rest } = state.view, out = [];
  let t = 0;
  const run = (end) => { // the tokens up to `end`, with the space before all but the first
    const some = [];
    for (const first = t; t < end; t += 1) some.push(t > first ? tokens[t][0] : "", token(t));
    return some;
  };
  for (const segment of segments) {
    while (t < segment.start) { out.push(tokens[t][0], token(t)); t += 1; }
    out.push(tokens[t][0]);
    const words = make("span", {}, ...run(segment.end));
    out.push(mark(words, segment, state.labels, {}, `${segment.fixed ? " fixed" : ""}${segment === framed() ? " at" : ""}`));
  }
  while (t < tokens.length) { out.push(tokens[t][0], token(t)); t += 1; }
  put($("text"), ...(tokens.length ? [...out, rest] : [make("span", { class: "quiet" }, "This text has no words.")]));
  const words = { open: !state.view.model ? "new" : segments.length ? "suggested" : "no suggestion", done: "accepted", partial: "known in part", skipped: "skipped" };
  $("status").textContent = `${state.view.text + 1} of ${state.total}, ${words[state.view.status]}`;
}

function describe() {
  const segment = count() ? segmentAt(state.cursor) : null;
  const some = framed() ?? { start: state.cursor, end: state.cursor + 1 };
  const word = state.view.tokens.slice(some.start, some.end).map((one, k) => (k ? one[0] : "") + one[1]).join("");
  const sure = segment && !segment.fixed && segment.probability !== null ? `, probability ${percent(segment.probability)}` : "";
  say(segment ? `${word}, in ${segment.label}${sure}${segment.fixed ? ", fixed" : ""}` : `${word}, in no segment`);
}

function receive(view) {
  const moved = state.view?.text !== view.text;
  state.view = view;
  state.revision = Math.max(state.revision, view.revision);
  if (moved) {
    Object.assign(state, { cursor: 0, whole: true });
    sessionStorage.setItem("at", view.text);
    for (const button of $("list").querySelectorAll("button")) button.setAttribute("aria-current", String(Number(button.dataset.text) === view.text));
    reveal();
  }
  state.cursor = Math.max(0, Math.min(state.cursor, count() - 1));
  state.anchor = null;
  show();
}

function status(answer) {
  Object.assign(state, { owner: answer.owner, total: answer.total });
  $("taken").hidden = answer.owner;
  const done = (answer.counts.done ?? 0) + (answer.counts.partial ?? 0);
  $("bar").value = done / answer.total;
  $("progress").textContent = `${done.toLocaleString("en")} of ${answer.total.toLocaleString("en")}`;
  if (answer.labels.join("\n") !== state.labels.join("\n") || !$("labels").children.length) showLabels(answer.labels);
  const last = answer.curve.at(-1);
  $("model").textContent = answer.problem ? answer.problem : answer.training ? "Training…" :
    last ? `Trained on ${last.examples} texts in ${last.seconds} s` + (last.f1 === null ? "." : `; F1 ${(last.f1 * 100).toFixed(0)}% on ${last.held_out} held-out text${last.held_out > 1 ? "s" : ""}.`) :
    answer.model ? "The given model suggests." : "Accept two texts, and the model begins to suggest.";
  put($("curve"), draw(answer.curve.filter((one) => one.f1 !== null)));
  $("warnings-card").hidden = !answer.warnings.length;
  put($("warnings"), ...answer.warnings.slice(0, 8).map((one) => make("div", {}, `“${one.words}”: `,
    ...Object.entries(one.labels).flatMap(([label, texts], k) => [k ? ", " : "", `${label} in `,
      ...texts.slice(0, 4).map((i) => make("button", { class: "plain", "aria-label": `Text ${i + 1}`, onclick: () => go(i) }, `${i + 1}`))]))));
  // Load the text again if it was changed elsewhere, or when there is a first model to ask. The suggestions of a
  // later model come with the next action or text: what is shown must not change just before it is accepted.
  const { view } = state, elsewhere = answer.revision > state.revision;
  const first = view && !view.model && answer.model && view.status === "open" && !view.segments.length && !view.outside.length && state.anchor === null;
  if (view && !state.waiting && (elsewhere || first)) doing(() => load(view.text));
}

// A letter of each label that no other has, and digits.
function showLabels(labels) {
  state.labels = labels;
  state.keys = {};
  put($("labels"), ...labels.map((label, k) => {
    const letter = [...label.toLowerCase(), ..."abcdefghijklmnopqrstuvwxyz"].find((c) => /^[a-z]$/.test(c) && !(c in state.keys));
    if (letter) state.keys[letter] = label;
    if (k < 9) state.keys[String(k + 1)] = label;
    return make("button", { hue: hue(labels, label), onclick: () => { apply(label); $("text").focus(); } },
      make("span", { class: "dot", "aria-hidden": "true" }), label, make("kbd", {}, k < 9 ? `${k + 1}` : "", letter ? ` ${letter}` : ""));
  }));
}

// -- actions ---------------------------------------------------------------------------------------

const act = (ops) => doing(async () => {
  $("problem").hidden = true;
  const view = await ask("/api/act", { session: state.session, revision: state.revision, text: state.view.text, ops });
  state.whole = true;
  receive(view);
  describe();
});

const apply = (label) => { const { start, end } = target(); return act([{ op: "label", start, end, label }]); };
const fix = (segment, start, end) => (start < end && start >= 0 && end <= count() ? act([{ op: "label", start, end, label: segment.label }]) : null);

async function load(text) { receive(await ask("/api/text", { session: state.session, text })); }

const go = (text) => doing(async () => { if (text !== null) { await load(text); $("text").focus(); describe(); } });

const forward = async () => {
  state.visited.push(state.view.text);
  const { text } = await ask("/api/next", { after: state.view.text });
  if (text === null) { say("All texts are labelled."); $("status").textContent = "All texts are labelled."; } else await load(text);
  refresh();
};

// Send a last action on this text, and go to the next one.
const finish = (op) => doing(async () => {
  $("problem").hidden = true;
  receive(await ask("/api/act", { session: state.session, revision: state.revision, text: state.view.text, ops: [op()] }));
  await forward();
  describe();
});

const undo = (again) => doing(async () => {
  const view = await ask("/api/undo", { session: state.session, revision: state.revision, again });
  if (view.text === null) say(`Nothing to ${again ? "redo" : "undo"}.`); else { receive(view); say(again ? "Done again." : "Undone."); }
  refresh();
});

const commands = {
  accept: () => finish(() => ({ op: "accept", segments: state.view.segments.map((one) => [one.start, one.end, one.label]) })),
  partial: () => finish(() => ({ op: "status", status: "partial" })),
  skip: () => finish(() => ({ op: "status", status: "skipped" })),
  next: () => doing(forward),
  previous: () => { if (state.visited.length) go(state.visited.pop()); },
  remove: () => { const { start, end } = target(); act([{ op: "outside", start, end }]); },
  free: () => { const { start, end } = target(); act([{ op: "free", start, end }]); },
  keep: () => { const segment = segmentAt(state.cursor); if (segment) fix(segment, segment.start, segment.end); },
  "end-left": () => { const one = segmentAt(state.cursor); if (one) { state.cursor = Math.min(state.cursor, Math.max(one.start, one.end - 2)); fix(one, one.start, one.end - 1); } },
  "end-right": () => { const one = segmentAt(state.cursor); if (one) fix(one, one.start, one.end + 1); },
  "start-left": () => { const one = segmentAt(state.cursor); if (one) fix(one, one.start - 1, one.end); },
  "start-right": () => { const one = segmentAt(state.cursor); if (one) { state.cursor = Math.max(state.cursor, Math.min(one.end - 1, one.start + 1)); fix(one, one.start + 1, one.end); } },
  split: () => {
    const one = segmentAt(state.cursor), at = state.cursor;
    if (one && one.start < at) act([{ op: "label", start: one.start, end: at, label: one.label }, { op: "label", start: at, end: one.end, label: one.label }]);
  },
  merge: () => {
    const one = segmentAt(state.cursor), next = one && state.view.segments.find((other) => other.start >= one.end);
    if (next) fix(one, one.start, next.end);
  },
};

function move(to, extend, whole = false) {
  if (!count()) return;
  state.whole = whole;
  if (extend) state.anchor ??= state.cursor; else state.anchor = null;
  state.cursor = Math.max(0, Math.min(count() - 1, to));
  show();
  describe();
}

const jump = (step) => {
  const starts = state.view.segments.map((one) => one.start);
  const to = step > 0 ? starts.find((start) => start > state.cursor) : starts.findLast((start) => start < (segmentAt(state.cursor)?.start ?? state.cursor));
  if (to !== undefined) move(to, false, true);
};

const KEYS = { Enter: "accept", Delete: "remove", Backspace: "remove", " ": "keep", 0: "free", "/": "split", "+": "merge", PageDown: "next", PageUp: "previous" };

document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input, select, textarea, dialog");
  const onButton = event.target.closest("button, a") && (event.key === "Enter" || event.key === " ");
  if (inField || onButton || !state.view) return;
  const control = event.ctrlKey || event.metaKey, key = event.key;
  let run = null;
  if (control && key.toLowerCase() === "z") run = () => undo(event.shiftKey);
  else if (control && key.toLowerCase() === "y") run = () => undo(true);
  else if (control) return;
  else if (key === "?") run = () => $("help").showModal();
  else if (key === "ArrowLeft" || key === "ArrowRight") {
    const right = key === "ArrowRight";
    run = event.altKey ? commands[`${event.shiftKey ? "start" : "end"}-${right ? "right" : "left"}`] : () => move(state.cursor + (right ? 1 : -1), event.shiftKey);
  } else if (event.altKey) return;
  else if (key === "ArrowUp" || key === "ArrowDown") run = () => jump(key === "ArrowDown" ? 1 : -1);
  else if (key === "Home" || key === "End") run = () => move(key === "Home" ? 0 : count() - 1, event.shiftKey);
  else if (key === "Escape") run = () => { state.anchor = null; show(); };
  else if (key === "Enter" && event.shiftKey) run = commands.partial;
  else if (key in KEYS) run = commands[KEYS[key]];
  else if (key.toLowerCase() in state.keys) run = () => apply(state.keys[key.toLowerCase()]);
  if (!run) return;
  event.preventDefault();
  // What a key means depends on what the one before it has changed.
  doing(async () => {}).then(run);
});

// A click frames the segment, a second one the word. Drag over words to select; a touch taps the first and the last.
let dragging = false;
const tokenAt = (event) => { const found = document.elementFromPoint(event.clientX, event.clientY)?.closest(".tok"); return found ? Number(found.dataset.t) : null; };
$("text").addEventListener("pointerdown", (event) => {
  const t = tokenAt(event);
  if (t === null || event.button) return;
  const touch = event.pointerType !== "mouse";
  state.whole = !segmentAt(t) || segmentAt(t) !== framed();
  if (touch && t !== state.cursor && state.anchor === null && state.tapped) { state.anchor = state.cursor; state.tapped = false; } else if (event.shiftKey) state.anchor ??= state.cursor; else { state.anchor = null; state.tapped = touch; }
  state.cursor = t;
  dragging = !touch;
  show();
  describe();
});
document.addEventListener("pointermove", (event) => {
  const t = dragging ? tokenAt(event) : null;
  if (t === null || t === state.cursor) return;
  state.anchor ??= state.cursor;
  state.cursor = t;
  show();
});
document.addEventListener("pointerup", () => { dragging = false; });

for (const button of document.querySelectorAll("[data-key]")) button.addEventListener("click", () => { commands[button.dataset.key](); $("text").focus(); });
$("undo").addEventListener("click", () => undo(false));
$("redo").addEventListener("click", () => undo(true));
$("help-button").addEventListener("click", () => $("help").showModal());
$("train").addEventListener("click", () => doing(async () => status(await ask("/api/train", { session: state.session }))));
$("take").addEventListener("click", () => doing(() => open(true)));
$("add").addEventListener("submit", (event) => {
  event.preventDefault();
  doing(async () => {
    const answer = await ask("/api/label", { session: state.session, revision: state.revision, label: $("new-label").value.trim() });
    state.revision = answer.revision;
    status(answer);
    $("new-label").value = "";
    $("problem").hidden = true;
    show();
  });
});
for (const id of ["filter", "words"]) $(id).addEventListener("input", () => { state.list = 0; list(); });
$("list-back").addEventListener("click", () => { state.list = Math.max(0, state.list - 50); list(); });
$("list-on").addEventListener("click", () => { state.list += 50; list(); });

async function list() {
  try {
    const { rows, count: all } = await ask("/api/list", { status: $("filter").value, words: $("words").value, first: state.list });
    put($("list"), ...rows.map((row) => make("li", {}, make("button", { "data-text": row.text, "aria-current": String(row.text === state.view?.text), onclick: () => { if (state.view) state.visited.push(state.view.text); go(row.text); } },
      make("span", { title: row.status, "aria-label": row.status, role: "img" }, MARKS[row.status]), make("span", {}, row.preview || "(empty)")))));
    $("list-count").textContent = all ? `${state.list + 1}–${state.list + rows.length} of ${all.toLocaleString("en")}` : "none";
    $("list-back").disabled = !state.list;
    $("list-on").disabled = state.list + 50 >= all;
    reveal();
  } catch (error) { fail(error); }
}

// Scroll the list, and nothing else, to the text that is shown.
function reveal() {
  const current = $("list").querySelector('[aria-current="true"]'), box = $("list").getBoundingClientRect();
  const row = current?.getBoundingClientRect();
  if (row && (row.top < box.top || row.bottom > box.bottom)) $("list").scrollTop += row.top - box.top - box.height / 3;
}

async function refresh() {
  try {
    status(await ask("/api/status", { session: state.session }));
    list();
  } catch (error) { $("problem").textContent = error.message; $("problem").hidden = false; }
}

async function open(take) {
  const answer = await ask("/api/open", { session: state.session, take });
  state.session = answer.session;
  sessionStorage.setItem("session", answer.session);
  $("name").textContent = answer.name;
  document.title = `${answer.name}: Caesura`;
  status(answer);
  const at = sessionStorage.getItem("at");
  const first = state.view?.text ?? (at === null || Number(at) >= answer.total ? answer.first : Number(at));
  if (first === null) $("status").textContent = "All texts are labelled.";
  await load(first ?? 0);
  await list();
}

// A closed page lets the next one work at once; after a reload it has the same token.
addEventListener("pagehide", () => { fetch("/api/close", { method: "POST", keepalive: true, headers: { "content-type": "application/json" }, body: JSON.stringify({ session: state.session }) }).catch(() => {}); });
doing(() => open(false)).then(() => $("text").focus());
(async function watch() {
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
    if (state.view) await ask("/api/status", { session: state.session }).then(status).catch(fail);
  }
}());

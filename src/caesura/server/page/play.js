// The playground: text in, segments out, at the speed of typing.
import { $, ask, Failure, make, mark, parts, percent, put } from "./dom.js";

const EXAMPLE = "Codd, E. F. (1970). A relational model of data for large shared data banks. Communications of the ACM, 13(6), 377-387.";
const state = { models: [], text: "", segments: [], rules: [], chosen: null, turn: 0 };
let abort = new AbortController();

const model = () => state.models.find((one) => one.name === $("model").value);
const labels = () => model()?.labels ?? [];

function constraints() {
  const out = {};
  for (const { kind, span } of state.rules) (out[kind] ??= []).push(span);
  return out;
}

function fail(error) {
  if (error.name === "AbortError") return;
  const impossible = error instanceof Failure && error.status === 422;
  $("problem").textContent = impossible ? "No segmentation keeps these constraints. Remove one of them." : error.message;
  $("problem").hidden = false;
}

// Ask everything about the text of now; what is asked about an older text is dropped.
async function update() {
  abort.abort();
  abort = new AbortController();
  const turn = ++state.turn, options = { signal: abort.signal };
  const text = $("input").value;
  if (text !== state.text) state.rules = [];
  state.text = text;
  sessionStorage.setItem("text", text);
  const body = { text, model: $("model").value, constraints: constraints() };
  const began = performance.now();
  try {
    const [found] = (await ask("/segment", body, options)).results;
    if (turn !== state.turn) return;
    $("problem").hidden = true;
    $("time").textContent = `${Math.max(1, Math.round(performance.now() - began))} ms`;
    state.segments = found.segments;
    show();
    const jobs = [alternatives(body, options), compare(body, options)];
    if (state.chosen !== null) jobs.push(explain(options));
    await Promise.all(jobs);
  } catch (error) { if (turn === state.turn) { showRules(); fail(error); } }
}

function show() {
  if (state.chosen !== null && !state.segments[state.chosen]) state.chosen = null;
  const focused = document.activeElement?.dataset?.index;
  const shown = parts(state.text, state.segments).map((part) => {
    if (!part.segment) return part.text;
    const index = state.segments.indexOf(part.segment);
    const kept = state.rules.some((rule) => rule.kind === "required" && same(rule.span, part.segment));
    return mark(part.text, part.segment, labels(), {
      role: "button", tabindex: 0, "data-index": index, "aria-pressed": String(index === state.chosen),
      onclick: () => choose(index),
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(index); }
        if (event.key === "ArrowRight" || event.key === "ArrowLeft") step(index + (event.key === "ArrowRight" ? 1 : -1));
      },
    }, kept ? " fixed" : "");
  });
  put($("answer"), ...(shown.length ? shown : [make("span", { class: "quiet" }, "Nothing yet.")]));
  if (focused !== undefined) $("answer").querySelector(`[data-index="${Number(focused)}"]`)?.focus();
  showRules();
  if (state.chosen === null) put($("why"), make("p", { class: "quiet" }, "Choose a segment."));
}

const same = (span, segment) => span[0] === segment.start && span[1] === segment.end && span[2] === segment.label;
const step = (index) => $("answer").querySelector(`[data-index="${index}"]`)?.focus();

function choose(index) {
  state.chosen = state.chosen === index ? null : index;
  show();
  if (state.chosen !== null) explain({ signal: abort.signal }).catch(fail);
}

function rule(kind, segment, label = segment.label) {
  const span = [segment.start, segment.end, label];
  const apart = ({ span: [start, end], kind: other }) => kind === "forbidden" || other === "forbidden" || end <= span[0] || span[1] <= start;
  state.rules = state.rules.filter(apart);
  state.rules.push({ kind, span, text: segment.text });
  update();
}

function showRules() {
  $("rules").hidden = !state.rules.length;
  put($("rules"), ...state.rules.map((one, i) => make("span", { class: "chip", role: "listitem" },
    make("span", {}, `${one.kind === "required" ? "must be" : "must not be"} ${one.span[2]}: ${one.text}`),
    make("button", { "aria-label": `Remove the constraint on ${one.text}`, onclick: () => { state.rules.splice(i, 1); update(); } }, "×"))));
}

async function explain(options) {
  const segment = state.segments[state.chosen];
  const select = make("select", { "aria-label": "Label to force" }, ...labels().map((label) =>
    make("option", { value: label, ...(label === segment.label ? { selected: true } : {}) }, label)));
  const actions = make("div", { class: "row" },
    make("button", { onclick: () => rule("required", segment, select.value) }, "Force as"), select,
    make("button", { onclick: () => rule("forbidden", segment) }, "Forbid"));
  const head = make("p", {}, make("strong", {}, segment.label), ` “${segment.text}”`,
    segment.probability === null ? null : make("span", { class: "quiet number" }, `, probability ${percent(segment.probability)}`));
  put($("why"), head, actions);
  if (!model()?.explanations) { $("why").append(make("p", { class: "quiet" }, "This model does not explain its answers.")); return; }
  const body = { text: state.text, model: $("model").value, constraints: constraints(), reasons: 10 };
  const [found] = (await ask("/explain", body, options)).results;
  const why = found.segments.find((one) => same([segment.start, segment.end, segment.label], one));
  if (!why || state.segments[state.chosen] !== segment) return;
  const rival = why.runner_up.map((one) => `${one.label} “${one.text}”`).join(", ") || "nothing";
  const rows = why.reasons.map((one) => make("tr", {}, make("td", {}, make("code", {}, one.feature), make("span", { class: "quiet" }, ` ${one.for}`)),
    make("td", { class: "number" }, `${one.difference < 0 ? "−" : "+"}${Math.abs(one.difference).toFixed(2)}`)));
  put($("why"), head, actions,
    make("p", {}, why.margin === null ? "Nothing else is possible here." : `Runner-up: ${rival}, behind by ${why.margin.toFixed(2)}.`),
    rows.length ? make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Feature"), make("th", { scope: "col", class: "number" }, "For it"))), make("tbody", {}, ...rows)) : null,
    why.left_out ? make("p", { class: "quiet" }, `and ${why.left_out} smaller ones`) : null);
}

async function alternatives(body, options) {
  const [found] = (await ask("/n-best", { ...body, n: 5 }, options)).results;
  const first = new Set(found.alternatives[0]?.segments.map((one) => `${one.start} ${one.end} ${one.label}`));
  put($("best"), ...found.alternatives.map((one) => make("div", { class: "alternative" },
    make("span", { class: "quiet number" }, percent(one.probability)),
    make("div", { class: "text" }, ...parts(state.text, one.segments).map((part) => (part.segment ?
      mark(part.text, part.segment, labels(), {}, first.has(`${part.segment.start} ${part.segment.end} ${part.segment.label}`) ? "" : " changed") : part.text))))));
}

async function compare(body, options) {
  const name = $("other").value;
  $("compared").hidden = !name;
  if (!name) return;
  const other = state.models.find((one) => one.name === name);
  const [found] = (await ask("/segment", { text: body.text, model: name }, options)).results;
  const both = [...labels(), ...other.labels.filter((label) => !labels().includes(label))]; // the same colours
  const mine = new Set(state.segments.map((one) => `${one.start} ${one.end} ${one.label}`));
  let count = 0;
  put($("second"), ...parts(state.text, found.segments).map((part) => {
    if (!part.segment) return part.text;
    const differs = !mine.has(`${part.segment.start} ${part.segment.end} ${part.segment.label}`);
    count += differs;
    return mark(part.text, part.segment, both, {}, differs ? " changed" : "");
  }));
  $("compared-title").textContent = name;
  $("differs").textContent = count ? `${count} segment${count > 1 ? "s" : ""} differ${count > 1 ? "" : "s"}.` : "Both models agree.";
}

// The chosen model is not compared with itself.
function listOthers() {
  const before = $("other").value;
  const names = state.models.map(({ name }) => name).filter((name) => name !== $("model").value);
  put($("other"), ...["", ...names].map((name) => make("option", { value: name }, name || "none")));
  $("other").value = names.includes(before) ? before : "";
}

async function begin() {
  try { state.models = (await ask("/models")).models; } catch (error) { fail(error); return; }
  put($("model"), ...state.models.map(({ name }) => make("option", { value: name }, name)));
  listOthers();
  $("input").value = sessionStorage.getItem("text") ?? EXAMPLE;
  $("input").addEventListener("input", update);
  $("model").addEventListener("change", () => { state.rules = []; state.chosen = null; listOthers(); update(); });
  $("other").addEventListener("change", update);
  update();
}

begin();

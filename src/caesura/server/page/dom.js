// Small helpers of all pages.  Text reaches the page only as text: nothing here parses HTML.

// The colours of `caesura.render`, in the same order.
const PALETTE = ["#0087d7", "#d75f00", "#008700", "#af5fd7", "#d70000", "#008787", "#d70087", "#878700",
  "#5f5fd7", "#af5f5f", "#af875f", "#875f00", "#ff005f", "#8700d7", "#00875f", "#ff00d7"];
export const DOUBT = 0.9; // segments below this probability stand out

export const $ = (id) => document.getElementById(id);

// Make an element: attributes, listeners as onclick, then children, which may be strings.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "hue") element.style.setProperty("--hue", value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const put = (place, ...children) => place.replaceChildren(...children.filter(Boolean));

export function hue(labels, label) {
  const k = labels.indexOf(label);
  return k < 0 ? undefined : PALETTE[k % PALETTE.length];
}

export const percent = (chance) => (chance === null || chance === undefined ? "" :
  chance >= 0.9995 ? "100%" : chance < 0.0005 ? "<0.1%" : `${Math.min(99.9, chance * 100).toFixed(chance < 0.1 ? 1 : 0)}%`);

// Offsets of the server count code points; those of strings here do not.
export const points = (text) => Array.from(text);

export class Failure extends Error {
  constructor(status, reason, body) { super(reason); this.status = status; this.body = body; }
}

let token = sessionStorage.getItem("token");

// Ask the server; where it wants a token, ask the person for it.
export async function ask(path, body, options = {}) {
  const headers = { ...(token ? { authorization: `Bearer ${token}` } : {}) };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method: body === undefined ? "GET" : "POST", headers,
      body: body === undefined ? undefined : JSON.stringify(body), ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The server does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) {
    token = await askToken();
    sessionStorage.setItem("token", token);
    return ask(path, body, options);
  }
  if (!response.ok) throw new Failure(response.status, answer.error ?? response.statusText, answer);
  return answer;
}

let asking = null;

function askToken() {
  asking ??= new Promise((resolve) => {
    const field = make("input", { type: "password", id: "token", autocomplete: "off" });
    const form = make("form", { method: "dialog", class: "stack" },
      make("label", { for: "token" }, "This server asks for a token."), field,
      make("button", { class: "main" }, "Continue"));
    const dialog = make("dialog", { "aria-label": "Token" }, form);
    dialog.addEventListener("close", () => { asking = null; dialog.remove(); resolve(field.value.trim()); });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}

// The parts of a text: segments, and what is between them.
export function parts(text, segments) {
  const characters = points(text), out = [];
  let reached = 0;
  for (const segment of segments) {
    if (reached < segment.start) out.push({ text: characters.slice(reached, segment.start).join("") });
    out.push({ text: characters.slice(segment.start, segment.end).join(""), segment });
    reached = segment.end;
  }
  if (reached < characters.length) out.push({ text: characters.slice(reached).join("") });
  return out;
}

// A segment in the colour of its label.
export function mark(words, segment, labels, attributes = {}, more = "") {
  const doubt = segment.probability !== undefined && segment.probability !== null && segment.probability < DOUBT;
  const chance = segment.probability === undefined || segment.probability === null ? null :
    make("span", { class: "chance" }, percent(segment.probability));
  return make("span", { class: `seg${doubt ? " doubt" : ""}${more}`, hue: hue(labels, segment.label), ...attributes },
    words, make("span", { class: "tag" }, segment.label, chance));
}

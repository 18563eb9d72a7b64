// The learning curve: F1 on held-out texts against the number of labelled ones.
const W = 320, H = 130, LEFT = 34, BOTTOM = 20, TOP = 8, RIGHT = 8;

function shape(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

export function draw(points) {
  if (points.length < 2) return null;
  const last = points.at(-1), most = Math.max(...points.map((one) => one.examples));
  const x = (n) => LEFT + (W - LEFT - RIGHT) * (n / most), y = (f) => TOP + (H - TOP - BOTTOM) * (1 - f);
  const svg = shape("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Learning curve: F1 ${(last.f1 * 100).toFixed(0)}% with ${last.examples} texts` });
  for (const f of [0, 0.5, 1]) {
    svg.append(shape("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: y(f), y2: y(f) }), shape("text", { x: LEFT - 6, y: y(f) + 3, "text-anchor": "end" }, `${f * 100}%`));
  }
  svg.append(shape("text", { x: W - RIGHT, y: H - 5, "text-anchor": "end" }, `${most} texts`),
    shape("polyline", { class: "line", points: points.map((one) => `${x(one.examples)},${y(one.f1)}`).join(" ") }),
    shape("circle", { cx: x(last.examples), cy: y(last.f1), r: 3.5 }));
  return svg;
}

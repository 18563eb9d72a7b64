// The description of the API, from /openapi.json.
import { $, ask, make } from "./dom.js";

const api = await ask("/openapi.json");
$("about").textContent = api.info.description;

const resolved = (schema) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema);

// A short outline of a schema: {"start": integer, ...}.
function outline(given, depth = 0) {
  const schema = resolved(given) ?? {};
  if (depth > 6) return "…";
  if (schema.oneOf && !schema.properties) return schema.oneOf.map((one) => outline(one, depth)).join(" or ");
  if (schema.prefixItems) return `[${schema.prefixItems.map((one) => outline(one, depth)).join(", ")}]`;
  if (schema.type === "array") return `[${outline(schema.items, depth)}, …]`;
  if (schema.additionalProperties) return `{label: ${outline(schema.additionalProperties, depth + 1)}}`;
  if (schema.properties) {
    const pad = "  ".repeat(depth + 1);
    const rows = Object.entries(schema.properties).map(([key, value]) => `${pad}"${key}": ${outline(value, depth + 1)}`);
    return `{\n${rows.join(",\n")}\n${"  ".repeat(depth)}}`;
  }
  return [schema.type ?? "any"].flat().join(" or ");
}

const block = (title, text) => [make("h3", { class: "quiet" }, title), make("pre", { tabindex: 0, role: "region", "aria-label": title }, text)];

for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, one] of Object.entries(methods)) {
    const json = one.requestBody?.content?.["application/json"];
    const answer = one.responses["200"].content["application/json"]?.schema;
    const errors = Object.entries(one.responses).filter(([code]) => code !== "200");
    const example = json?.example && `curl -s ${location.origin}${path} -H 'content-type: application/json' \\\n  -d '${JSON.stringify(json.example)}'`;
    $("paths").append(make("section", { class: "card", "aria-label": `${method} ${path}` },
      make("h2", {}, `${method.toUpperCase()} `, make("code", {}, path)), make("p", {}, one.summary),
      ...(example ? block(`Example: ${path}`, example) : []),
      ...(json?.schema?.properties ? block(`Request: ${path}`, outline(json.schema)) : []),
      ...(answer?.properties ? block(`Answer: ${path}`, outline(answer)) : []),
      ...errors.map(([code, { description }]) => make("p", { class: "quiet" }, make("code", {}, code), ` ${description}`))));
  }
}

// Every route of /openapi.json: what it takes, what it returns, and a form to try it.
"use strict";

const DEPTH_MAX = 6;
let schemas = {};

function resolve(schema) {
  return schema.$ref ? schemas[schema.$ref.split("/").pop()] || {} : schema;
}

// A value of the schema's shape, for people to read and to start from.
function example(schema, depth = 0) {
  const found = resolve(schema);
  if (found.default !== undefined) return found.default;
  if (found.enum) return found.enum[0];
  if (found.anyOf) return example(found.anyOf.find((one) => one.type !== "null") || {}, depth);
  if (depth > DEPTH_MAX) return null;
  if (found.type === "object" || found.properties) {
    const entries = Object.entries(found.properties || {});
    return Object.fromEntries(entries.map(([name, one]) => [name, example(one, depth + 1)]));
  }
  if (found.type === "array") return found.items ? [example(found.items, depth + 1)] : [];
  return { string: "", integer: 0, number: 0, boolean: false }[found.type] ?? null;
}

// Only what must be there: the best start for a request.
function smallest(schema) {
  const found = resolve(schema);
  const entries = (found.required || []).map((name) => [name, example(found.properties[name])]);
  return Object.fromEntries(entries);
}

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.type === "array") return `${typeOf(schema.items || {})}[]`;
  return schema.type || "any";
}

function describeSchema(schema) {
  const found = resolve(schema);
  if (!found.properties) return make("code", {}, typeOf(schema));
  const required = new Set(found.required || []);
  const rows = Object.entries(found.properties).map(([name, one]) => [
    make("code", {}, required.has(name) ? `${name} *` : name),
    make("code", {}, typeOf(one)),
    one.description || (one.$ref ? resolve(one).description : "") || "",
  ]);
  return make("div", {}, make("p", { class: "soft" }, found.description || ""),
    table([both("field", "字段"), both("type", "类型"), ""], rows));
}

function contentOf(holder) {
  const content = (holder && holder.content) || {};
  const media = Object.keys(content)[0];
  return media ? { media, schema: content[media].schema } : null;
}

function tryForm(method, path, operation) {
  const form = make("form");
  const inputs = (operation.parameters || []).map((parameter) => {
    const input = make("input", { name: parameter.name, spellcheck: "false" });
    if (parameter.required) input.required = true;
    form.append(make("label", {}, make("code", {}, parameter.name),
      ` ${parameter.in}${parameter.required ? " *" : ""} `,
      make("span", { class: "soft" }, parameter.description || ""), input));
    return { parameter, input };
  });
  const body = contentOf(operation.requestBody);
  let field = null;
  if (body && body.media === "application/json") {
    field = make("textarea", { spellcheck: "false" });
    field.value = JSON.stringify(smallest(body.schema), null, 2);
  } else if (body) {
    field = make("input", { type: "file" });
  }
  if (field) form.append(make("label", {}, both("body", "请求体"), field));
  const result = make("pre", { hidden: "" });
  form.append(make("button", {}, both("Send", "发送")), result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    result.hidden = false;
    result.textContent = "…";
    try {
      result.textContent = await send(method, path, inputs, field, body);
    } catch (error) {
      result.textContent = String(error);
    }
  });
  return form;
}

async function send(method, path, inputs, field, body) {
  const query = new URLSearchParams();
  let url = path;
  for (const { parameter, input } of inputs) {
    if (parameter.in === "path") url = url.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value !== "") query.set(parameter.name, input.value);
  }
  const headers = {};
  const token = document.getElementById("token").value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  const request = { method, headers };
  if (field) {
    headers["Content-Type"] = body.media;
    request.body = field.type === "file" ? field.files[0] : field.value;
  }
  const answer = await fetch(String(query) ? `${url}?${query}` : url, request);
  const text = await answer.text();
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: shown as it is.
  }
  return `${answer.status} ${answer.statusText}\n\n${shown}`;
}

function describeOperation(method, path, operation) {
  const inside = make("div", { class: "inside" });
  if (operation.description) inside.append(make("p", {}, operation.description));
  const body = contentOf(operation.requestBody);
  if (body) inside.append(make("h3", {}, both("Body", "请求体")), describeSchema(body.schema));
  for (const [status, answer] of Object.entries(operation.responses)) {
    const content = contentOf(answer);
    if (answer.$ref) continue;
    inside.append(make("h3", {}, both("Answer", "响应"), ` ${status}`),
      content ? describeSchema(content.schema) : make("p", { class: "soft" }, answer.description));
  }
  inside.append(make("h3", {}, both("Try it", "试一试")));
  // A stream never ends, so it is better followed in a terminal.
  const stream = Object.values(operation.responses).some((one) => one.content && one.content["text/event-stream"]);
  if (!stream) inside.append(tryForm(method, path, operation));
  else inside.append(make("code", {}, `curl -N -H 'Authorization: Bearer …' '${location.origin}${path}'`));
  return make("details", { id: operation.operationId },
    make("summary", {}, make("span", { class: "method" }, method), make("code", {}, path), " ",
      make("span", { class: "soft" }, operation.summary || "")),
    inside);
}

async function start() {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`/openapi.json: ${answer.status}`);
  const api = await answer.json();
  schemas = api.components.schemas;
  const groups = new Map(api.tags.map((tag) => [tag.name, []]));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      groups.get(operation.tags[0]).push(describeOperation(method.toUpperCase(), path, operation));
    }
  }
  const routes = document.getElementById("routes");
  for (const [tag, operations] of groups) routes.append(make("h2", {}, tag), ...operations);
}

start().catch((error) => {
  const trouble = document.getElementById("trouble");
  trouble.textContent = error.message;
  trouble.hidden = false;
});

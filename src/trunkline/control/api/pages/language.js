// The language switch, and helpers that build elements from text only (never from markup).
"use strict";

const remembered = localStorage.getItem("language");
if (remembered === "en" || remembered === "zh") document.documentElement.lang = remembered;

document.getElementById("language").addEventListener("click", () => {
  const other = document.documentElement.lang === "zh" ? "en" : "zh";
  document.documentElement.lang = other;
  localStorage.setItem("language", other);
});

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function both(en, zh) {
  return make("span", {}, make("span", { lang: "en" }, en), make("span", { lang: "zh" }, zh));
}

function table(headings, rows) {
  const head = make("tr", {}, ...headings.map((heading) => make("th", {}, heading)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))));
  return make("table", {}, head, ...body);
}

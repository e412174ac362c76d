// Numbers, languages and blocks of text.

function formatScore(value, metric) {
  if (value === null || value === undefined) return "–";
  const scale = metric ? metric.scale : null;
  const digits = scale === 1 ? value.toFixed(3) : scale === 100 ? value.toFixed(1) : significant(value);
  return digits.replace("-", "−");
}

function significant(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

function formatSeconds(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 s";
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${Number((value * 1000).toPrecision(3))} ms`;
  return value < 100 ? `${Number(value.toPrecision(3))} s` : `${Math.round(value).toLocaleString("en")} s`;
}

function plural(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

const SCRIPTS = [
  ["ja", /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ["ko", /\p{Script=Hangul}/u],
  ["zh", /\p{Script=Han}/u],
  ["ar", /\p{Script=Arabic}/u],
  ["he", /\p{Script=Hebrew}/u],
  ["hi", /\p{Script=Devanagari}/u],
  ["bn", /\p{Script=Bengali}/u],
  ["th", /\p{Script=Thai}/u],
  ["lo", /\p{Script=Lao}/u],
  ["km", /\p{Script=Khmer}/u],
  ["my", /\p{Script=Myanmar}/u],
];

// The language is a guess from the script; it chooses fonts and line heights only.
function scriptOf(text) {
  const start = text.slice(0, 600);
  const letters = (start.match(/\p{L}/gu) || []).length;
  for (const [language, pattern] of SCRIPTS) {
    const found = start.match(new RegExp(pattern.source, "gu")) || [];
    if (found.length > 0.3 * letters) return language;
  }
  return null;
}

// Every paragraph finds its own direction, and none touches its neighbours.
function textBlock(text, pieces) {
  const block = el("div", { class: "text", dir: "auto", lang: scriptOf(text) });
  block.append(...(pieces || [text]));
  return block;
}

function moreNote(more) {
  if (!more) return null;
  return el("span", { class: "more" },
    `… ${more.toLocaleString("en")} more characters, see predictions.parquet`);
}

const FOLD_AT = 800;

function folding(text, block, more) {
  if (text.length <= FOLD_AT && text.split("\n").length <= 14) return el("div", {}, block, moreNote(more));
  const box = el("div", { class: "fold" }, block);
  const button = el("button", { type: "button", "aria-expanded": "false" }, "Show all");
  button.addEventListener("click", () => {
    const open = box.classList.toggle("open");
    button.textContent = open ? "Show less" : "Show all";
    button.setAttribute("aria-expanded", String(open));
  });
  box.append(button, moreNote(more) || "");
  return box;
}

// Elements without HTML text: whatever comes from data becomes a text node or an attribute value.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

function option(value, label, chosen) {
  const node = el("option", { value }, label);
  node.selected = chosen;
  return node;
}

function choice(label, options, chosen, onchange) {
  const select = el("select", { onchange: (event) => onchange(event.target.value) },
    options.map(([value, words]) => option(value, words, value === chosen)));
  return el("label", { class: "field" }, label, select);
}

function announce(text) {
  byId("status").textContent = text;
}

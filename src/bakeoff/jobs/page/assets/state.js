// What the reader has chosen. It lives in the address, so that a link shows the same view.

const DEFAULTS = {
  q: "", show: "", group: "", best: "", sort: "apart", of: "", metric: "", page: "1", row: "",
  against: "", marks: "auto", theme: "", board: "", cols: "", axis: "",
};

const state = { ...DEFAULTS };

function readAddress() {
  const hash = location.hash.slice(1);
  // A plain #section is a place, not a state.
  const given = hash.includes("=") ? new URLSearchParams(hash) : new URLSearchParams();
  for (const name of Object.keys(DEFAULTS)) {
    state[name] = given.has(name) ? given.get(name) : DEFAULTS[name];
  }
}

function writeAddress(isNewPlace) {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== DEFAULTS[name]) kept.set(name, value);
  }
  const text = kept.toString();
  const address = text ? `#${text}` : location.pathname + location.search;
  if (isNewPlace) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

// Lists stand in one value; a comma or backslash of a name is escaped.
function chosenSet(name) {
  const parts = state[name].match(/(?:\\[\s\S]|[^,\\])+/g) || [];
  return new Set(parts.map((part) => part.replace(/\\([\s\S])/g, "$1")));
}

function storeSet(name, values) {
  state[name] = [...values].map((value) => value.replace(/[\\,]/g, "\\$&")).join(",");
}

// Keyboard, colours, and the list of keys.

const THEMES = ["", "light", "dark"];

function drawTheme() {
  if (state.theme) document.documentElement.dataset.theme = state.theme;
  else delete document.documentElement.dataset.theme;
  const name = state.theme || "system";
  byId("theme").querySelector("span").textContent = name;
  byId("theme").setAttribute("aria-label", `Colours: ${state.theme || "as the system"}`);
}

function nextTheme() {
  state.theme = THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length];
  writeAddress();
  drawTheme();
  announce(`Colours: ${state.theme || "as the system"}`);
}

function nextMarks() {
  const names = MARKS.map(([name]) => name);
  change({ marks: names[(names.indexOf(state.marks) + 1) % names.length] });
  announce(`Differences: ${MARKS.find(([name]) => name === state.marks)[1]}`);
}

function focusSearch() {
  if (!wide.matches && state.row) closeRow();
  byId("search")?.focus();
}

const KEYS = {
  j: () => stepRow(1),
  k: () => stepRow(-1),
  "[": () => turnPage(-1),
  "]": () => turnPage(1),
  "/": focusSearch,
  d: nextMarks,
  t: nextTheme,
  "?": () => byId("keys").showModal(),
};
const NEED_ROWS = new Set(["j", "k", "[", "]", "d"]);

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const target = event.target;
  if (event.key === "Escape") {
    if (closeMenus(null)) return;
    if (target.id === "search") target.blur();
    else if (!wide.matches && state.row && byId("row-view").contains(target)) closeRow();
    return;
  }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
  const inList = target.closest && target.closest("#row-list");
  const arrow = { ArrowDown: "j", ArrowUp: "k" }[event.key];
  const key = arrow && inList ? arrow : event.key;
  if (!Object.hasOwn(KEYS, key) || (NEED_ROWS.has(key) && rows.length === 0)) return;
  event.preventDefault();
  KEYS[key]();
}

// An open menu closes by Escape, and by a click elsewhere.
function closeMenus(target) {
  const open = [...document.querySelectorAll("details.menu[open]")].filter((m) => !m.contains(target));
  for (const menu of open) {
    if (menu.contains(document.activeElement)) menu.firstChild.focus();
    menu.open = false;
  }
  return open.length > 0;
}

function startKeys() {
  document.addEventListener("click", (event) => closeMenus(event.target));
  document.addEventListener("keydown", onKey);
  byId("theme").addEventListener("click", nextTheme);
  byId("show-keys").addEventListener("click", () => byId("keys").showModal());
  byId("close-keys").addEventListener("click", () => byId("keys").close());
}

async function copySpec() {
  const button = byId("copy-spec");
  const selection = getSelection();
  selection.selectAllChildren(byId("spec"));
  try {
    await navigator.clipboard.writeText(byId("spec").textContent);
    button.textContent = "Copied";
  } catch {
    // Without permission the text stays selected, one key away from being copied.
    button.textContent = "Selected: press Ctrl+C";
    return;
  }
  selection.removeAllRanges();
  announce("Spec copied");
}

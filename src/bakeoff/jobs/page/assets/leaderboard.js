// Sorting and choosing columns of the table that came with the page.

function boardHeaders() {
  return [...document.querySelectorAll("#board thead th")];
}

function startBoard() {
  boardHeaders().forEach((header, index) => {
    const label = header.querySelector(".label");
    const button = el("button", { type: "button", title: label.title || null }, ...label.childNodes);
    button.addEventListener("click", () => sortBoardBy(header, index));
    label.removeAttribute("title");
    label.replaceChildren(button);
  });
  startColumns();
  drawBoard();
}

// First click: best first. Numbers without a better direction: largest first.
function firstDirection(header) {
  if (header.dataset.key === "model" || header.dataset.key === "place") return "ascending";
  if (header.dataset.family === "problems") return "descending";
  return header.dataset.better === "lower" ? "ascending" : "descending";
}

function sortBoardBy(header) {
  const now = header.getAttribute("aria-sort");
  const first = firstDirection(header);
  const turned = first === "ascending" ? "descending" : "ascending";
  const direction = now === first ? turned : first;
  state.board = `${direction === "ascending" ? "+" : "-"}${header.dataset.key}`;
  writeAddress();
  drawBoard();
  announce(`Leaderboard sorted by ${header.querySelector(".label").textContent}, ${direction}`);
}

function drawBoard() {
  const key = state.board.slice(1) || "place";
  const direction = state.board.startsWith("-") ? "descending" : "ascending";
  const headers = boardHeaders();
  const index = headers.findIndex((header) => header.dataset.key === key);
  headers.forEach((header, at) => {
    if (at === index && state.board) header.setAttribute("aria-sort", direction);
    else header.removeAttribute("aria-sort");
  });
  const body = document.querySelector("#board tbody");
  const sign = direction === "ascending" ? 1 : -1;
  const lines = [...body.rows].sort((a, b) => compareCells(a.cells[index], b.cells[index], key, sign)
    || Number(a.cells[0].dataset.sort) - Number(b.cells[0].dataset.sort));
  body.append(...lines);
  drawColumns();
}

// Without a value last, whichever way.
function compareCells(a, b, key, sign) {
  if (!a || !b) return 0;
  const [left, right] = [a.dataset.sort, b.dataset.sort];
  if (left === undefined || right === undefined) return (left === undefined) - (right === undefined);
  return sign * (key === "model" ? left.localeCompare(right) : Number(left) - Number(right));
}

function startColumns() {
  const quality = boardHeaders().filter((h) => h.dataset.family === "quality");
  if (quality.length < 2) return;
  const boxes = quality.map((header) => {
    const box = el("input", { type: "checkbox", "data-column": header.dataset.key });
    box.addEventListener("change", () => {
      storeSet("cols", [...document.querySelectorAll("[data-column]")]
        .filter((b) => b.checked).map((b) => b.dataset.column.slice(7)));
      writeAddress();
      drawColumns();
    });
    return el("label", {}, box, el("bdi", {}, header.querySelector(".label").textContent));
  });
  byId("board-tools").append(el("details", { class: "menu" },
    el("summary", { id: "columns" }, "Metrics"), el("div", {}, ...boxes)));
}

function drawColumns() {
  const chosen = chosenSet("cols");
  const headers = boardHeaders();
  let open = 0;
  let all = 0;
  headers.forEach((header, index) => {
    if (header.dataset.family !== "quality") return;
    const name = header.dataset.key.slice(7);
    const shown = chosen.size ? chosen.has(name) : header.dataset.folded === undefined;
    all += 1;
    open += shown ? 1 : 0;
    header.hidden = !shown;
    for (const row of document.querySelector("#board tbody").rows) row.cells[index].hidden = !shown;
    const box = [...document.querySelectorAll("[data-column]")]
      .find((b) => b.dataset.column === header.dataset.key);
    if (box) box.checked = shown;
  });
  const summary = byId("columns");
  if (summary) summary.textContent = `Metrics: ${open} of ${all}`;
}

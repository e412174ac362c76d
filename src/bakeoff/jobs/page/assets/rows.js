// Filters, the list of rows, and one row with all answers side by side.

const PAGE = 50;
const wide = matchMedia("(min-width: 940px)");

let shownRows = [];

function startRows() {
  const view = byId("row-view");
  if (rows.length === 0) {
    view.append(el("p", { class: "note" }, "This page holds no rows."));
    return;
  }
  view.append(
    el("div", { class: "filters", role: "search", "aria-label": "Rows" },
      el("div", {},
        el("input", {
          type: "search", id: "search", placeholder: "Search inputs, references and answers",
          "aria-label": "Search rows", autocomplete: "off", spellcheck: "false",
          oninput: (event) => change({ q: event.target.value }),
        }),
        el("div", { id: "selects", class: "filters-selects" })),
      el("div", { id: "chips", role: "group", "aria-label": "Show only" })),
    el("div", { class: "panes", id: "panes" },
      el("div", { class: "list-pane" }, el("div", { class: "list-head", id: "list-head" }),
        el("ol", { class: "row-list", id: "row-list", "aria-label": "Rows" })),
      el("section", { class: "detail", id: "detail", "aria-label": "Row", tabindex: -1 })));
  wide.addEventListener("change", () => drawRows());
  drawRows();
  revealRow();
}

// A link to a row opens the page of the list that holds it.
function revealRow() {
  const at = state.row ? shownRows.findIndex((row) => row.id === state.row) : -1;
  if (at < 0) return;
  state.page = String(Math.floor(at / PAGE) + 1);
  drawList();
  const item = document.querySelector('#row-list [aria-current="true"]');
  if (item && wide.matches) byId("row-list").scrollTop = item.offsetTop - byId("row-list").offsetTop;
}

function change(values) {
  Object.assign(state, values);
  const sameList = ["page", "marks", "against"].some((name) => name in values);
  if (!sameList) {
    state.page = "1";
    // A row that the new list does not hold gives way to the first that it does.
    if (!listed().some((row) => row.id === state.row)) state.row = "";
  }
  writeAddress();
  drawRows();
}

function drawRows() {
  if (rows.length === 0) return;
  shownRows = listed();
  const search = byId("search");
  if (search.value !== state.q) search.value = state.q;
  drawSelects();
  drawChips();
  drawList();
  drawDetail();
}

function drawSelects() {
  const metric = currentMetric();
  const groups = [...new Set(rows.map((r) => r.group).filter(Boolean))].sort();
  const models = data.models.map((m) => [m.id, m.id]);
  const sorts = [["apart", "largest disagreement"], ["row", "row order"]];
  if (metric) sorts.push(["low", `lowest ${metric.name}`], ["high", `highest ${metric.name}`]);
  const byScore = state.sort === "low" || state.sort === "high";
  const fields = [
    rowMetrics.length > 1 && choice("Score", rowMetrics.map((m) => [m.name, m.name]), metric.name, (v) => change({ metric: v })),
    choice("Sort", sorts, state.sort, (v) => change({ sort: v })),
    byScore && models.length > 1 && choice("of", [["", "all models"], ...models], state.of, (v) => change({ of: v })),
    metric && metric.better && models.length > 1
      && choice("Best here", [["", "any model"], ...models], state.best, (v) => change({ best: v })),
    groups.length > 0 && choice("Group", [["", "all groups"], ...groups.map((g) => [g, g])], state.group, (v) => change({ group: v })),
  ];
  keepFocus(byId("selects"), fields.filter(Boolean));
}

// Redrawing a control must not take the focus from it.
function keepFocus(box, children) {
  const all = [...box.querySelectorAll("select, button")];
  const at = all.indexOf(document.activeElement);
  box.replaceChildren(...children);
  if (at >= 0) {
    const now = [...box.querySelectorAll("select, button")];
    (now[at] || now[now.length - 1])?.focus();
  }
}

function drawChips() {
  const metric = currentMetric();
  const numbers = counts(metric);
  const wanted = chosenSet("show");
  const chips = KINDS.filter(([kind]) => numbers.get(kind) > 0 || wanted.has(kind)).map(([kind, label]) => {
    const title = kind !== "apart" ? null : metric
      ? `${metric.name} of two models differs by ${formatScore(threshold(metric), metric)} or more`
      : "answers share less than half of their words";
    const toggle = () => {
      if (wanted.has(kind)) wanted.delete(kind);
      else wanted.add(kind);
      storeSet("show", wanted);
      change({});
    };
    return el("button", {
      type: "button", class: "chip", "data-kind": kind, title, "aria-pressed": String(wanted.has(kind)), onclick: toggle,
    }, label, el("b", {}, numbers.get(kind).toLocaleString("en")));
  });
  const narrowed = state.q || state.show || state.group || state.best;
  if (narrowed) {
    chips.push(el("button", {
      type: "button", class: "quiet", id: "clear",
      onclick: () => { change({ q: "", show: "", group: "", best: "" }); byId("search").focus(); },
    }, "Clear filters"));
  }
  keepFocus(byId("chips"), chips);
}

function pages() {
  return Math.max(1, Math.ceil(shownRows.length / PAGE));
}

function pageNow() {
  return Math.min(pages(), Math.max(1, Number.parseInt(state.page, 10) || 1));
}

function drawList() {
  const page = pageNow();
  const part = shownRows.slice((page - 1) * PAGE, page * PAGE);
  const many = shownRows.length === rows.length
    ? plural(rows.length, "row")
    : `${shownRows.length.toLocaleString("en")} of ${plural(rows.length, "row")}`;
  const step = (by) => el("button", {
    type: "button", "aria-label": by < 0 ? "Previous page" : "Next page",
    disabled: page + by < 1 || page + by > pages(), onclick: () => turnPage(by),
  }, by < 0 ? "‹" : "›");
  keepFocus(byId("list-head"), [el("span", { id: "row-count" }, many),
    pages() > 1 ? el("span", {}, step(-1), ` ${page} / ${pages()} `, step(1)) : ""]);
  if (announced !== many) announce(many);
  announced = many;
  const selected = selectedRow();
  byId("row-list").replaceChildren(...(part.length ? part.map((row) => listItem(row, row === selected))
    : [el("li", { class: "nothing" }, "No row fits. Fewer filters or other words may help.")]));
}

let announced = null;

function turnPage(by) {
  const page = pageNow() + by;
  if (page < 1 || page > pages()) return;
  change({ page: String(page) });
  byId("row-list").scrollTop = 0;
}

function listItem(row, isSelected) {
  const metric = currentMetric();
  const distance = metric ? spread(row, metric.name) : null;
  const tags = KINDS.filter(([kind]) => row.kinds.has(kind)).map(([, label]) => el("span", { class: "tag alarm" }, label.toLowerCase()));
  const first = (row.inputs.find(([name]) => name !== "id") || ["", ""])[1];
  const button = el("button", {
    type: "button", "aria-current": isSelected ? "true" : null, onclick: () => openRow(row, true),
  },
  el("span", { class: "row-top" },
    el("span", { class: "row-id" }, el("bdi", {}, row.id)),
    el("span", { class: "row-spread" },
      distance === null ? null : el("span", { title: `${metric.name}: largest difference between models` }, "Δ ", formatScore(distance, metric)),
      strip(row, metric))),
  el("span", { class: "snippet", dir: "auto", lang: scriptOf(first) }, first.slice(0, 200)),
  el("span", { class: "row-tags" }, tags));
  return el("li", { "data-row": row.id }, button);
}

// One small column a model: height is the score, an open box a failure.
function strip(row, metric) {
  const models = data.models.map((m) => m.id);
  if (models.length > 12) return null;
  const top = (metric && metric.scale) || Math.max(1e-9, ...rowScores(row, metric ? metric.name : ""));
  const picture = svg("svg", { class: "strip", width: models.length * 7, height: 16, "aria-hidden": "true", focusable: "false" });
  models.forEach((model, index) => {
    const said = row.answers.filter((a) => a.model === model);
    const value = metric ? rowScore(row, model, metric.name) : null;
    const title = svg("title", {}, `${model}: ${value === null ? (said.some((a) => a.error) ? "failed" : "no score") : formatScore(value, metric)}`);
    const x = index * 7 + 1;
    if (said.length && said.every((a) => a.error)) picture.append(svg("rect", { class: "bad", x: x + 0.5, y: 10, width: 4, height: 5 }, title));
    else if (value === null) picture.append(svg("rect", { class: "none", x, y: 14, width: 5, height: 2 }, title));
    else {
      const height = Math.max(1.5, 16 * Math.min(1, Math.max(0, value / top)));
      picture.append(svg("rect", { x, y: 16 - height, width: 5, height }, title));
    }
  });
  return picture;
}

function selectedRow() {
  const chosen = rows.find((row) => row.id === state.row);
  if (chosen) return chosen;
  return wide.matches ? shownRows[(pageNow() - 1) * PAGE] || null : null;
}

function openRow(row, byHand) {
  const isNew = state.row === "" && !wide.matches;
  state.row = row.id;
  writeAddress(isNew);
  const at = shownRows.indexOf(row);
  if (at >= 0) state.page = String(Math.floor(at / PAGE) + 1);
  const hadFocus = byId("row-list").contains(document.activeElement);
  drawList();
  drawDetail();
  const button = document.querySelector('#row-list [aria-current="true"]');
  if (wide.matches && button) {
    button.scrollIntoView({ block: "nearest" });
    if (hadFocus || byHand) button.focus({ preventScroll: true });
  }
  if (!wide.matches) {
    byId("detail").focus({ preventScroll: true });
    byId("panes").scrollIntoView();
  }
}

function closeRow() {
  const last = state.row;
  state.row = "";
  writeAddress();
  drawRows();
  const item = [...document.querySelectorAll("#row-list li")].find((li) => li.dataset.row === last);
  if (item) {
    item.firstChild.focus({ preventScroll: true });
    item.scrollIntoView({ block: "center" });
  }
}

function stepRow(by) {
  const selected = selectedRow();
  const at = shownRows.indexOf(selected);
  const next = shownRows[at < 0 ? 0 : at + by];
  if (next) openRow(next, false);
}

function drawDetail() {
  const row = selectedRow();
  byId("panes").classList.toggle("has-row", row !== null && state.row !== "");
  byId("detail").replaceChildren(...(row ? detailOf(row) : [el("p", { class: "nothing" }, "Choose a row.")]));
}

function detailOf(row) {
  const metric = currentMetric();
  const base = baseline(row);
  const at = shownRows.indexOf(row);
  const step = (by, label, words) => el("button", {
    type: "button", "aria-label": words, disabled: !shownRows[at + by] || at < 0, onclick: () => stepRow(by),
  }, label);
  return [
    el("div", { class: "detail-head" },
      el("button", { type: "button", class: "back", onclick: closeRow }, "‹ All rows"),
      el("h3", {}, el("bdi", {}, row.id)),
      row.group ? el("span", { class: "tag" }, el("bdi", {}, row.group)) : null,
      at < 0 ? el("small", {}, "not in the filtered list") : el("small", {}, `${(at + 1).toLocaleString("en")} of ${shownRows.length.toLocaleString("en")}`),
      el("span", { class: "steps" }, step(-1, "‹", "Previous row"), step(1, "›", "Next row"))),
    row.inputs.length ? el("div", { class: "box sunk inputs" }, row.inputs.map(([name, text, more]) => labelled(name, text, more))) : null,
    row.refs.length ? el("div", { class: "box inputs" }, row.refs.map(([text, more], i) =>
      labelled(row.refs.length > 1 ? `reference ${i + 1}` : "reference", text, more))) : null,
    marksBar(row, base),
    el("div", { class: "answers" }, modelsOf(row).map((model) => answerCard(row, model, base, metric))),
    row.moreAnswers ? el("p", { class: "more" }, `${plural(row.moreAnswers, "more distinct answer")}, see predictions.parquet`) : null,
  ].filter(Boolean);
}

function labelled(name, text, more) {
  return el("div", {}, el("p", { class: "label-line" }, el("bdi", {}, name)),
    text === "" ? el("p", { class: "shares" }, "(empty)") : folding(text, textBlock(text), more));
}

function marksBar(row, base) {
  const bar = el("div", { class: "marks-bar", id: "marks-bar" });
  const all = comparisons(row);
  if (!base) return bar;
  bar.append(choice("Compare with", all, base.key, (v) => { change({ against: v }); focusIn("marks-bar", 0); }),
    choice("Mark", MARKS, state.marks, (v) => { change({ marks: v }); focusIn("marks-bar", 1); }),
    el("span", { class: "legend" }, el("ins", {}, "added"), el("del", {}, "missing"), el("mark", {}, "shared")));
  return bar;
}

function focusIn(id, index) {
  byId(id).querySelectorAll("select")[index]?.focus();
}

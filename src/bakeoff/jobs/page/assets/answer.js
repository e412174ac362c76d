// The answers of all models to one row.

const MARKS = [["auto", "automatic"], ["changes", "added and missing"], ["shared", "shared words"], ["off", "off"]];

// What answers are compared with: a reference, another model, or nothing.
function comparisons(row) {
  const references = row.refs.map((_, i) => [`ref:${i}`, row.refs.length > 1 ? `reference ${i + 1}` : "the reference"]);
  const models = modelsOf(row).map((id) => [`model:${id}`, id]);
  return [...references, ...models];
}

function modelsOf(row) {
  const answered = new Set(row.answers.map((a) => a.model));
  const known = data.models.map((m) => m.id).filter((id) => answered.has(id));
  return [...known, ...[...answered].filter((id) => !known.includes(id))];
}

function baseline(row) {
  const all = comparisons(row);
  const chosen = all.find(([key]) => key === state.against) || all[0];
  if (!chosen) return null;
  const [key, label] = chosen;
  if (key.startsWith("ref:")) return { key, label, text: row.refs[Number(key.slice(4))][0] };
  const said = row.answers.find((a) => `model:${a.model}` === key && a.text);
  return { key, label, text: said ? said.text[0] : "" };
}

function markedText(text, base) {
  if (!base || !base.text || !text || state.marks === "off") return { block: textBlock(text), note: null };
  const shares = overlap(base.text, text);
  const close = shares.shared * 2 >= shares.total && base.text.length < 3 * text.length;
  const mode = state.marks === "auto" ? (close ? "changes" : "shared") : state.marks;
  const same = text.trim() === base.text.trim();
  const runs = mode === "changes" ? difference(base.text, text) : sharedRuns(base.text, text);
  const note = same
    ? `equal to ${base.label}`
    : `${shares.shared} of ${plural(shares.total, shares.unit)} also in ${base.label}`;
  return { block: textBlock(text, same ? [text] : marked(runs)), note };
}

function answerCard(row, model, base, metric) {
  const said = row.answers.filter((a) => a.model === model);
  const repeats = said.reduce((sum, a) => sum + (a.count || 1), 0);
  const failed = said.every((a) => a.error);
  const best = bestModels(row, metric).includes(model);
  const value = metric ? rowScore(row, model, metric.name) : null;
  return el("article", { class: `box answer${failed ? " failed" : ""}${best ? " best" : ""}`, "aria-label": model },
    el("div", { class: "answer-head" },
      el("h4", {}, el("bdi", {}, model)),
      metric && !failed ? el("span", { class: "score" },
        best ? el("span", { class: "crown", title: "best score of this row" }, "★ ", el("span", { class: "unseen" }, "best ")) : null,
        el("small", {}, el("bdi", {}, metric.name), " "), formatScore(value, metric)) : null),
    said.map((answer) => oneAnswer(answer, base, repeats, said.length, metric)));
}

function oneAnswer(answer, base, repeats, distinct, metric) {
  const isBase = base && base.key === `model:${answer.model}`;
  const body = el("div", { class: "said" });
  if (repeats > 1) {
    body.append(el("p", { class: "shares" }, distinct === 1
      ? `all ${repeats} repeats gave this answer`
      : `${answer.count || 1} of ${repeats} repeats`));
  }
  if (answer.error) {
    body.append(el("p", {}, el("span", { class: "tag alarm" }, "failed")), textBlock(answer.error[0]), moreNote(answer.error[1]) || "");
    return body;
  }
  const [text, more] = answer.text;
  if (text.trim() === "") body.append(el("p", {}, el("span", { class: "tag alarm" }, "empty answer")));
  else {
    const { block, note } = isBase ? { block: textBlock(text), note: "the others are compared with this" } : markedText(text, base);
    body.append(folding(text, block, more));
    if (note) body.append(el("p", { class: "shares" }, note));
  }
  body.append(answerFoot(answer, metric));
  return body;
}

function answerFoot(answer, metric) {
  const scores = (answer.scores || []).filter(([name]) => !metric || name !== metric.name);
  const tags = [
    answer.cut ? `input cut by ${plural(answer.cut, "token")}` : null,
    answer.finish === "length" ? "ran to limit" : null,
    answer.looped ? "looped" : null,
    answer.empty && answer.text[0].trim() !== "" ? "empty" : null,
  ].filter(Boolean);
  const facts = [
    answer.tokens ? plural(answer.tokens, "token") : null,
    answer.seconds ? `${formatSeconds(answer.seconds)} in its batch` : null,
  ].filter(Boolean);
  return el("div", { class: "answer-foot" },
    tags.length || facts.length ? el("p", { class: "meta" },
      tags.map((t) => el("span", { class: "tag alarm" }, t)), facts.length ? el("span", {}, facts.join(" · ")) : null) : null,
    scores.length ? scoreList(scores) : null,
    (answer.extra || []).length ? el("details", { class: "extra" }, el("summary", {}, "more"),
      el("dl", { class: "scores" }, answer.extra.map(([name, value]) =>
        el("div", {}, el("dt", {}, el("bdi", {}, name)), el("dd", {}, el("bdi", {}, value)))))) : null);
}

function scoreList(scores) {
  return el("dl", { class: "scores" }, scores.map(([name, value]) => el("div", {},
    el("dt", {}, el("bdi", {}, name)),
    el("dd", {}, formatScore(value, data.metrics.find((m) => m.name === name))))));
}

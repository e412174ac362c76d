// Which rows are listed, and in what order.

const KINDS = [
  ["apart", "Disagree"], ["failed", "Failed"], ["cut", "Input cut"], ["limit", "Ran to limit"],
  ["looped", "Looped"], ["empty", "Empty"], ["repeats", "Repeats differ"],
];

function prepare(row) {
  row.answers = row.answers || [];
  row.inputs = row.inputs || [];
  row.refs = row.refs || [];
  row.order = row.order || 0;
  row.kinds = new Set();
  const models = new Set();
  for (const answer of row.answers) {
    if (answer.error) row.kinds.add("failed");
    if (answer.cut) row.kinds.add("cut");
    if (answer.finish === "length") row.kinds.add("limit");
    if (answer.looped) row.kinds.add("looped");
    if (answer.empty) row.kinds.add("empty");
    if (models.has(answer.model)) row.kinds.add("repeats");
    models.add(answer.model);
    answer.byMetric = new Map(answer.scores || []);
  }
  return row;
}

function haystack(row) {
  if (row.hay === undefined) {
    row.hay = [row.id, row.group || "", ...row.inputs.map((i) => i[1]), ...row.refs.map((r) => r[0]),
      ...row.answers.map((a) => (a.text || a.error)[0])].join("\n").normalize("NFKC").toLowerCase();
  }
  return row.hay;
}

// A model's score of a row: the mean over its repeats.
function rowScore(row, model, metric) {
  let sum = 0;
  let count = 0;
  for (const answer of row.answers) {
    const value = answer.byMetric.get(metric);
    if (answer.model !== model || value === null || value === undefined) continue;
    sum += value * (answer.count || 1);
    count += answer.count || 1;
  }
  return count ? sum / count : null;
}

function rowScores(row, metric) {
  return data.models.map((m) => rowScore(row, m.id, metric)).filter((v) => v !== null);
}

function spread(row, metric) {
  const scores = rowScores(row, metric);
  return scores.length > 1 ? Math.max(...scores) - Math.min(...scores) : null;
}

// A tenth of the metric's scale; of the largest spread where the scale is open.
function threshold(metric) {
  if (metric && metric.scale) return 0.1 * metric.scale;
  const largest = Math.max(0, ...rows.map((row) => (metric && spread(row, metric.name)) || 0));
  return largest ? 0.1 * largest : 0.5;
}

function isApart(row, metric, least) {
  const distance = metric ? spread(row, metric.name) : null;
  return distance === null ? (row.apart || 0) >= 0.5 && row.answers.length > 1 : distance >= least;
}

function metricsOfRows() {
  const seen = new Set(rows.flatMap((row) => row.answers.flatMap((a) => [...a.byMetric.keys()])));
  return data.metrics.filter((m) => seen.has(m.name));
}

function currentMetric() {
  const found = (name) => rowMetrics.find((m) => m.name === name);
  return found(state.metric) || found(data.metric) || rowMetrics.find((m) => m.better) || rowMetrics[0] || null;
}

function bestModels(row, metric) {
  if (!metric || !metric.better) return [];
  const scored = data.models.map((m) => [m.id, rowScore(row, m.id, metric.name)]).filter(([, v]) => v !== null);
  if (scored.length < 2) return [];
  const values = scored.map(([, v]) => v);
  const top = metric.better === "higher" ? Math.max(...values) : Math.min(...values);
  const best = scored.filter(([, v]) => v === top).map(([id]) => id);
  return best.length === scored.length ? [] : best;
}

function counts(metric) {
  const least = threshold(metric);
  const numbers = new Map(KINDS.map(([kind]) => [kind, 0]));
  for (const row of rows) {
    for (const kind of row.kinds) numbers.set(kind, numbers.get(kind) + 1);
    if (isApart(row, metric, least)) numbers.set("apart", numbers.get("apart") + 1);
  }
  return numbers;
}

function listed() {
  const metric = currentMetric();
  const least = threshold(metric);
  const wanted = chosenSet("show");
  const words = state.q.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) =>
    (wanted.size === 0 || [...wanted].some((k) => row.kinds.has(k) || (k === "apart" && isApart(row, metric, least))))
    && (!state.group || row.group === state.group)
    && (!state.best || (bestModels(row, metric).length === 1 && bestModels(row, metric)[0] === state.best))
    && words.every((word) => haystack(row).includes(word)));
  return found.sort(order(metric));
}

function order(metric) {
  const inData = (a, b) => a.order - b.order;
  if (state.sort === "row" || !metric) {
    return state.sort === "row" ? inData : (a, b) => (b.apart || 0) - (a.apart || 0) || inData(a, b);
  }
  const keys = new Map();
  const key = (row) => {
    if (!keys.has(row)) keys.set(row, sortValue(row, metric));
    return keys.get(row);
  };
  const sign = state.sort === "low" ? 1 : -1;
  return (a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === null || right === null) return (left === null) - (right === null) || inData(a, b);
    return sign * (left - right) || (state.sort === "apart" ? (b.apart || 0) - (a.apart || 0) : 0) || inData(a, b);
  };
}

function sortValue(row, metric) {
  if (state.sort === "apart") return spread(row, metric.name);
  if (state.of) return rowScore(row, state.of, metric.name);
  const scores = rowScores(row, metric.name);
  return scores.length ? scores.reduce((a, b) => a + b, 0) / scores.length : null;
}

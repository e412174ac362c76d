// Latency against quality, for models whose latency was measured under the same conditions.

const PAD = { top: 26, right: 24, bottom: 44, left: 58 };

function scoreOf(model, metric) {
  return model.scores.find(([name, value]) => name === metric && value !== null) || null;
}

// The largest group of models that were measured alike, and the others.
function comparable(metric) {
  const groups = new Map();
  for (const model of data.models) {
    if (!model.latency || !scoreOf(model, metric)) continue;
    const group = groups.get(model.latency.conditions) || [];
    group.push(model);
    groups.set(model.latency.conditions, group);
  }
  const ordered = [...groups.entries()].sort((a, b) => b[1].length - a[1].length);
  const [conditions, models] = ordered[0] || ["", []];
  const others = data.models.filter((model) => !models.includes(model));
  return { conditions, models, others };
}

function directedMetrics() {
  return data.metrics.filter((m) => m.better && comparable(m.name).models.length > 1);
}

function startScatter() {
  const metrics = directedMetrics();
  byId("tradeoff").hidden = metrics.length === 0;
  document.querySelector('nav a[href="#tradeoff"]').hidden = metrics.length === 0;
  if (metrics.length === 0) return;
  new ResizeObserver(() => drawScatter()).observe(byId("scatter"));
}

let drawnScatter = "";

function drawScatter() {
  const metrics = directedMetrics();
  if (metrics.length === 0) return;
  const metric = metrics.find((m) => m.name === state.axis)
    || metrics.find((m) => m.name === data.metric) || metrics[0];
  const width = byId("scatter").clientWidth - 26;
  const drawn = `${metric.name}\u0000${width}`;
  if (drawn === drawnScatter || width < 50) return;
  drawnScatter = drawn;
  byId("scatter-tools").replaceChildren(choice("Quality", metrics.map((m) => [m.name, m.name]),
    metric.name, (value) => { state.axis = value; writeAddress(); drawScatter(); }));
  const { conditions, models, others } = comparable(metric.name);
  byId("scatter").replaceChildren(
    scatterChart(models, metric, width),
    el("p", {}, `Circle: median (p50) and score; the line to the right reaches to p95, the upright `
      + `one is the 95 % interval. Measured with ${conditions}.`
      + (others.length ? ` Not drawn, since measured otherwise or not at all: ${others.map((m) => m.id).join(", ")}.` : "")),
    scatterTable(models, metric));
}

function niceStep(span, count) {
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
}

function linearTicks(low, high, count) {
  const step = niceStep(high - low, count);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) ticks.push(tick);
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    const wide = high / low > 1000;
    for (const factor of wide ? [1] : [1, 3]) ticks.push(factor * 10 ** power);
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

function axes(models, metric, width, height) {
  const times = models.flatMap((m) => [m.latency.p50, m.latency.p95]).filter((v) => v > 0);
  const floor = Math.min(...times, 1);
  const log = Math.max(...times) / floor > 20;
  const low = log ? floor / 1.5 : 0;
  const high = Math.max(...times) * (log ? 1.5 : 1.12);
  const unit = log ? Math.log : (v) => v;
  const x = (v) => PAD.left + (width - PAD.left - PAD.right)
    * ((unit(Math.max(v, log ? low : 0)) - unit(low)) / (unit(high) - unit(low)));
  const ends = models.flatMap((m) => scoreOf(m, metric.name).slice(1)).filter((v) => v !== null);
  const spread = Math.max(...ends) - Math.min(...ends) || Math.abs(ends[0]) || 1;
  const bottom = Math.min(...ends) - 0.08 * spread;
  const top = Math.max(...ends) + 0.1 * spread;
  const y = (v) => height - PAD.bottom - (height - PAD.top - PAD.bottom) * ((v - bottom) / (top - bottom));
  const count = width < 500 ? 4 : 7;
  return {
    x, y, xTicks: log ? logTicks(low, high) : linearTicks(low, high, count),
    yTicks: linearTicks(bottom, top, 5), log,
  };
}

function scatterChart(models, metric, width) {
  const height = Math.round(Math.max(260, Math.min(400, width * 0.5)));
  const scale = axes(models, metric, width, height);
  const base = height - PAD.bottom;
  const better = metric.better === "higher";
  const chart = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, height, role: "img",
    "aria-label": `Latency against ${metric.name} of ${models.length} models; the table below holds the same values`,
  });
  for (const tick of scale.xTicks) {
    chart.append(
      svg("line", { class: "grid", x1: scale.x(tick), x2: scale.x(tick), y1: PAD.top, y2: base }),
      svg("text", { x: scale.x(tick), y: base + 18, "text-anchor": "middle" }, formatSeconds(tick)));
  }
  for (const tick of scale.yTicks) {
    chart.append(
      svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: scale.y(tick), y2: scale.y(tick) }),
      svg("text", { x: PAD.left - 8, y: scale.y(tick) + 4, "text-anchor": "end" },
        significant(Number(tick.toPrecision(6)))));
  }
  chart.append(
    svg("text", { x: (width + PAD.left) / 2, y: height - 6, "text-anchor": "middle" },
      `seconds a row${scale.log ? ", log scale" : ""}: faster to the left`),
    svg("text", { x: PAD.left, y: 14 }, `${metric.name}: ${better ? "higher" : "lower"} is better`),
    svg("text", { class: "hint", x: PAD.left + 6, y: better ? PAD.top + 14 : base - 8 },
      `${better ? "↖" : "↙"} better and faster`));
  chart.append(...scatterPoints(models, metric, scale, width));
  return chart;
}

function scatterPoints(models, metric, scale, width) {
  const taken = models.map((m) => {
    const [cx, cy] = [scale.x(m.latency.p50), scale.y(scoreOf(m, metric.name)[1])];
    return [cx - 7, cy - 7, cx + 7, cy + 7];
  });
  taken.push([PAD.left, metric.better === "higher" ? PAD.top : 1e4, PAD.left + 130, PAD.top + 20]);
  return models.flatMap((model) => {
    const [, value, low, high] = scoreOf(model, metric.name);
    const [cx, cy] = [scale.x(model.latency.p50), scale.y(value)];
    const group = svg("g", {}, svg("title", {}, `${model.id}: ${formatScore(value, metric)}, p50 ${formatSeconds(model.latency.p50)}`));
    group.append(svg("line", { class: "whisker", x1: cx, x2: scale.x(model.latency.p95), y1: cy, y2: cy }));
    if (low !== null && high !== null) {
      group.append(svg("line", { class: "whisker", x1: cx, x2: cx, y1: scale.y(low), y2: scale.y(high) }));
    }
    const [lx, ly] = labelPlace(model.id, cx, cy, taken, width);
    group.append(svg("circle", { class: "point", cx, cy, r: 6.5 }),
      svg("text", { class: "name", x: lx, y: ly }, model.id));
    return [group];
  });
}

// The first place around the point where the label meets no other label or point.
function labelPlace(text, cx, cy, taken, width) {
  const size = Math.min(7.4 * text.length + 4, width * 0.8);
  const places = [
    [cx + 11, cy - 6], [cx - 11 - size, cy - 6], [cx + 11, cy + 17], [cx - 11 - size, cy + 17],
    [cx - size / 2, cy - 16], [cx - size / 2, cy + 26], [cx + 11, cy - 24], [cx + 11, cy + 34],
  ];
  const box = ([x, y]) => [x, y - 12, x + size, y + 4];
  const free = places.find((place) => {
    const [l, t, r, b] = box(place);
    return l >= PAD.left && r <= width - 4 && t >= 16
      && taken.every(([tl, tt, tr, tb]) => r < tl || l > tr || b < tt || t > tb);
  });
  const place = free || [Math.max(PAD.left, Math.min(cx + 11, width - size)), cy - 8];
  taken.push(box(place));
  return place;
}

function scatterTable(models, metric) {
  const head = ["model", metric.name, "95 % interval", "p50", "p95", "first token", "rows timed"];
  return el("details", { class: "how" }, el("summary", {}, "The same as a table"),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Latency and quality" },
      el("table", { class: "plain" },
        el("thead", {}, el("tr", {}, head.map((h) => el("th", { scope: "col" }, h)))),
        el("tbody", {}, models.map((m) => {
          const [, value, low, high] = scoreOf(m, metric.name);
          const cells = [formatScore(value, metric),
            low === null || high === null ? "–" : `${formatScore(low, metric)} to ${formatScore(high, metric)}`,
            formatSeconds(m.latency.p50), formatSeconds(m.latency.p95), formatSeconds(m.latency.first),
            String(m.latency.rows)];
          return el("tr", {}, el("th", { scope: "row" }, m.id), cells.map((c) => el("td", { class: "num" }, c)));
        })))));
}

// Differences between two texts: by word, and by character where words are not spaced.

const UNSPACED =
  "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}" +
  "\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}]\\p{M}*";
const PIECE = new RegExp(
  `${UNSPACED}|(?:(?!${UNSPACED})[\\p{L}\\p{N}\\p{M}_])+(?:['’\\u200c\\u200d](?:(?!${UNSPACED})[\\p{L}\\p{M}])+)*` +
  "|\\s+|\\p{Extended_Pictographic}(?:\\u200d\\p{Extended_Pictographic}|\\ufe0f|\\p{Emoji_Modifier})*|[\\s\\S]", "gu");
const SPACE = /^\s+$/u;
const WORD = /[\p{L}\p{N}]/u;
const ONE_UNSPACED = new RegExp(`^${UNSPACED}$`, "u");
const LONGEST = 1500;

function pieces(text) {
  return text.match(PIECE) || [];
}

function normal(piece) {
  return SPACE.test(piece) ? " " : piece.normalize("NFC");
}

// Longest common subsequence: for each piece of b, whether it is shared, and what a has between.
function alignment(a, b) {
  const left = a.map(normal);
  const right = b.map(normal);
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let endA = left.length;
  let endB = right.length;
  while (endA > start && endB > start && left[endA - 1] === right[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const steps = [];
  for (let i = 0; i < start; i += 1) steps.push(["same", b[i]]);
  middle(left, right, a, b, start, endA, endB, steps);
  for (let j = endB; j < b.length; j += 1) steps.push(["same", b[j]]);
  return steps;
}

function middle(left, right, a, b, start, endA, endB, steps) {
  const rows = endA - start;
  const width = endB - start + 1;
  const best = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = width - 2; j >= 0; j -= 1) {
      const at = i * width + j;
      best[at] = left[start + i] === right[start + j]
        ? best[at + width + 1] + 1
        : Math.max(best[at + width], best[at + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < rows || j < width - 1) {
    const at = i * width + j;
    if (i < rows && j < width - 1 && left[start + i] === right[start + j]) {
      steps.push(["same", b[start + j]]);
      i += 1;
      j += 1;
    } else if (i < rows && (j === width - 1 || best[at + width] >= best[at + 1])) {
      steps.push(["drop", a[start + i]]);
      i += 1;
    } else {
      steps.push(["add", b[start + j]]);
      j += 1;
    }
  }
}

function grouped(steps) {
  const runs = [];
  for (const [kind, piece] of steps) {
    const last = runs[runs.length - 1];
    if (last && last[0] === kind) last[1] += piece;
    else runs.push([kind, piece]);
  }
  return runs;
}

// A lone space or comma between two changes reads better as part of them.
function joined(steps) {
  const runs = grouped(steps);
  const kept = [];
  let drop = "";
  let add = "";
  const flush = () => {
    if (drop) kept.push(["drop", drop]);
    if (add) kept.push(["add", add]);
    drop = "";
    add = "";
  };
  runs.forEach(([kind, text], index) => {
    const bridges = kind === "same" && !WORD.test(text) && (drop || add) && index + 1 < runs.length;
    if (kind === "drop" || bridges) drop += text;
    if (kind === "add" || bridges) add += text;
    if (kind === "same" && !bridges) {
      flush();
      kept.push(["same", text]);
    }
  });
  flush();
  return kept;
}

function difference(from, to) {
  const a = pieces(from);
  const b = pieces(to);
  const rest = b.slice(LONGEST).join("");
  const runs = joined(alignment(a.slice(0, LONGEST), b.slice(0, LONGEST)));
  if (rest) runs.push(["rest", rest]);
  return runs;
}

// Words of `to` that `from` holds too, wherever they stand.
function sharedRuns(from, to) {
  const known = new Set(pieces(from).filter((p) => WORD.test(p)).map((p) => normal(p).toLowerCase()));
  const runs = [];
  for (const piece of pieces(to)) {
    const kind = WORD.test(piece) && known.has(normal(piece).toLowerCase()) ? "shared" : "same";
    const last = runs[runs.length - 1];
    if (last && last[0] === kind) last[1] += piece;
    else runs.push([kind, piece]);
  }
  return runs;
}

function overlap(from, to) {
  const known = new Set(pieces(from).filter((p) => WORD.test(p)).map((p) => normal(p).toLowerCase()));
  const words = pieces(to).filter((p) => WORD.test(p));
  const single = words.filter((p) => ONE_UNSPACED.test(p)).length;
  const shared = words.filter((p) => known.has(normal(p).toLowerCase())).length;
  return { shared, total: words.length, unit: single * 2 > words.length ? "character" : "word" };
}

const MARK_TAGS = { add: "ins", drop: "del", shared: "mark" };

function marked(runs) {
  return runs.map(([kind, text]) => (MARK_TAGS[kind] ? el(MARK_TAGS[kind], {}, text) : text));
}

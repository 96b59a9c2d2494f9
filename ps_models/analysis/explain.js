"use strict";
const { words, types, before, levels, predictions } = JSON.parse(document.getElementById("data").textContent);
const [text, panel, facts, tables] = ["text", "panel", "facts", "tables"].map((id) => document.getElementById(id));
const pointing = document.body.classList.contains("pointing");
const narrow = window.matchMedia("(max-width: 50rem)");
let chosen = -1;
let pinned = false;

const element = (name, content = "", kind = "") => {
  const node = document.createElement(name);
  if (Array.isArray(content)) node.append(...content);
  else node.textContent = content;
  if (kind) node.className = kind;
  return node;
};
const number = (value) => {
  if (value === 0) return "0";
  return value >= 0.0995 ? value.toFixed(2) : value >= 0.00095 ? value.toFixed(3) : value.toExponential(0);
};
const times = (factor) => (factor >= 9.95 ? Math.round(factor).toLocaleString("en") : factor >= 1 ? factor.toFixed(1) : number(factor));
const level = (value, bounds) => bounds.filter((bound) => value >= bound).length;
const is_unknown = ({ word }) => words[word] === "<unk>";
const kind_of = ({ gain, mixture }) => {
  if (!pointing) return ["", "rare1", "rare2", "rare3"][level(-Math.log(mixture.p), levels.nats)];
  const step = level(Math.abs(gain), levels.factors.map(Math.log));
  return step ? `${gain > 0 ? "help" : "harm"}${step}` : "";
};

const scale = document.getElementById("scale");
const chips = pointing
  ? [...levels.factors.map((factor, at) => [`÷ ${factor}`, `harm${at + 1}`]).reverse(), ["the same", ""],
     ...levels.factors.map((factor, at) => [`× ${factor}`, `help${at + 1}`])]
  : [["more", ""], ...levels.nats.map((nats, at) => [`at most ${number(Math.exp(-nats))}`, `rare${at + 1}`])];
for (const [name, kind] of chips) scale.append(" ", element("span", name, `chip ${kind}`));
if (pointing) scale.append(" (at least, in each step; green: the pointer helped, violet and dashed: it harmed)");

const spans = predictions.map((prediction, index) => {
  const word = words[prediction.word];
  const span = element("span", prediction.original ?? word);
  const kinds = is_unknown(prediction) ? ["unknown"] : [kind_of(prediction), word === "<eos>" ? "end" : ""];
  span.classList.add(...kinds.filter(Boolean));
  span.dataset.index = index;
  span.id = `word-${index}`;
  span.setAttribute("role", "option");
  text.append(span, word === "<eos>" ? element("br") : " ");
  return span;
});

const row = (rank, word, share, parts, is_true) => {
  const track = element("div", parts.map(([part, kind]) => {
    const bar = element("i", "", kind);
    bar.style.width = `${100 * part}%`;
    return bar;
  }), "track");
  const cells = [[rank, "rank"], [word, "word"], [number(share), "number"], [[track], "plot"]];
  return element("tr", cells.map(([content, kind]) => element("td", content, kind)), is_true ? "true" : "");
};
const table = (title, rows, note = "") => {
  const body = element("tbody", rows);
  return [element("h3", title), element("table", [body]), ...(note ? [element("small", note)] : [])];
};
// A row for each of the likeliest words, and for the true word wherever it is.
const ranked = (title, distribution, word, parts_of) => {
  const rows = distribution.top.map(([top_word, share], at) =>
    row(at + 1, words[top_word], share, parts_of(share, at), top_word === word));
  if (!distribution.top.some(([top_word]) => top_word === word)) {
    const rank = distribution.rank === null ? "–" : distribution.rank.toLocaleString("en");
    rows.push(row(rank, words[word], distribution.p, parts_of(distribution.p, -1), true));
  }
  return table(title, rows);
};

const facts_of = (prediction) => {
  const { mixture, vocabulary, gain, gate } = prediction;
  const word = words[prediction.word];
  const lines = [element("h2", prediction.original ?? word)];
  if (prediction.original !== undefined) lines.push(element("p", `The model reads ${word}.`));
  const rank = mixture.rank === null ? "impossible" : `rank ${mixture.rank.toLocaleString("en")} of ${types.toLocaleString("en")}`;
  lines.push(element("p", `Probability ${number(mixture.p)} (${(-Math.log(mixture.p)).toFixed(2)} nats), ${rank}.`, "probability"));
  if (!pointing) return lines;
  const factor = Math.exp(Math.abs(gain));
  const verdict = factor < levels.factors[0] ? "The pointer changed little" : gain > 0 ? "▲ The pointer helped" : "▼ The pointer harmed";
  const change = `${gain > 0 ? "×" : "÷"} ${times(factor)}, ${gain > 0 ? "+" : "−"}${Math.abs(gain).toFixed(2)} nats`;
  lines.push(element("p", [element("span", `${verdict}: ${change}`, `chip ${kind_of(prediction)}`),
    ` The vocabulary alone gives ${number(vocabulary.p)}.`], "gain"));
  lines.push(element("p", [`${number(mixture.p)} = `, element("span", `${number(gate)} × ${number(vocabulary.p)}`, "key"), " gate × vocabulary + ",
    element("span", number(prediction.fromPointer), "key from-pointer"), " pointer"], "sum"));
  return lines;
};

const tables_of = (prediction, index) => {
  const { word, mixture, vocabulary, pointer, gate, attention, copied, fromPointer } = prediction;
  if (!pointing) return ranked("Most likely words", mixture, word, (share) => [[share, ""]]);
  const halves = (share, at) => {
    const part = at < 0 ? fromPointer : copied[at];
    return [[Math.max(0, share - part), ""], [part, "from-pointer"]];
  };
  const attended = attention.slice(0, 8).map(([back, share]) => {
    const window_word = index >= back ? predictions[index - back] : before[before.length + index - back];
    const name = window_word.original ?? words[window_word.word];
    return row(`${back} back`, name, share, [[share, "from-pointer"]], window_word.word === word);
  });
  return [
    element("small", "All bars have one scale, from 0 to 1."),
    ...ranked("Mixture", mixture, word, halves),
    ...ranked("Vocabulary", vocabulary, word, (share) => [[share, ""]]),
    ...ranked("Pointer", pointer, word, (share) => [[share, "from-pointer"]]),
    ...table("Attention and gate", [row("", "gate", gate, [[gate, ""]], false), ...attended],
      attention.length > 8 ? `${attention.length - 8} more places have at least 0.002 each.` : ""),
  ];
};

const choose = (index) => {
  if (index < 0 || index >= predictions.length) return;
  if (chosen >= 0) {
    const { window: size, attention } = predictions[chosen];
    spans[chosen].classList.remove("chosen");
    spans[chosen].removeAttribute("aria-selected");
    for (const span of spans.slice(Math.max(0, chosen - size), chosen)) span.classList.remove("window");
    for (const [back] of attention) if (chosen >= back) spans[chosen - back].style.boxShadow = "";
  }
  chosen = index;
  const prediction = predictions[index];
  spans[index].classList.add("chosen");
  spans[index].setAttribute("aria-selected", "true");
  text.setAttribute("aria-activedescendant", spans[index].id);
  for (const span of spans.slice(Math.max(0, index - prediction.window), index)) span.classList.add("window");
  for (const [back, share] of prediction.attention) {
    if (index >= back) spans[index - back].style.boxShadow = `0 ${(1 + (8 * share) / (1 - prediction.gate)).toFixed(1)}px 0 var(--pointer)`;
  }
  facts.replaceChildren(...facts_of(prediction));
  tables.replaceChildren(...tables_of(prediction, index));
  panel.scrollTop = 0;
};
const show = (index) => {
  document.body.classList.add("open");
  choose(index);
  spans[chosen].scrollIntoView({ block: "nearest" });
};
const hide = () => { pinned = false; document.body.classList.remove("open"); };

const index_of = (event) => Number(event.target.dataset?.index ?? -1);
text.addEventListener("mouseover", (event) => {
  if (!pinned && !narrow.matches && index_of(event) >= 0) choose(index_of(event));
});
text.addEventListener("click", (event) => {
  const index = index_of(event);
  if (index < 0) return;
  const again = pinned && index === chosen;
  if (again) hide();
  else { pinned = true; show(index); }
});
document.getElementById("close").addEventListener("click", () => { hide(); text.focus({ preventScroll: true }); });

// The word of the line above or below that is nearest to the chosen word.
const line = (step) => {
  const middle = (span) => { const box = span.getBoundingClientRect(); return [(box.left + box.right) / 2, (box.top + box.bottom) / 2]; };
  const [x, y] = middle(spans[chosen]);
  let best = chosen, place = null;
  for (let at = chosen + step; at >= 0 && at < spans.length; at += step) {
    const [other_x, other_y] = middle(spans[at]);
    if (Math.abs(other_y - y) < 8) continue;
    place ??= other_y;
    if (Math.abs(other_y - place) >= 8) break;
    if (best === chosen || Math.abs(other_x - x) < Math.abs(middle(spans[best])[0] - x)) best = at;
  }
  return best;
};
// Known words that the pointer helped; the page opens with the best of them.
const interest = ({ gain, word }) => (is_unknown({ word }) || words[word] === "<eos>" ? -1 : gain ?? -1);
const helped = (step) => {
  for (let at = chosen + step; at >= 0 && at < spans.length; at += step) if (interest(predictions[at]) >= Math.log(2)) return at;
  return chosen;
};
const KEYS = {
  ArrowRight: () => Math.min(chosen + 1, spans.length - 1), ArrowLeft: () => Math.max(chosen - 1, 0),
  ArrowDown: () => line(1), ArrowUp: () => line(-1), Home: () => 0, End: () => spans.length - 1,
  n: () => helped(1), p: () => helped(-1),
};
text.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { hide(); return; }
  const next = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  pinned = true;
  show(next());
});
panel.addEventListener("keydown", (event) => { if (event.key === "Escape") { hide(); text.focus({ preventScroll: true }); } });
if (narrow.matches) document.getElementById("legend").open = false;
choose(predictions.reduce((best, prediction, at) => (interest(prediction) > interest(predictions[best]) ? at : best), 0));

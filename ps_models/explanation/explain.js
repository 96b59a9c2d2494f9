"use strict";
const { words, before, predictions } = JSON.parse(document.getElementById("data").textContent);
const text = document.getElementById("text");
const panel = document.getElementById("panel");
const pointing = predictions.some((prediction) => prediction.gate !== null);
let chosen = -1;
let held = false;

const element = (name, content = "", kind = "") => {
  const made = document.createElement(name);
  made.textContent = content;
  if (kind) made.className = kind;
  return made;
};
const number = (value) => (value >= 0.0995 ? value.toFixed(2) : value >= 0.00095 ? value.toFixed(3) : value.toExponential(0));
const tint = (span, red, green, blue, strength) => {
  span.style.backgroundColor = strength > 0.01 ? `rgba(${red}, ${green}, ${blue}, ${Math.min(1, strength)})` : "";
};
const shade = (span, prediction) => {
  if (pointing) tint(span, 46, 160, 67, 0.7 * (1 - prediction.gate));
  else tint(span, 214, 69, 65, 0.7 * Math.min(1, -Math.log(prediction.p) / 12));
};

const spans = predictions.map((prediction, index) => {
  const word = words[prediction.w];
  const span = element("span", word, word === "<eos>" ? "end" : "");
  span.dataset.index = index;
  span.id = `word-${index}`;
  span.setAttribute("role", "option");
  shade(span, prediction);
  text.append(span, word === "<eos>" ? element("br") : " ");
  return span;
});

const table = (title, rows, right) => {
  if (!rows || !rows.length) return [];
  const made = element("table");
  const most = Math.max(...rows.map((row) => row[1]));
  for (const [word, share, note] of rows) {
    const row = made.insertRow();
    if (word === right) row.className = "right";
    row.append(element("td", words[word] + (note ? ` ${note}` : "")), element("td", number(share), "number"));
    const bar = element("div");
    bar.style.width = `${(100 * share) / most}%`;
    const cell = element("td", "", "plot");
    cell.append(bar);
    row.append(cell);
  }
  return [element("h3", title), made];
};

const choose = (index) => {
  if (index < 0 || index >= predictions.length) return;
  if (chosen >= 0) {
    spans[chosen].classList.remove("chosen");
    spans[chosen].removeAttribute("aria-selected");
    spans.forEach((span, at) => { span.classList.remove("window"); shade(span, predictions[at]); });
  }
  chosen = index;
  const prediction = predictions[index];
  spans[index].classList.add("chosen");
  spans[index].setAttribute("aria-selected", "true");
  text.setAttribute("aria-activedescendant", spans[index].id);
  for (let back = 1; back <= prediction.window && index - back >= 0; back += 1) {
    spans[index - back].classList.add("window");
    tint(spans[index - back], 0, 0, 0, 0);
  }
  const window_rows = [];
  for (const [back, share] of prediction.attention) {
    const at = index - back;
    if (at >= 0) tint(spans[at], 235, 155, 45, 0.15 + 0.85 * share);
    window_rows.push([at >= 0 ? predictions[at].w : before[before.length + at], share, `(${back} back)`]);
  }
  const nats = -Math.log(prediction.p);
  panel.replaceChildren(
    element("h2", words[prediction.w]),
    element("div", `probability ${number(prediction.p)}, ${nats.toFixed(2)} nats`, "probability"),
    ...(prediction.gate === null ? [] : [element("div", `gate ${prediction.gate.toFixed(3)}: the share of the softmax`, "gate")]),
    ...table(pointing ? "Mixture" : "Most likely", prediction.mixture, prediction.w),
    ...table("Softmax", prediction.vocabulary, prediction.w),
    ...table("Pointer", prediction.pointer, prediction.w),
    ...table("Attention in the window", window_rows, prediction.w),
  );
};

document.querySelectorAll(pointing ? ".surprise" : ".pointing").forEach((part) => part.remove());
const index_of = (event) => event.target.dataset && event.target.dataset.index;
text.addEventListener("mouseover", (event) => {
  if (!held && index_of(event) !== undefined) choose(Number(index_of(event)));
});
text.addEventListener("click", (event) => {
  if (index_of(event) === undefined) return;
  held = !(held && Number(index_of(event)) === chosen);
  choose(Number(index_of(event)));
});
text.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  held = true;
  choose(chosen + step);
  spans[chosen].scrollIntoView({ block: "nearest" });
});
choose(0);

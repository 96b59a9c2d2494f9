"use strict";
// Sorts a table by the column of the heading that is clicked: numbers as numbers, empty cells last.
const number = text => { const found = /^[+-]?[\d,.]+(e[+-]?\d+)?/.exec(text); return found ? parseFloat(found[0].replace(/,/g, "")) : NaN; };
for (const head of document.querySelectorAll("thead th")) {
  head.querySelector("button").addEventListener("click", () => {
    const body = head.closest("table").tBodies[0], column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.cells[column].textContent;
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (!x || !y) return !x - !y;
      const difference = number(x) - number(y);
      const order = Number.isNaN(difference) ? x.localeCompare(y) : difference;
      return down ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  });
}

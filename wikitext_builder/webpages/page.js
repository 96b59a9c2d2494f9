"use strict";
// Without scripts a table is a table. With them its headings are buttons, which sort by their column and, pressed again,
// the other way round: numbers as numbers, then text, empty cells last.
{
  const SIZES = { k: 1e3, M: 1e6, B: 1e9 };
  const key = (text) => {
    const found = /^([+-]?[\d,.]*\d(?:e[+-]?\d+)?)([kMB]?)(?![a-z])/.exec(text);
    return found ? [0, parseFloat(found[1].replace(/,/g, "")) * (SIZES[found[2]] ?? 1)] : [text ? 1 : 2, 0];
  };
  for (const head of document.querySelectorAll(".wide thead th")) {
    const button = document.createElement("button");
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const body = head.closest("table").tBodies[0];
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[head.cellIndex].textContent.trim();
      const order = (a, b) => {
        const [[kind, x], [other, y]] = [key(text(a)), key(text(b))];
        if (kind === 2 || other === 2) return kind - other;
        return (down ? -1 : 1) * (kind - other || x - y || text(a).localeCompare(text(b)));
      };
      body.append(...[...body.rows].sort(order));
    });
  }
}

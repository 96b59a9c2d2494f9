"use strict";
// Turns the headings of tables into buttons that sort by their column and, pressed again, in reverse: numbers as
// numbers, then text, empty cells last.
{
  const SIZES = { k: 1e3, M: 1e6, B: 1e9 };
  const key = (text) => {
    const match = /^([+-]?[\d,.]*\d(?:e[+-]?\d+)?)([kMB]?)(?![a-z])/.exec(text);
    return match ? [0, parseFloat(match[1].replace(/,/g, "")) * (SIZES[match[2]] ?? 1)] : [text ? 1 : 2, 0];
  };
  for (const head of document.querySelectorAll(".wide thead th")) {
    const button = document.createElement("button");
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const body = head.closest("table").tBodies[0];
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const cell of head.parentElement.cells) cell.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[head.cellIndex].textContent.trim();
      const order = (a, b) => {
        const [[kind, x], [otherKind, y]] = [key(text(a)), key(text(b))];
        if (kind === 2 || otherKind === 2) return kind - otherKind;
        return (down ? -1 : 1) * (kind - otherKind || x - y || text(a).localeCompare(text(b)));
      };
      body.append(...[...body.rows].sort(order));
    });
  }
}

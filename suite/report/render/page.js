
"use strict";
// Sorts a table by a column (third time: as it was) and shows only rows that contain a text.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (rows.length < 3) continue;
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell.classList.contains("n")) return cell.textContent;
    return "value" in cell.dataset ? Number(cell.dataset.value) : Infinity;
  };
  const compare = (a, b) =>
    typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a === b ? 0 : a - b;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "sort by this column";
    for (const node of [...head.childNodes]) {
      if (node.nodeName !== "SUP") button.append(node);
    }
    head.prepend(button);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      for (const one of heads) one.removeAttribute("aria-sort");
      const way = was === "ascending" ? "descending" : was === "descending" ? null : "ascending";
      if (way) head.setAttribute("aria-sort", way);
      const turn = way === "descending" ? -1 : 1;
      const sorted = way
        ? [...rows].sort((a, b) => turn * compare(key(a, column), key(b, column)))
        : rows;
      body.append(...sorted);
    });
  });
  if (rows.length < 9) continue;
  const label = document.createElement("label");
  label.className = "filter";
  label.textContent = "Only rows with";
  const input = document.createElement("input");
  input.type = "search";
  label.append(input);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.parentElement.before(label);
}

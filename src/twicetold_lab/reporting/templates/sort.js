for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const sort = (head) => {
    const column = heads.indexOf(head);
    const rows = [...table.tBodies[0].rows];
    const numeric = "value" in rows[0].cells[column].dataset;
    const [first, second] = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
    const order = head.getAttribute("aria-sort") === first ? second : first;
    const sign = order === "ascending" ? 1 : -1;
    rows.sort((a, b) => {
      const [x, y] = [a.cells[column], b.cells[column]];
      if (!numeric) return sign * x.textContent.localeCompare(y.textContent);
      const [n, m] = [parseFloat(x.dataset.value), parseFloat(y.dataset.value)];
      return isNaN(n) || isNaN(m) ? isNaN(n) - isNaN(m) : sign * (n - m);
    });
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    table.tBodies[0].append(...rows);
  };
  for (const head of heads) {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(head); });
  }
}

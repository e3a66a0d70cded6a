"""The report's style sheet and its only script: sorting a table by a click on a column's head."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fdfdfb; --ink: #1c1e22; --soft: #63666d; --rule: #dddcd5; --accent: #0b6bcb;
  --wash: #e9f2fc; --c0: #0b6bcb; --c1: #d1495b; --c2: #2a9d64; --c3: #b7791f; --c4: #7b4fc9; --c5: #0e8fa3;
  --c6: #c2459b; --c7: #6b7280;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14161a; --ink: #e7e8ea; --soft: #9a9ea8; --rule: #32363e; --accent: #6cb2f7;
    --wash: #1a2a3c; --c0: #6cb2f7; --c1: #f08a97; --c2: #62cf98; --c3: #e3b25a; --c4: #b596f0; --c5: #55c8da;
    --c6: #ec8fcb; --c7: #a3a9b5;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", sans-serif;
}
main, header, footer, nav { max-width: 1240px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 44px; }
.name { margin: 0; color: var(--accent); font-weight: 600; letter-spacing: .01em; }
h1 { margin: 4px 0 10px; font-size: clamp(1.55rem, 4.4vw, 2.3rem); line-height: 1.18; letter-spacing: -.015em;
  text-wrap: balance; max-width: 26em; }
h2 { margin: 0 0 4px; font-size: 1.5rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h3 { margin: 34px 0 8px; font-size: 1.06rem; }
p { margin: 6px 0 10px; max-width: 68ch; }
.lead, .soft, figcaption, caption { color: var(--soft); }
.lead { font-size: 1.06rem; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; padding-top: 10px; padding-bottom: 10px; }
main > h2 { margin-top: 22px; }
section { margin-top: 34px; padding-top: 26px; border-top: 1px solid var(--rule); }
.scroll { overflow-x: auto; margin: 8px 0 10px; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-size: .89rem; font-variant-numeric: tabular-nums; line-height: 1.35; }
th, td { padding: 6px 8px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; white-space: normal;
  border-bottom-color: var(--soft); }
thead th small { display: block; font-weight: 400; font-size: .76rem; }
tbody th { font-weight: 500; text-align: left; }
.wide { width: 100%; }
.wide th:first-child { position: sticky; left: 0; background: var(--paper); z-index: 1; }
tr.best th, tr.best td, td.chosen { background: var(--wash); }
.wide tr.best th:first-child { background: var(--wash); box-shadow: inset 3px 0 0 var(--accent); }
td.top, td.chosen { font-weight: 650; }
.spread { display: block; }
td.text, th.text { text-align: left; }
td.text { white-space: normal; }
td.left { text-align: left; padding-left: 0; }
.tag { display: inline-block; margin-left: 6px; padding: 0 7px; border: 1px solid currentColor; border-radius: 9px;
  color: var(--soft); font-size: .72rem; font-weight: 500; line-height: 1.5; vertical-align: 1px; }
.tag.on { color: var(--accent); }
p .spread { display: inline; }
.sub { color: var(--soft); font-size: .84em; }
th[aria-sort], .sortable thead th { cursor: pointer; }
.sortable thead th:hover { color: var(--ink); }
.sortable thead th[aria-sort=descending]::after { content: " \\2193"; }
.sortable thead th[aria-sort=ascending]::after { content: " \\2191"; }
.facts { display: flex; flex-wrap: wrap; gap: 10px 34px; margin: 12px 0; }
.facts dt { color: var(--soft); font-size: .84rem; }
.facts dd { margin: 0; font-size: 1.02rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
ul.audit { margin: 6px 0 12px; padding-left: 1.15em; max-width: 72ch; }
ul.audit li { margin: 3px 0; }
details { margin: 8px 0; }
summary { cursor: pointer; color: var(--accent); }
code, .hash { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: .86em; }
.hash { overflow-wrap: anywhere; white-space: normal; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); gap: 22px 36px; }
figure { margin: 12px 0 0; max-width: 460px; }
figcaption { font-size: .9rem; margin-bottom: 6px; }
figcaption b { color: var(--ink); font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 8px 0 0; padding: 0 0 0 42px; list-style: none;
  font-size: .86rem; }
.legend .sub { margin-left: 4px; font-variant-numeric: tabular-nums; }
svg { display: block; }
svg.figure { width: 100%; height: auto; }
svg.whisker { display: inline-block; vertical-align: -4px; }
svg.swatch { display: inline-block; margin-right: 6px; vertical-align: 1px; }
svg text { fill: var(--soft); font-size: 11px; font-family: inherit; }
svg .axis { font-size: 12px; }
.frame { fill: none; stroke: var(--rule); }
.grid { stroke: var(--rule); stroke-width: .6; fill: none; }
.diagonal { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 4; fill: none; }
.line { stroke-linejoin: round; }
.ink { fill: none; stroke: currentColor; stroke-width: 1.8; }
.dashed .ink { stroke-dasharray: 6 3; }
.touch { fill: none; stroke: transparent; stroke-width: 12; }
.line circle { fill: currentColor; }
.line:hover .ink { stroke-width: 3.2; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.track { stroke: var(--rule); stroke-width: 1; }
.mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 2; }
.span { stroke: var(--accent); stroke-width: 2.4; opacity: .55; }
.dot { fill: var(--accent); }
dl.glossary { display: grid; grid-template-columns: minmax(8em, max-content) 1fr; gap: 8px 22px; max-width: 88ch; }
dl.glossary dt { font-weight: 550; }
dl.glossary dd { margin: 0; color: var(--soft); }
footer { margin-top: 44px; padding-top: 18px; padding-bottom: 44px; color: var(--soft); font-size: .9rem; }
@media (max-width: 600px) {
  main, header, footer, nav { padding-left: 16px; padding-right: 16px; }
  header { padding-top: 26px; }
  th, td { padding: 6px 9px; }
  dl.glossary { grid-template-columns: 1fr; gap: 0; }
  dl.glossary dd { margin-bottom: 10px; }
  .legend { padding-left: 0; }
  .tag { display: block; width: fit-content; margin: 2px 0 0; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --soft: #444; --rule: #bbb; --wash: #f1f1f1; color-scheme: light;
    --accent: #0b4f99; --c0: #0b6bcb; --c1: #d1495b; --c2: #2a9d64; --c3: #b7791f; --c4: #7b4fc9; --c5: #0e8fa3;
    --c6: #c2459b; --c7: #6b7280; }
  body { font-size: 10.5pt; }
  nav { display: none; }
  .scroll { overflow: visible; }
  th, td { padding: 4px 7px; white-space: normal; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  main, header, footer { max-width: none; padding-left: 0; padding-right: 0; }
}
"""

SCRIPT = """
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
"""

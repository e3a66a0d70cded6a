{
  const panel = document.querySelector(".shown");
  const [all, ...boxes] = panel.querySelectorAll("input");
  const names = new Set(boxes.map((box) => box.value));
  const parts = [...document.querySelectorAll("[data-model]")].filter((part) => names.has(part.dataset.model));
  panel.addEventListener("input", (event) => {
    if (event.target === all) for (const box of boxes) box.checked = all.checked;
    const chosen = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    all.checked = chosen.size === boxes.length;
    all.indeterminate = chosen.size > 0 && !all.checked;
    for (const part of parts) part.classList.toggle("off", !chosen.has(part.dataset.model));
  });
  panel.hidden = parts.length === 0;
}

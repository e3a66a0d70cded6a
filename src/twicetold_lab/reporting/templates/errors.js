for (const browser of document.querySelectorAll(".mistakes")) {
  const form = browser.querySelector("form");
  const body = browser.querySelector("tbody");
  const models = browser.dataset.models.split(" ");
  const rows = [...body.rows].map((row, place) => ({
    row, place, said: row.cells[2].textContent, percents: row.dataset.p.split(" ").map(Number),
    wrong: row.dataset.w, slices: row.dataset.s.split(" "), same: !row.cells[1].textContent.trim().startsWith("not"),
  }));
  // The probability of a wrong verdict: below a half where the threshold is not at a half.
  const confidence = ({ percents, same }, model) => same ? 100 - percents[model] : percents[model];
  const show = () => {
    const [wrong, right] = ["wrong", "right"].map((name) => models.indexOf(form.elements[name].value));
    const asked = [...form.querySelectorAll(":checked[name=slice]")].map((box) => box.value);
    const sure = (each) => wrong < 0 ? -each.place : right < 0 ? confidence(each, wrong)
      : Math.abs(each.percents[wrong] - each.percents[right]);
    let count = 0;
    for (const each of [...rows].sort((a, b) => sure(b) - sure(a))) {
      const fits = (wrong < 0 || each.wrong[wrong] === "1") && (right < 0 || each.wrong[right] === "0")
        && asked.every((slice) => each.slices.includes(slice));
      each.row.hidden = !fits;
      count += fits;
      const chosen = [wrong, right].filter((model) => model >= 0);
      each.row.cells[2].textContent = chosen.length
        ? chosen.map((model) => `${models[model]} ${each.percents[model]} %`).join(", ") : each.said;
      body.append(each.row);
    }
    form.querySelector("output").textContent = `${count} of ${rows.length} pairs`;
  };
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
}

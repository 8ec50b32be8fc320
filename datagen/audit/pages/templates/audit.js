"use strict";
const pick = (id) => document.getElementById(id);
const filters = { scene: pick("only-scene"), camera: pick("only-camera"), backend: pick("only-backend") };
const metric = pick("only-metric");
const failing = pick("only-failing");
const count = pick("shown-count");
const rows = [...document.querySelectorAll("#summary tbody tr[data-scene]")];
const views = [...document.querySelectorAll(".view")];

function wanted({ dataset }) {
  return Object.entries(filters).every(([name, control]) => !control.value || dataset[name] === control.value)
    && (!failing.checked || dataset.failed)
    && (!metric.value || dataset.failing.split(" ").includes(metric.value));
}

function filter() {
  for (const row of rows) row.hidden = !wanted(row);
  for (const view of views) view.hidden = !wanted(view);
  const shown = rows.filter((row) => !row.hidden).length;
  count.textContent = `${shown} of ${rows.length} views`;
}

function slider(box) {
  const figures = [...box.closest(".view").querySelectorAll(".shots figure")];
  const range = box.querySelector("input");
  const stage = box.querySelector(".stage");
  const [left, right] = box.querySelectorAll("select");
  const [under, over] = box.querySelectorAll("img");
  const move = () => stage.style.setProperty("--at", `${range.value}%`);
  for (const [select, image, first] of [[left, under, 0], [right, over, 1]]) {
    for (const [place, figure] of figures.entries()) {
      select.add(new Option(figure.querySelector("figcaption").textContent, place, place === first, place === first));
    }
    const show = () => {
      const from = figures[select.value].querySelector("img");
      image.src = from.src;
      image.alt = from.alt;
    };
    select.addEventListener("change", show);
    show();
  }
  range.addEventListener("input", move);
  const drag = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const area = stage.getBoundingClientRect();
    range.value = Math.round(100 * (event.clientX - area.left) / area.width);
    move();
  };
  stage.addEventListener("pointerdown", drag);
  stage.addEventListener("pointermove", drag);
  stage.addEventListener("dragstart", (event) => event.preventDefault());
  move();
  box.hidden = false;
}

for (const control of [...Object.values(filters), metric, failing]) control.addEventListener("change", filter);
for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
for (const box of document.querySelectorAll(".compare")) slider(box);
for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
filter();

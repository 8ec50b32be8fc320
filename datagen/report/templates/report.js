"use strict";
const cards = [...document.querySelectorAll(".card")];
const scene = document.getElementById("only-scene");
const camera = document.getElementById("only-camera");
const flagged = document.getElementById("only-flagged");
const count = document.getElementById("shown-count");

function filter() {
  let shown = 0;
  for (const card of cards) {
    card.hidden = (scene.value && card.dataset.scene !== scene.value)
      || (camera.value && card.dataset.camera !== camera.value)
      || (flagged.checked && !card.dataset.flagged);
    shown += card.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${cards.length} views`;
}

for (const control of [scene, camera, flagged]) control.addEventListener("change", filter);
for (const button of document.querySelectorAll(".enlarge")) {
  button.addEventListener("click", () => {
    const wide = button.closest(".card").classList.toggle("wide");
    button.setAttribute("aria-pressed", wide);
    button.textContent = wide ? "shrink" : "enlarge";
  });
}
for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
document.querySelector(".tools").addEventListener("submit", (event) => event.preventDefault());
filter();

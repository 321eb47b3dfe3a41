// Replays in their places within a page: each in a shadow tree, so that the styles of both stay apart.
// What stood in the place is kept for paper, where nothing plays. PLAYER_STYLE is the text of player.css.

import { html } from "./svg.js";
import { playInto } from "./playing.js";

for (const place of document.querySelectorAll("[data-replay]")) {
  const given = JSON.parse(document.getElementById(place.dataset.replay).textContent);
  const shadow = place.attachShadow({ mode: "open" }), player = html("div", { class: "player" });
  shadow.append(html("style", {}, PLAYER_STYLE), player, html("div", { class: "still" }, html("slot")));
  playInto(player, given);
}

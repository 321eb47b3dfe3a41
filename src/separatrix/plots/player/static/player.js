// A replay in a page of its own: what the lab exports for lecture notes. REPLAY is filled in there.

import { html } from "./svg.js";
import { playInto } from "./playing.js";

playInto(document.getElementById("replay"), REPLAY);
document.getElementById("verdict").textContent = REPLAY.verdict;
document.getElementById("made").append(html("span", {}, `Made with Separatrix ${REPLAY.version}.`));

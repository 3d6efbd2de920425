// Everything about one cell, or about a selection of cells.

import { blob, file } from "./api.js";
import { command, make, shown, whole } from "./dom.js";
import { MEANING } from "./pane.js";
import { Player } from "./player.js";

const LISTED = 200;
const COMMANDS = {
  video: "Video of how it was reached",
  demonstration: "Save as demonstration",
  explore: "Explore from here: a new search that begins in this state",
};

export class Details {
  constructor(element, events) {
    this.element = element;
    this.events = events;
    this.clear();
  }

  #close() {
    this.player?.close();
    this.player = this.asked = this.step = this.pane = null;
  }

  clear() {
    this.#close();
    this.element.replaceChildren(make("p", { className: "quiet" },
      "Click a cell to see its state and the video of how it was reached. Drag to move, scroll to zoom, drag with Shift held to select."));
  }

  /** Shows a cell: `here` are all cells at its place. */
  async show(pane, entry, here = [entry]) {
    this.#close();
    const asked = (this.asked = {}), { data } = pane;
    this.pane = pane;
    pane.show(entry);
    let cell;
    try {
      cell = await data.cell(entry);
    } catch (error) {
      if (this.asked === asked) this.element.replaceChildren(make("p", { className: "wrong" }, error.message));
      return;
    }
    if (this.asked !== asked) return;
    pane.show(entry, { lineage: cell.lineage });
    const at = `${data.at}/cells/${entry}`;
    const { score, length } = cell.values;
    const parts = [
      make("h2", {}, `Cell ${whole(entry)}`, make("span", { className: "quiet number" }, `score ${shown(score)}`)),
      this.#others(pane, entry, here),
    ];
    if (!cell.film) parts.push(make("p", { className: "quiet" }, data.about.unplayable ?? ""));
    else if (length > 0) {
      const explorations = `${whole(cell.explorations)} ${cell.explorations === 1 ? "exploration" : "explorations"}`;
      this.player = new Player(cell.film, `${data.at}/cells/${entry}/video`, (step) => pane.setMarker(step));
      parts.push(this.player.element, make("p", { className: "quiet" }, `Its state. The video shows how it was reached: ${whole(length)} training frames, ${explorations}.`));
      this.#draw(`${at}/picture`, (picture) => (this.player.video.poster = picture), asked);
      this.#follow(pane, entry, cell.lineage, asked);
    } else {
      const still = make("img", { className: "still", alt: `State of cell ${entry}` });
      parts.push(still);
      this.#draw(`${at}/picture`, (picture) => (still.src = picture), asked);
    }
    parts.push(this.#values(cell.values), this.#grown(pane, cell), ...this.#onwards(cell, at));
    const focused = this.element.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    this.element.replaceChildren(...parts.filter(Boolean));
    this.element.scrollTop = 0;
    if (focused) this.element.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    this.events.shown();
  }

  /** Fetches the picture of a state, and puts it where it belongs. */
  async #draw(path, put, asked) {
    try {
      const picture = await blob(path);
      if (this.asked === asked) put(URL.createObjectURL(picture));
    } catch (error) {
      if (this.asked === asked) this.element.querySelector("h2").after(make("p", { className: "wrong" }, error.message));
    }
  }

  /** Draws the real way over the map, and moves a mark along it as the video plays. */
  async #follow(pane, entry, lineage, asked) {
    try {
      const way = await pane.data.way(entry);
      if (this.asked !== asked) return;
      pane.show(entry, { lineage, way: way.entries });
      this.player.say((step) => `score ${shown(way.scores[step])}`);
    } catch { /* the lineage is drawn already */ }
  }

  #others(pane, entry, here) {
    if (here.length < 2) return null;
    const at = here.indexOf(entry);
    const go = (step) => this.show(pane, here[(at + step + here.length) % here.length], here);
    const button = (text, step, label) => {
      const made = make("button", { type: "button", "aria-label": label }, text);
      made.addEventListener("click", () => go(step));
      return made;
    };
    this.step = go;
    return make("div", { className: "row" }, button("‹", -1, "Previous cell here"),
      make("span", { className: "quiet" }, `${at + 1} of ${whole(here.length)} cells here`), button("›", 1, "Next cell here"));
  }

  #values(values) {
    const skipped = new Set(["segment", "offset", "cell"]);
    const list = Object.entries(values).filter(([name, value]) => !skipped.has(name) && value !== "" && !(["level", "room"].includes(name) && value === -1));
    return make("dl", { className: "values" }, ...list.map(([name, value]) =>
      make("div", { title: MEANING[name] ?? name }, make("dt", {}, name), make("dd", {}, shown(value)))));
  }

  #grown(pane, cell) {
    const button = make("button", { type: "button", disabled: cell.descendants === 0 }, `Show descendants (${whole(cell.descendants)})`);
    button.addEventListener("click", async () => pane.select(await pane.data.descendants(cell.entry)));
    const up = make("button", { type: "button" }, `Show ancestors (${whole(cell.lineage.length - 1)})`);
    up.addEventListener("click", () => {
      const mask = new Uint8Array(pane.rows);
      for (const entry of cell.lineage) mask[entry] = 1;
      pane.select(mask);
    });
    return make("div", {}, make("h3", {}, "Cells whose trajectories share its way"), make("div", { className: "row" }, up, button));
  }

  #onwards(cell, at) {
    const parts = [make("h3", {}, "Go on from here")];
    if (cell.film && cell.values.length > 0) {
      const path = `${at}/demonstration`, link = make("a", { href: `api/${path}` }, "Save as demonstration");
      const said = make("span", { className: "quiet", role: "status" }, "replayed, then downloaded");
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.#save(path, said);
      });
      parts.push(make("p", { className: "row" }, link, said));
    }
    const commands = Object.entries(cell.commands).flatMap(([what, text]) => [make("p", { className: "label" }, COMMANDS[what]), command(text)]);
    return [...parts, make("p", { className: "quiet" }, "Commands for a terminal:"), ...commands, make("p", { className: "quiet" }, make("code", {}, cell.values.cell))];
  }

  /** Downloads a file; says what goes wrong, which a browser would not. */
  async #save(path, said) {
    said.className = "quiet";
    said.textContent = "Replaying …";
    try {
      const { content, name } = await file(path), address = URL.createObjectURL(content);
      make("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      said.textContent = "downloaded";
    } catch (error) {
      said.className = "wrong";
      said.textContent = error.message;
    }
  }

  /** Shows what a selection has in common. */
  select(pane, mask) {
    this.#close();
    this.pane = pane;
    const entries = [];
    for (let i = 0; i < mask.length; i++) if (mask[i]) entries.push(i);
    const { scores, lengths, raw } = pane;
    const range = (values) => {
      let low = Infinity, high = -Infinity;
      for (const entry of entries) {
        if (values[entry] < low) low = values[entry];
        if (values[entry] > high) high = values[entry];
      }
      return entries.length ? `${shown(low)} to ${shown(high)}` : "–";
    };
    const about = pane.data.column(pane.colour);
    const facts = { cells: whole(entries.length), score: range(scores), "training frames": range(lengths) };
    if (!about.texts && !["score", "length"].includes(pane.colour)) facts[pane.colour] = range(raw);
    const best = [...entries].sort((a, b) => scores[b] - scores[a] || lengths[a] - lengths[b]).slice(0, LISTED);
    const rows = best.map((entry) => {
      const open = make("button", { type: "button" }, whole(entry));
      open.addEventListener("click", () => this.show(pane, entry, best));
      return make("tr", {}, make("td", {}, open), make("td", {}, shown(scores[entry])), make("td", {}, shown(lengths[entry])),
        make("td", {}, about.texts ? about.texts[raw[entry]] : shown(raw[entry])));
    });
    const clear = make("button", { type: "button" }, "Clear");
    clear.addEventListener("click", () => this.events.clear());
    this.element.replaceChildren(
      make("h2", {}, `${whole(entries.length)} cells selected`, clear),
      make("dl", { className: "values" }, ...Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
      make("h3", {}, entries.length > LISTED ? `The best ${LISTED}` : "The best first"),
      make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "Selected cells" },
        make("table", {}, make("thead", {}, make("tr", {}, ...["entry", "score", "length", pane.colour].map((name) => make("th", {}, name)))),
          make("tbody", {}, ...rows))),
    );
    this.events.shown();
  }
}

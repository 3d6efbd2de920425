// Everything about one cell, or about a selection of cells.

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

  clear() {
    this.player?.close();
    this.player = null;
    this.asked = null;
    this.element.replaceChildren(make("p", { className: "quiet" },
      "Click a cell to see its state and the video of how it was reached. Drag to move, scroll to zoom, drag with Shift held to select."));
  }

  /** Shows a cell: `here` are all cells at its place. */
  async show(pane, entry, here = [entry]) {
    this.player?.close();
    this.player = null;
    this.step = null;
    const asked = (this.asked = {});
    const { data } = pane;
    pane.show(entry);
    let cell;
    try {
      cell = await data.cell(entry);
    } catch (error) {
      if (this.asked === asked) this.element.replaceChildren(make("p", { className: "wrong" }, error.message));
      return;
    }
    if (this.asked !== asked) return;
    pane.show(entry, cell.lineage);
    const at = `api/${data.at}/cells/${entry}`;
    const { score, length } = cell.values;
    const still = make("img", { className: "still", alt: `State of cell ${entry}` });
    const parts = [
      make("h2", {}, `Cell ${whole(entry)}`, make("span", { className: "quiet number" }, `score ${shown(score)}`)),
      this.#others(pane, entry, here),
    ];
    if (cell.film) {
      const holder = make("div", {}, make("p", { className: "quiet" }, "Drawing its state …"));
      parts.push(holder);
      this.#draw(still, holder, `${at}/picture`, asked);
    } else parts.push(make("p", { className: "quiet" }, data.about.unplayable ?? ""));
    if (cell.film && length > 0) {
      this.player = new Player(cell.film, `${data.at}/cells/${entry}/video`, (step) => this.way && pane.setMarker(this.way.entries[step]));
      parts.push(make("h3", {}, `How it was reached: ${whole(length)} training frames, ${whole(cell.explorations)} explorations`), this.player.element);
      this.way = null;
      this.#follow(pane, entry, this.player, asked);
    }
    parts.push(this.#values(cell.values), this.#grown(pane, cell), ...this.#onwards(cell, at));
    this.element.replaceChildren(...parts.filter(Boolean));
    this.element.scrollTop = 0;
  }

  async #draw(still, holder, path, asked) {
    try {
      const answer = await fetch(path);
      if (!answer.ok) throw new Error((await answer.json()).error);
      still.src = URL.createObjectURL(await answer.blob());
      if (this.asked === asked) holder.replaceChildren(still);
    } catch (error) {
      holder.replaceChildren(make("p", { className: "wrong" }, error.message));
    }
  }

  /** Draws the real way over the map, and moves a mark along it as the video plays. */
  async #follow(pane, entry, player, asked) {
    try {
      const way = await pane.data.way(entry);
      if (this.asked !== asked) return;
      this.way = way;
      pane.show(entry, way.entries);
      player.say((step) => `score ${shown(way.scores[step])}`);
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
      const link = make("a", { href: `${at}/demonstration`, download: "" }, "Save as demonstration");
      parts.push(make("p", { className: "row" }, link, make("span", { className: "quiet" }, "replayed, then downloaded")));
    }
    const commands = Object.entries(cell.commands).flatMap(([what, text]) => [make("p", { className: "label" }, COMMANDS[what]), command(text)]);
    return [...parts, make("p", { className: "quiet" }, "Commands for a terminal:"), ...commands, make("p", { className: "quiet" }, make("code", {}, cell.values.cell))];
  }

  /** Shows what a selection has in common. */
  select(pane, mask) {
    this.player?.close();
    this.player = null;
    this.asked = null;
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
  }
}

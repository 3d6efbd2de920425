// One search: its cells on a map or in a plane, coloured, filtered, selected, as of any moment.

import { SearchData } from "./api.js";
import { CATEGORIES, bar, palette, scaled } from "./colour.js";
import { isDark, key, make, short, shown, whole } from "./dom.js";
import { byColumns, sharedPlaces } from "./layouts.js";
import { begin, drawAxes, drawBranches, drawFrame, drawLasso, drawWay } from "./overlay.js";
import { Rooms } from "./rooms.js";
import { Scatter } from "./scatter.js";
import { Stage, within } from "./stage.js";

export const MEANING = {
  score: "best search score", length: "training frames to get there", found_at_game_frame: "game frames until found",
  times_seen: "explorations that passed through", times_chosen: "times chosen since the last improvement",
  times_chosen_since_new: "times chosen since it led to something new",
  probability: "probability of being chosen next",
};
const STANDARD = new Set([
  ...Object.keys(MEANING), "level", "room", "end", "event", "objective", "entry",
]);

const JUST_FOUND = "#ff6b47"; // as the shader colours cells that were found shortly before the time that is shown
const MOST_BRANCHES = 10000; // cells of which the branches of the tree are drawn

export class SearchPane {
  /** events: pick(pane, cells), lasso(pane, mask), renumbered(pane). */
  constructor(number, sight, metrics, events) {
    Object.assign(this, { number, metrics, events });
    this.data = new SearchData(number);
    this.stage = new Stage(`Cells of ${sight.name}: arrows move, plus and minus zoom, Enter opens a cell`);
    this.title = make("h2");
    this.facts = make("p", { className: "facts" });
    this.legend = make("div", { className: "scale" });
    this.tip = make("div", { className: "tip", hidden: true });
    this.empty = make("div", { className: "empty" });
    this.stage.element.append(this.tip, this.empty);
    this.element = make("section", { className: "pane", "aria-label": sight.name },
      make("header", {}, this.title, this.facts), this.stage.element, this.legend);
    this.title.append(sight.name);
    this.rooms = new Rooms(number, this.stage);
    this.layout = null;
    this.axes = null;
    this.loaded = false;
    this.places = new Float32Array(0);
    this.parents = null;
    this.aspect = 1;
    this.colour = "found_at_game_frame";
    this.filter = "";
    this.matches = null;
    this.selected = null;
    this.time = Infinity;
    this.current = null; // the cell that is shown,
    this.way = null; // the cells that its trajectory passes, one for each training frame,
    this.lineage = null; // and those whose trajectories are beginnings of its own
    this.marker = null;
    this.wait(sight);
    this.#listen();
    try {
      this.scatter = new Scatter(this.stage.layers[1]);
      this.scatter.onrestored = () => this.#upload();
    } catch (error) {
      this.empty.textContent = error.message;
    }
  }

  get rows() {
    return this.places.length / 3;
  }

  get isTree() {
    return this.layout?.name === "tree";
  }

  /** Whether the map shows an earlier time than that of the checkpoint. */
  get isPast() {
    return this.time < this.frames;
  }

  // Reading

  /** Says what there is to wait for. */
  wait({ checkpoint, state }) {
    if (checkpoint) this.empty.textContent = "Reading the newest checkpoint …";
    else if (state === "stopped") this.empty.textContent = "This search has not written a checkpoint, and no process works on it.";
    else this.empty.textContent = "There is no checkpoint yet. A search writes one every five minutes, unless --checkpoint-minutes says otherwise.";
  }

  /** Fetches the newest checkpoint, and shows it as the one before. */
  async refresh() {
    const before = this.data.about;
    let about;
    try {
      about = await this.data.update();
    } catch (error) {
      if (!before) this.empty.textContent = error.message;
      throw error;
    }
    const renumbered = before && (about.rows < before.rows || about.revisions !== before.revisions);
    if (renumbered) {
      this.current = this.way = this.lineage = this.marker = this.selected = null;
      this.events.renumbered(this);
    }
    this.rooms.places = about.rooms;
    if (!this.layout || !this.layouts().includes(this.layout.name)) this.layout = this.#usual();
    if (!this.data.column(this.colour)) this.colour = "found_at_game_frame";
    if (this.selected) this.selected = grown(this.selected, about.rows);
    await this.#load();
    if (this.filter.trim()) await this.setFilter(this.filter).catch(() => this.setFilter(""));
    this.empty.hidden = true;
    this.#say();
    this.stage.draw();
  }

  layouts() {
    return [...Object.keys(this.data.about.layouts), "columns"];
  }

  /** Columns that cells can be placed by: those that differ. */
  numbers() {
    return this.data.about.columns.filter((column) => column.high > column.low);
  }

  #usual() {
    const names = this.layouts();
    const [across = "length", down = "score"] = this.numbers()
      .filter((column) => !STANDARD.has(column.name) && !column.texts).map((column) => column.name).slice(0, 2);
    if (names.includes("map")) return { name: "map", across, down };
    const own = this.numbers().filter((column) => !STANDARD.has(column.name) && !column.texts);
    return { name: own.length >= 2 ? "columns" : "tree", across, down };
  }

  /** Lays the cells out anew; columns that this run does not have stay as they are. */
  async setLayout({ name, across, down }) {
    const own = (column, before) => (this.numbers().some((one) => one.name === column) ? column : before);
    await this.#place({ name, across: own(across, this.layout.across), down: own(down, this.layout.down) });
    this.#upload();
    this.fit();
  }

  async setColour(name) {
    await this.data.values(name); // what cannot be had leaves all as it is
    this.colour = name;
    await this.#paint();
    this.#upload();
    this.stage.draw();
  }

  async #load() {
    const painted = this.#paint().catch(() => {
      this.colour = "found_at_game_frame";
      return this.#paint();
    });
    await Promise.all([this.#place(), painted, this.#date()]);
    this.loaded = true;
    this.#upload();
  }

  async #place(layout = this.layout) {
    const { name, across, down } = layout;
    if (name === "columns") {
      const [x, y] = await Promise.all([this.data.values(across), this.data.values(down)]);
      const laid = byColumns(x, y, this.data.column(across), this.data.column(down));
      Object.assign(this, { layout, places: laid.places, aspect: 1, axes: laid.axes, parents: null, shared: sharedPlaces(laid.places) });
      this.stage.show(laid.box);
      return;
    }
    const about = this.data.about.layouts[name], { high } = this.data.column("length"), isTree = name === "tree";
    const branches = isTree && this.data.about.rows <= MOST_BRANCHES;
    const [places, parents] = await Promise.all([this.data.places(name), branches ? this.data.parents() : null]);
    const axes = isTree ? { across: { name: "length", low: 0, high, at: (value) => (value / Math.max(1, high)) * 1.6 } } : null;
    Object.assign(this, { layout, places, parents, axes, aspect: about.aspect, shared: sharedPlaces(places) });
    this.stage.show(isTree ? about.box : this.rooms.foundBox);
  }

  async #paint() {
    const about = this.data.column(this.colour);
    this.raw = await this.data.values(this.colour);
    this.painted = scaled(this.raw, about);
    this.palette = palette(about.texts);
    this.#explain(about);
  }

  async #date() {
    const found = await this.data.values("found_at_game_frame");
    this.frames = Math.max(1, this.data.about.status.game_frames);
    this.found = Float32Array.from(found, (at) => Math.min(1, at / this.frames));
    this.scores = await this.data.values("score");
    this.lengths = await this.data.values("length");
  }

  #upload() {
    if (!this.scatter || !this.loaded) return;
    this.scatter.set("place", this.places);
    this.scatter.set("value", this.painted.values);
    this.scatter.set("found", this.found);
    this.scatter.setPalette(this.palette);
    this.#mark();
  }

  #mark() {
    const marks = new Uint8Array(this.rows);
    for (let i = 0; i < marks.length; i++) marks[i] = (this.matches ? this.matches[i] : 1) | (this.selected?.[i] ? 2 : 0);
    this.scatter?.set("mark", marks);
    this.marks = marks;
    this.#order();
    this.stage.draw();
  }

  /**
   * Finds the cell that is drawn at each place: of those that are there at this time, a selected one, or one that
   * matches. Selected and matching ones come first, and else chance decides: the first ones are a sample of all.
   */
  #order() {
    if (!this.scatter || !this.loaded) return;
    const { numbers, different, shuffled } = this.shared, { marks, found } = this;
    const top = new Int32Array(different).fill(-1), limit = this.time / this.frames;
    let count = 0;
    for (let i = 0; i < numbers.length; i++) {
      if (found[i] > limit) continue;
      const before = top[numbers[i]];
      if (before < 0) count++;
      if (before < 0 || marks[i] >= marks[before]) top[numbers[i]] = i;
    }
    const order = new Uint32Array(count);
    let next = 0;
    for (const mark of [3, 1, 2, 0]) {
      for (let i = 0; next < count && i < different; i++) {
        const entry = top[shuffled[i]];
        if (entry >= 0 && marks[entry] === mark) order[next++] = entry;
      }
    }
    this.scatter.setOrder(order);
  }

  // What is asked of it

  /** Shows only cells that a condition is true of; raises what is wrong with it. */
  async setFilter(condition) {
    this.matches = condition.trim() ? await this.data.matching(condition) : null;
    this.filter = condition;
    this.#mark();
  }

  /** How many cells the filter is true of. */
  get matching() {
    return this.matches ? this.matches.reduce((sum, one) => sum + one, 0) : this.rows;
  }

  setTime(gameFrames) {
    if (this.time === gameFrames) return;
    const wasPast = this.isPast;
    this.time = gameFrames;
    if (this.isPast !== wasPast) this.#explain(this.data.column(this.colour));
    this.#order();
    this.#say();
    this.stage.draw();
  }

  select(mask) {
    this.selected = mask;
    this.#mark();
  }

  clear() {
    this.current = this.way = this.lineage = this.marker = null;
    this.select(null);
  }

  fit() {
    this.stage.fit();
  }

  close() {
    this.scatter?.close();
  }

  /** Shows a cell, and how it was reached as far as that is known. */
  show(entry, { lineage = null, way = null } = {}) {
    Object.assign(this, { current: entry, lineage, way, marker: null });
    if (Number.isFinite(this.places[3 * entry])) this.stage.reveal(this.places[3 * entry], this.places[3 * entry + 1]);
    this.stage.draw();
  }

  /** Marks where the trajectory of the cell is after a number of training frames. */
  setMarker(step) {
    if (this.isTree) this.marker = this.lineage?.findLast((entry) => this.lengths[entry] <= step) ?? null;
    else this.marker = this.way?.[step] ?? null;
    this.stage.draw();
  }

  #visible(i) {
    return this.found[i] <= this.time / this.frames && (!this.matches || this.matches[i]) && Number.isFinite(this.places[3 * i]);
  }

  /** Returns the cells at a place of the screen: those under it, or else the nearest, newest first. */
  at(left, top, anywhere = false) {
    if (!this.loaded) return [];
    const [x, y] = this.stage.toMap(left, top), reach = 9 / this.stage.camera.zoom, here = [];
    let nearest = -1, distance = Infinity;
    for (let i = 0; i < this.rows; i++) {
      const off = Math.abs(this.places[3 * i] - x), down = Math.abs(this.places[3 * i + 1] - y);
      if (!anywhere && off > reach + this.places[3 * i + 2]) continue;
      if (!this.#visible(i)) continue;
      const half = this.places[3 * i + 2] / 2;
      if (off <= half && down <= half * this.aspect) here.push(i);
      const apart = Math.hypot(off, down);
      if (apart < distance) [distance, nearest] = [apart, i];
    }
    if (here.length) return here.reverse();
    if (nearest < 0 || (!anywhere && distance > reach + this.places[3 * nearest + 2])) return [];
    const same = [];
    for (let i = this.rows - 1; i >= 0; i--) {
      if (this.places[3 * i] === this.places[3 * nearest] && this.places[3 * i + 1] === this.places[3 * nearest + 1] && this.#visible(i)) same.push(i);
    }
    return same;
  }

  #listen() {
    const { stage } = this;
    stage.ondraw = () => this.#draw();
    stage.onmore = () => this.#drawCells();
    stage.onpick = (left, top, anywhere) => {
      const here = this.at(left, top, anywhere);
      this.events.pick(this, here);
    };
    stage.onhover = (left, top) => {
      this.hover = left === null ? null : [left, top];
      if (!this.hovering) {
        this.hovering = true;
        requestAnimationFrame(() => {
          this.hovering = false;
          this.#hint();
        });
      }
    };
    stage.onlasso = (polygon) => {
      const xs = polygon.map(([x]) => x), ys = polygon.map(([, y]) => y);
      const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      const mask = new Uint8Array(this.rows);
      for (let i = 0; i < this.rows; i++) {
        const x = this.places[3 * i], y = this.places[3 * i + 1];
        if (x >= left && x <= right && y >= top && y <= bottom && this.#visible(i) && within(polygon, x, y)) mask[i] = 1;
      }
      this.select(mask);
      this.events.lasso(this, mask);
    };
  }

  #hint() {
    const here = this.hover ? this.at(...this.hover) : [];
    this.tip.hidden = !here.length;
    if (!here.length) return;
    const about = this.data.column(this.colour), value = this.raw[here[0]];
    const text = about.texts ? about.texts[value] || "–" : shown(value);
    const more = here.length > 1 ? ` · ${here.length} cells here` : "";
    this.tip.textContent = `cell ${whole(here[0])} · score ${shown(this.scores[here[0]])} · ${this.colour} ${text}${more}`;
    const [left, top] = this.hover;
    this.tip.style.left = `${Math.min(left + 14, Math.max(4, this.stage.width - this.tip.offsetWidth - 6))}px`;
    this.tip.style.top = `${top + 18 > this.stage.height - 26 ? top - 30 : top + 18}px`;
  }

  // Drawing

  #draw() {
    const { stage, places } = this;
    if (!stage.layers[0].width) return;
    const [below, above] = begin(stage);
    if (!this.loaded) return;
    if (this.layout.name === "map") this.rooms.draw(below, { then: this.time });
    if (this.axes) drawAxes([below, above], stage, this.axes);
    if (this.parents) drawBranches(below, stage, places, this.parents, (i) => this.#visible(i));
    this.#drawCells();
    const way = this.isTree ? this.lineage : (this.way ?? this.lineage);
    if (way?.length) drawWay(above, stage, places, way, this.isTree);
    drawFrame(above, stage, places, this.aspect, this.current);
    drawFrame(above, stage, places, this.aspect, this.marker, { colour: "#ffffff", grow: 2 });
    if (stage.polygon) drawLasso(above, stage);
    if (!this.element.dataset.painted) {
      performance.mark(`cells-${this.number}`);
      this.element.dataset.painted = String(Math.round(performance.now()));
    }
  }

  #drawCells() {
    if (!this.scatter || !this.loaded) return;
    const { stage, aspect } = this, time = this.time >= this.frames ? 1 : this.time / this.frames;
    const look = { aspect, time, dims: Boolean(this.selected), ratio: stage.ratio, dark: isDark() };
    if (this.scatter.draw(stage.camera, look)) stage.more();
  }

  #explain(about) {
    const parts = [make("span", {}, MEANING[about.name] ?? about.name)];
    if (about.texts) {
      about.texts.slice(0, 12).forEach((text, number) => parts.push(key(CATEGORIES[number % CATEGORIES.length], text || "none")));
      if (about.texts.length > 12) parts.push(make("span", {}, `and ${about.texts.length - 12} more`));
    } else {
      const { low, high, logarithmic } = this.painted;
      parts.push(make("span", {}, shown(low)), bar(this.palette), make("span", {}, `${shown(high)}${logarithmic ? ", logarithmic" : ""}`));
    }
    if (this.isPast) parts.push(key(JUST_FOUND, "found just before"));
    this.legend.replaceChildren(...parts);
  }

  #say() {
    const { status, problem } = this.data.about ?? {};
    if (!status) return;
    const past = this.isPast, limit = this.time / this.frames, then = past ? this.#then() : status;
    const cells = past ? this.found.reduce((sum, at) => sum + (at <= limit), 0) : status.cells, facts = [["", problem], [whole(cells), "cells"]];
    if (then) {
      facts.push([then.has_result ? shown(then.best_score) : "no", "best score"]);
      if (then.rooms) facts.push([whole(then.rooms), then.rooms === 1 ? "room" : "rooms"]);
    }
    facts.push([short(past ? this.time : status.game_frames), "game frames"]);
    this.facts.replaceChildren(...facts.map(([number, what]) => make("span", {}, make("b", {}, number), ` ${what}`)));
  }

  /** Returns what the metrics say of the time that is shown. */
  #then() {
    const { fields } = this.metrics, line = fields ? fields.game_frames.findLastIndex((frames) => frames <= this.time) : -1;
    if (line < 0) return null;
    return { has_result: fields.has_result[line], best_score: fields.max_score[line], rooms: fields.rooms[line] };
  }
}

function grown(mask, rows) {
  const larger = new Uint8Array(rows);
  larger.set(mask.subarray(0, rows));
  return larger;
}

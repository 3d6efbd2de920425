// One search: its cells on a map or in a plane, coloured, filtered, selected, as of any moment.

import { SearchData } from "./api.js";
import { CATEGORIES, palette, scaled } from "./colour.js";
import { ink, make, short, shown, whole } from "./dom.js";
import { byColumns, sharedPlaces, ticks } from "./layouts.js";
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

export class SearchPane {
  constructor(number, sight, events) {
    this.number = number;
    this.events = events;
    this.data = new SearchData(number);
    this.stage = new Stage(`Cells of ${sight.name}: arrows move, plus and minus zoom, Enter opens a cell`);
    this.title = make("h2");
    this.facts = make("p", { className: "facts" });
    this.legend = make("div", { className: "scale" });
    this.tip = make("div", { className: "tip", hidden: true });
    this.empty = make("div", { className: "empty" }, "Reading the newest checkpoint …");
    this.stage.element.append(this.tip, this.empty);
    this.element = make("section", { className: "pane", "aria-label": sight.name },
      make("header", {}, this.title, this.facts), this.stage.element, this.legend);
    this.title.textContent = sight.name;
    this.rooms = new Rooms(number, this.stage);
    this.layout = null;
    this.axes = null;
    this.places = new Float32Array(0);
    this.aspect = 1;
    this.colour = "found_at_game_frame";
    this.filter = "";
    this.matches = null;
    this.selected = null;
    this.time = Infinity;
    this.current = null;
    this.way = null;
    this.marker = null;
    this.#listen();
    try {
      this.scatter = new Scatter(this.stage.layers[1]);
      this.scatter.onrestored = () => this.#upload();
    } catch (error) {
      this.empty.textContent = error.message;
    }
  }

  get rows() {
    return this.data.about?.rows ?? 0;
  }

  // Reading

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
    const anew = before && (about.rows < before.rows || about.problem !== before.problem);
    if (anew) {
      this.clear();
      this.layout = null;
    }
    this.rooms.places = about.rooms;
    if (!this.layout || !this.layouts().includes(this.layout.name)) this.layout = this.#usual();
    if (!this.data.column(this.colour)) this.colour = "found_at_game_frame";
    await this.#load();
    if (this.filter) await this.setFilter(this.filter).catch(() => this.setFilter(""));
    if (this.selected && this.selected.length !== this.rows) this.select(grown(this.selected, this.rows));
    this.empty.hidden = true;
    if (!before || anew) this.fit();
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

  async setLayout(layout) {
    this.layout = layout;
    await this.#place();
    this.#upload();
    this.fit();
  }

  async setColour(name) {
    this.colour = name;
    await this.#paint();
    this.#upload();
    this.stage.draw();
  }

  async #load() {
    await Promise.all([this.#place(), this.#paint(), this.#date()]);
    this.#upload();
  }

  async #place() {
    const { name, across, down } = this.layout;
    if (name !== "columns") {
      this.places = await this.data.places(name);
      const about = this.data.about.layouts[name];
      this.aspect = about.aspect;
      this.stage.box = name === "map" ? this.rooms.foundBox : about.box;
      const length = this.data.column("length");
      this.axes = name === "tree"
        ? { across: { name: "length", low: 0, high: length.high, at: (value) => (value / Math.max(1, length.high)) * 1.6 } }
        : null;
      return;
    }
    const [x, y] = await Promise.all([this.data.values(across), this.data.values(down)]);
    const laid = byColumns(x, y, this.data.column(across), this.data.column(down));
    Object.assign(this, { places: laid.places, aspect: laid.aspect, axes: laid.axes });
    this.stage.box = laid.box;
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
    if (!this.scatter || !this.places.length) return;
    this.scatter.set("place", this.places);
    this.shared = sharedPlaces(this.places);
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

  /** Finds the cell that is drawn at each place: of those that are there at this time, a selected one, or one that matches. */
  #order() {
    if (!this.scatter || !this.shared) return;
    const { numbers, different } = this.shared, top = new Int32Array(different).fill(-1), limit = this.time / this.frames;
    for (let i = 0; i < numbers.length; i++) {
      if (this.found[i] > limit) continue;
      const before = top[numbers[i]];
      if (before < 0 || this.marks[i] >= this.marks[before]) top[numbers[i]] = i;
    }
    this.scatter.setOrder(Uint32Array.from(top.filter((entry) => entry >= 0).sort()));
  }

  // What is asked of it

  /** Shows only cells that a condition is true of; returns how many, or raises what is wrong with it. */
  async setFilter(condition) {
    this.matches = condition.trim() ? await this.data.matching(condition) : null;
    this.filter = condition.trim() ? condition : "";
    this.#mark();
    return this.matches ? this.matches.reduce((sum, one) => sum + one, 0) : this.rows;
  }

  setTime(gameFrames) {
    if (this.time === gameFrames) return;
    this.time = gameFrames;
    this.#order();
    this.#say();
    this.stage.draw();
  }

  select(mask) {
    this.selected = mask;
    this.#mark();
  }

  clear() {
    this.current = this.way = this.marker = null;
    this.select(null);
  }

  fit() {
    this.stage.fit();
  }

  show(entry, way = null) {
    this.current = entry;
    this.way = way;
    this.marker = null;
    if (entry !== null && Number.isFinite(this.places[3 * entry])) this.stage.reveal(this.places[3 * entry], this.places[3 * entry + 1]);
    this.stage.draw();
  }

  setMarker(entry) {
    this.marker = entry;
    this.stage.draw();
  }

  #visible(i) {
    return this.found[i] <= this.time / this.frames && (!this.matches || this.matches[i]) && Number.isFinite(this.places[3 * i]);
  }

  /** Returns the cells at a place of the screen: those under it, or else the nearest, newest first. */
  at(left, top, anywhere = false) {
    if (!this.places.length) return [];
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
    const { stage } = this, [below, , above] = stage.layers;
    if (!below.width) return;
    const contexts = [below, above].map((canvas) => {
      const context = canvas.getContext("2d");
      context.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
      context.clearRect(0, 0, stage.width, stage.height);
      return context;
    });
    if (!this.data.about) return;
    if (this.layout?.name === "map") this.rooms.draw(contexts[0]);
    if (this.axes) this.#drawAxes(contexts[0]);
    const time = this.time >= this.frames ? 1 : this.time / this.frames;
    this.scatter?.draw(stage.camera, { aspect: this.aspect, time, dims: Boolean(this.selected), ratio: stage.ratio });
    this.#drawWay(contexts[1]);
    if (stage.polygon) this.#drawLasso(contexts[1]);
    this.drawn = (this.drawn ?? 0) + 1;
    if (!this.everPainted && this.places.length) {
      this.everPainted = true;
      performance.mark(`cells-${this.number}`);
      this.element.dataset.painted = String(Math.round(performance.now()));
    }
  }

  #drawAxes(context) {
    const { stage, axes } = this;
    context.font = "11px system-ui, sans-serif";
    context.strokeStyle = ink("--faint");
    context.fillStyle = ink("--quiet");
    context.lineWidth = 1;
    const label = (axis, value) => (axis.texts ? axis.texts[value] ?? "" : short(value));
    for (const value of ticks(axes.across.low, axes.across.high, Math.max(2, stage.width / 90), axes.across.type === "f8" ? 0 : 1)) {
      const [left] = stage.toScreen(axes.across.at(value), 0);
      context.beginPath();
      context.moveTo(left, 0);
      context.lineTo(left, stage.height);
      context.stroke();
      context.fillText(label(axes.across, value), left + 3, stage.height - 6);
    }
    context.fillText(`${axes.across.name} →`, stage.width - context.measureText(`${axes.across.name} →`).width - 8, stage.height - 20);
    if (!axes.down) return;
    for (const value of ticks(axes.down.low, axes.down.high, Math.max(2, stage.height / 60), axes.down.type === "f8" ? 0 : 1)) {
      const [, top] = stage.toScreen(0, axes.down.at(value));
      context.beginPath();
      context.moveTo(0, top);
      context.lineTo(stage.width, top);
      context.stroke();
      context.fillText(label(axes.down, value), 4, top - 3);
    }
    context.fillText(axes.down.name, 4, 12);
  }

  #drawWay(context) {
    const { stage, places } = this;
    if (this.way?.length) {
      context.lineJoin = "round";
      for (const [width, colour] of [[4, "#000a"], [2, "#ff5a36"]]) {
        context.beginPath();
        let before = -1;
        for (const entry of this.way) {
          if (entry < 0 || entry === before || !Number.isFinite(places[3 * entry])) continue;
          const [left, top] = stage.toScreen(places[3 * entry], places[3 * entry + 1]);
          if (before < 0) context.moveTo(left, top);
          else context.lineTo(left, top);
          before = entry;
        }
        context.lineWidth = width;
        context.strokeStyle = colour;
        context.stroke();
      }
    }
    const box = (entry, colour, grow) => {
      if (entry === null || entry < 0 || !Number.isFinite(places[3 * entry])) return;
      const [left, top] = stage.toScreen(places[3 * entry], places[3 * entry + 1]);
      const wide = Math.max(10, places[3 * entry + 2] * stage.camera.zoom + grow);
      const high = Math.max(10, places[3 * entry + 2] * this.aspect * stage.camera.zoom + grow);
      for (const [width, ring] of [[4, "#000c"], [2, colour]]) {
        context.lineWidth = width;
        context.strokeStyle = ring;
        context.strokeRect(left - wide / 2, top - high / 2, wide, high);
      }
    };
    box(this.current, "#ff5a36", 6);
    if (this.marker !== null) box(this.marker, "#ffffff", 2);
  }

  #drawLasso(context) {
    context.beginPath();
    for (const [x, y] of this.stage.polygon) context.lineTo(...this.stage.toScreen(x, y));
    context.closePath();
    context.fillStyle = "#1f6fc233";
    context.strokeStyle = ink("--accent");
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
  }

  #explain(about) {
    const parts = [make("span", {}, MEANING[about.name] ?? about.name)];
    if (about.texts) {
      about.texts.slice(0, 12).forEach((text, number) => {
        const dot = make("i");
        dot.style.background = CATEGORIES[number % CATEGORIES.length];
        parts.push(make("span", {}, dot, text || "none"));
      });
      if (about.texts.length > 12) parts.push(make("span", {}, `and ${about.texts.length - 12} more`));
    } else {
      const bar = make("canvas", { width: 256, height: 1 });
      bar.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(this.palette), 256, 1), 0, 0);
      const { low, high, logarithmic } = this.painted;
      parts.push(make("span", {}, shown(low)), bar, make("span", {}, `${shown(high)}${logarithmic ? ", logarithmic" : ""}`));
    }
    this.legend.replaceChildren(...parts);
  }

  #say() {
    const { status, problem } = this.data.about ?? {};
    if (!status) return;
    const past = this.time < this.frames, facts = [["", problem]];
    if (past) {
      const limit = this.time / this.frames;
      facts.push([whole(this.found.reduce((sum, at) => sum + (at <= limit), 0)), "cells"], [short(this.time), "game frames"]);
    } else {
      facts.push([whole(status.cells), "cells"], [status.has_result ? shown(status.best_score) : "no", "best score"]);
      if (status.rooms) facts.push([whole(status.rooms), "rooms"]);
      facts.push([short(status.game_frames), "game frames"]);
    }
    this.facts.replaceChildren(...facts.map(([number, what]) => make("span", {}, make("b", {}, number), ` ${what}`)));
  }
}

function grown(mask, rows) {
  const larger = new Uint8Array(rows);
  larger.set(mask.subarray(0, rows));
  return larger;
}

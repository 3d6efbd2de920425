// Curves over game frames, linked with each other and with the time that the map shows.

import { ink, key, make, short } from "./dom.js";
import uPlot from "./vendor/uPlot.esm.js";

const HEIGHT = 96, MOST_NAMES = 10;

/** One small chart with a line for each run. */
export class Chart {
  constructor(title, { height = HEIGHT, ontime = null, sync = "curves", range = undefined } = {}) {
    this.holder = make("div");
    this.legend = make("p", { className: "legend" });
    this.element = make("figure", {}, make("figcaption", {}, title), this.legend, this.holder);
    Object.assign(this, { title, height, ontime, sync, range, now: null });
    new ResizeObserver(() => this.plot?.setSize({ width: Math.max(80, this.holder.clientWidth), height: this.height })).observe(this.holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.lines && this.show(this.lines));
  }

  /** Shows lines: { name, colour, x, y, dashed }. Several are told apart by a legend, unless the page has one. */
  show(lines) {
    this.lines = lines.filter((line) => line.x.length);
    const named = this.ontime || this.lines.length < 2 ? [] : this.lines;
    this.legend.replaceChildren(...named.slice(0, MOST_NAMES).map(({ name, colour }) => key(colour, name)),
      ...(named.length > MOST_NAMES ? [`and ${named.length - MOST_NAMES} more`] : []));
    this.plot?.destroy();
    this.plot = null;
    if (!this.lines.length) {
      this.holder.replaceChildren(make("p", { className: "quiet" }, "nothing yet"));
      return;
    }
    this.holder.replaceChildren();
    const data = this.lines.length === 1 ? [this.lines[0].x, this.lines[0].y] : uPlot.join(this.lines.map((line) => [line.x, line.y]));
    const quiet = ink("--quiet"), faint = ink("--faint");
    const axis = { stroke: quiet, grid: { stroke: faint, width: 1 }, ticks: { show: false }, font: "11px system-ui", values: (_, all) => all.map((each) => (each === null ? "" : short(each))) };
    this.plot = new uPlot({
      width: Math.max(80, this.holder.clientWidth), height: this.height,
      legend: { show: false },
      cursor: { sync: { key: this.sync }, drag: { x: false, y: false }, points: { size: 5 }, bind: { mousedown: (u) => () => this.#click(u) } },
      scales: { x: { time: false }, y: { range: this.range } },
      axes: [{ ...axis, size: 22, space: 60 }, { ...axis, size: 46, space: 18 }],
      series: [{}, ...this.lines.map((line) => ({ label: line.name, stroke: line.colour, width: 1.5, dash: line.dashed ? [5, 4] : undefined, spanGaps: true, points: { show: line.x.length < 2 } }))],
      hooks: { draw: [(u) => this.#drawNow(u)] },
    }, data, this.holder);
  }

  #click(u) {
    if (!this.ontime || u.cursor.left < 0) return null;
    this.ontime(u.posToVal(u.cursor.left, "x"));
    return null;
  }

  /** Draws a line at a number of game frames, or none. */
  mark(now) {
    this.now = now;
    this.plot?.redraw(false, false);
  }

  #drawNow(u) {
    if (this.now === null) return;
    const at = Math.round(u.valToPos(this.now, "x", true)), { ctx, bbox } = u;
    if (at < bbox.left || at > bbox.left + bbox.width) return;
    ctx.save();
    ctx.strokeStyle = ink("--accent");
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
}

const FIELDS = { cells: "cells", max_score: "best search score", rooms: "rooms", game_frames_per_second: "game frames/s" };

/** The curves of searches, below the maps. */
export class SearchCurves {
  constructor(element, ontime) {
    this.charts = Object.fromEntries(Object.entries(FIELDS).map(([field, title]) => [field, new Chart(title, { ontime })]));
    element.replaceChildren(...Object.values(this.charts).map((chart) => chart.element));
  }

  /** runs: { name, colour, metrics }. */
  show(runs) {
    for (const [field, chart] of Object.entries(this.charts)) {
      const lines = runs.filter((run) => run.metrics.fields).map((run) => ({ name: run.name, colour: run.colour, x: run.metrics.fields.game_frames, y: run.metrics.fields[field] }));
      const useful = field !== "rooms" || lines.some((line) => line.y.some((value) => value > 0));
      chart.element.hidden = !useful;
      if (useful) chart.show(lines);
    }
  }

  mark(now) {
    for (const chart of Object.values(this.charts)) chart.mark(now);
  }
}

// What is drawn in two dimensions below and above the cells: axes, branches, the way to a cell, the lasso.

import { ink, short } from "./dom.js";
import { ticks } from "./layouts.js";

const WAY = "#ff5a36";

/** Clears the layers below and above the cells; returns their contexts, in CSS pixels. */
export function begin(stage) {
  return [stage.layers[0], stage.layers[2]].map((canvas) => {
    const context = canvas.getContext("2d");
    context.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
    context.clearRect(0, 0, stage.width, stage.height);
    return context;
  });
}

function marks(stage, axis, length, each) {
  return ticks(axis.low, axis.high, Math.max(2, length / each), axis.type === "f8" ? 0 : 1);
}

/** Draws lines below the cells, and numbers above them. */
export function drawAxes([below, above], stage, { across, down }) {
  const quiet = ink("--quiet"), paper = ink("--stage");
  below.strokeStyle = ink("--faint");
  below.lineWidth = 1;
  above.font = "11px system-ui, sans-serif";
  above.lineJoin = "round";
  const write = (text, left, top) => {
    above.lineWidth = 3;
    above.strokeStyle = paper;
    above.strokeText(text, left, top);
    above.fillStyle = quiet;
    above.fillText(text, left, top);
  };
  const label = (axis, value) => (axis.texts ? axis.texts[value] || "none" : short(value));
  const line = (...ends) => {
    below.beginPath();
    below.moveTo(ends[0], ends[1]);
    below.lineTo(ends[2], ends[3]);
    below.stroke();
  };
  for (const value of marks(stage, across, stage.width, 90)) {
    const [left] = stage.toScreen(across.at(value), 0);
    line(left, 0, left, stage.height);
    write(label(across, value), left + 3, stage.height - 6);
  }
  write(`${across.name} →`, stage.width - above.measureText(`${across.name} →`).width - 8, stage.height - 20);
  if (!down) return;
  for (const value of marks(stage, down, stage.height, 60)) {
    const [, top] = stage.toScreen(0, down.at(value));
    line(0, top, stage.width, top);
    if (top > 30 && top < stage.height - 24) write(label(down, value), 4, top - 3); // the names have the corners
  }
  const downwards = down.at(down.high) > down.at(down.low);
  write(`${down.name} ${downwards ? "↓" : "↑"}`, 4, 13);
}

/** Draws the branches of the tree: from the last cell before each one, across to it. */
export function drawBranches(context, stage, places, parents, isShown) {
  context.beginPath();
  for (let i = 0; i < parents.length; i++) {
    const parent = parents[i];
    if (parent < 0 || !isShown(i)) continue;
    const [left, top] = stage.toScreen(places[3 * parent], places[3 * parent + 1]);
    const [right, bottom] = stage.toScreen(places[3 * i], places[3 * i + 1]);
    context.moveTo(left, top);
    context.lineTo(left, bottom);
    context.lineTo(right, bottom);
  }
  context.strokeStyle = ink("--branch");
  context.lineWidth = 1;
  context.stroke();
}

/** Draws a line through cells; across and down only if it is `angular`, as the branches of the tree are. */
export function drawWay(context, stage, places, entries, angular) {
  context.lineJoin = "round";
  for (const [width, colour] of [[4, "#000a"], [2, WAY]]) {
    context.beginPath();
    let before = -1;
    for (const entry of entries) {
      if (entry < 0 || entry === before || !Number.isFinite(places[3 * entry])) continue;
      const [left, top] = stage.toScreen(places[3 * entry], places[3 * entry + 1]);
      if (before < 0) context.moveTo(left, top);
      else {
        if (angular) context.lineTo(stage.toScreen(places[3 * before], 0)[0], top);
        context.lineTo(left, top);
      }
      before = entry;
    }
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }
}

/** Draws a frame around a cell. */
export function drawFrame(context, stage, places, aspect, entry, { colour = WAY, grow = 6 } = {}) {
  if (entry === null || entry < 0 || !Number.isFinite(places[3 * entry])) return;
  const [left, top] = stage.toScreen(places[3 * entry], places[3 * entry + 1]);
  const wide = Math.max(10, places[3 * entry + 2] * stage.camera.zoom + grow);
  const high = Math.max(10, places[3 * entry + 2] * aspect * stage.camera.zoom + grow);
  for (const [width, ring] of [[4, "#000c"], [2, colour]]) {
    context.lineWidth = width;
    context.strokeStyle = ring;
    context.strokeRect(left - wide / 2, top - high / 2, wide, high);
  }
}

export function drawLasso(context, stage) {
  context.beginPath();
  for (const [x, y] of stage.polygon) context.lineTo(...stage.toScreen(x, y));
  context.closePath();
  context.fillStyle = "#1f6fc233";
  context.strokeStyle = ink("--accent");
  context.lineWidth = 1.5;
  context.fill();
  context.stroke();
}

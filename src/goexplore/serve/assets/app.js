// The page: which runs are shown, what all of them have in common, and the keyboard.

import { Metrics, follow } from "./api.js";
import { CATEGORIES } from "./colour.js";
import { SearchCurves } from "./curves.js";
import { Details } from "./details.js";
import { ago, command, make, short, whole } from "./dom.js";
import { MEANING, SearchPane } from "./pane.js";
import { TrainingPane } from "./training.js";

const $ = (id) => document.getElementById(id);
const REPLAY_SECONDS = 12;

const views = []; // one for each run: { number, colour, sight, metrics, pane, shown }
let active = null; // the view that tools and details are about
let time = Infinity;
let following = null; // the animation of a replay

const details = new Details($("details"), { clear });
const curves = new SearchCurves($("curves"), (now) => setTime(now));

const searches = () => views.filter((view) => view.shown && view.sight.kind === "search");
const ready = () => searches().filter((view) => view.pane?.data.about);

// Runs

function onRuns(sights) {
  sights.forEach((sight, number) => {
    if (!views[number]) {
      views[number] = { number, colour: CATEGORIES[number % CATEGORIES.length], sight, metrics: new Metrics(number), shown: number === 0 };
      if (!active) active = views[number];
    }
    const view = views[number], before = view.sight;
    view.sight = sight;
    if (view.shown) update(view, before);
  });
  drawRuns();
  drawNotices();
}

/** Brings what is shown of a run up to date; one update at a time, and another one if something came meanwhile. */
async function update(view, before = null) {
  if (view.updating) {
    view.again = true;
    return;
  }
  view.updating = true;
  try {
    if (!view.pane) open(view);
    const { sight } = view, metrics = sight.metrics ?? { count: 0, epoch: 0 };
    if (metrics.count !== view.metrics.count || metrics.epoch !== (before?.metrics?.epoch ?? metrics.epoch) || !view.metrics.fields) {
      await view.metrics.update();
      drawCurves();
      if (sight.kind === "training") view.pane.update();
    }
    if (sight.version && sight.version !== view.version && sight.state !== "gone") {
      const first = !view.version;
      if (first && view.pane.data) view.pane.filter = applied;
      await view.pane.refresh();
      view.version = sight.version;
      if (view === active || first) drawTools();
      if (sight.kind === "training" && view === active) view.pane.details($("details"));
      else if (view.pane.data) view.version = view.pane.data.about.version;
      setTime(time);
    }
    view.trouble = null;
  } catch (error) {
    view.trouble = error.message;
    view.again = true; // a newer checkpoint has come between, or the server is away: it may be back
  }
  view.updating = false;
  drawNotices();
  if (view.again) {
    view.again = false;
    setTimeout(() => update(view), view.trouble ? 2000 : 500);
  }
}

function open(view) {
  const events = {
    pick: (pane, here) => {
      activate(view);
      if (here.length) details.show(pane, here[0], here);
    },
    lasso: (pane, mask) => {
      activate(view);
      details.select(pane, mask);
    },
  };
  view.pane = view.sight.kind === "training"
    ? new TrainingPane(view.number, view.sight, view.metrics, events)
    : new SearchPane(view.number, view.sight, events);
  const after = views.slice(view.number + 1).find((other) => other.pane && other.shown);
  $("panes").insertBefore(view.pane.element, after?.pane.element ?? null);
  view.pane.element.addEventListener("focusin", () => activate(view));
}

function activate(view) {
  if (active === view) return;
  active = view;
  drawTools();
  if (view.sight.kind === "training" && view.pane?.about) {
    details.clear();
    view.pane.details($("details"));
  } else details.clear();
  drawRuns();
}

function toggle(view) {
  view.shown = !view.shown;
  if (view.shown) {
    if (view.pane) view.pane.element.hidden = false;
    update(view);
    activate(view);
  } else {
    if (view.pane) view.pane.element.hidden = true;
    if (active === view) {
      const other = views.find((each) => each.shown && each.pane);
      if (other) activate(other);
    }
  }
  drawRuns();
  drawCurves();
  drawTools();
}

const STATES = { running: "running", stalled: "stalled?", stopped: "not running", gone: "gone", broken: "cannot be read" };

function drawRuns() {
  const buttons = views.map((view) => {
    const dot = make("i");
    dot.style.background = view.colour;
    const state = make("span", { className: "state", "data-state": view.sight.state }, STATES[view.sight.state] ?? view.sight.state);
    const button = make("button", { type: "button", "aria-pressed": String(view.shown), title: view.sight.path }, dot, make("b", {}, view.sight.name), state);
    button.addEventListener("click", () => toggle(view));
    return button;
  });
  const focused = [...$("runs").children].indexOf(document.activeElement);
  $("runs").replaceChildren(...buttons);
  if (focused >= 0) buttons[focused]?.focus();
  document.title = `goexplore: ${views.map((view) => view.sight.name).join(", ")}`;
}

function drawNotices() {
  const lines = [];
  for (const { sight, shown, trouble } of views) {
    if (!shown) continue;
    if (sight.state === "gone") lines.push([sight.name, "its folder is not there any more; what was read last is still shown, and the page goes on when the folder is back"]);
    else if (sight.message) lines.push([sight.name, sight.message]);
    else if (trouble) lines.push([sight.name, trouble]);
    else if (sight.state === "stalled") lines.push([sight.name, `a process works on it, but has written nothing for ${ago(sight.silent ?? 60)}`]);
  }
  const said = lines.map(([name, text]) => make("p", {}, make("b", {}, name), `: ${text}`));
  const stopped = views.filter((view) => view.shown && view.sight.state === "stopped" && view.wasRunning && view.sight.resume);
  for (const view of stopped) said.push(make("p", {}, make("b", {}, view.sight.name), " has stopped. To resume it:", command(view.sight.resume)));
  for (const view of views) if (view.sight.state === "running") view.wasRunning = true;
  if (said.map((each) => each.textContent).join("\n") !== $("notices").dataset.said) {
    $("notices").dataset.said = said.map((each) => each.textContent).join("\n");
    $("notices").replaceChildren(...said);
  }
}

// Tools

function options(select, names, chosen, label = (name) => name) {
  select.replaceChildren(...names.map((name) => make("option", { value: name, selected: name === chosen }, label(name))));
}

function drawTools() {
  const pane = active?.sight.kind === "search" ? active.pane : null, about = pane?.data.about;
  $("tools").hidden = !about;
  $("time").hidden = !ready().length;
  $("curves").hidden = !searches().length;
  if (!about) return;
  const titles = { map: "map of rooms", tree: "tree of trajectories", columns: "two columns" };
  options($("layout"), pane.layouts(), pane.layout.name, (name) => titles[name]);
  const numbers = pane.numbers().map((column) => column.name);
  options($("across"), numbers, pane.layout.across);
  options($("down"), numbers, pane.layout.down);
  $("across-label").hidden = $("down-label").hidden = pane.layout.name !== "columns";
  const colours = about.columns.filter((column) => column.high > column.low || column.name === pane.colour).map((column) => column.name);
  if (about.has_probabilities) colours.push("probability");
  options($("colour"), colours, pane.colour, (name) => (MEANING[name] ? `${name.replaceAll("_", " ")}` : name));
  $("filter-names").replaceChildren(...about.names.map((name) => make("option", { value: `${name} == ` })));
}

async function relayout() {
  const layout = { name: $("layout").value, across: $("across").value, down: $("down").value };
  await attempt(async () => {
    for (const { pane } of ready()) if (pane.layouts().includes(layout.name)) await pane.setLayout(layout);
  });
  drawTools();
}

async function attempt(action) {
  try {
    await action();
    say("");
  } catch (error) {
    say(error.message, true);
  }
}

function say(text, wrong = false) {
  $("filter-said").textContent = text;
  $("filter-said").classList.toggle("wrong", wrong);
}

for (const id of ["layout", "across", "down"]) $(id).addEventListener("change", relayout);
$("colour").addEventListener("change", async () => {
  const name = $("colour").value;
  if (name === "probability") say("computing …");
  await attempt(async () => {
    for (const { pane } of ready()) if (pane.data.column(name) && (name !== "probability" || pane.data.about.has_probabilities)) await pane.setColour(name);
  });
});
$("tools").addEventListener("submit", (event) => {
  event.preventDefault();
  filter();
});
$("filter").addEventListener("change", filter);

let applied = "";

async function filter() {
  const condition = $("filter").value;
  if (condition === applied) return; // Enter changes the field and submits the form
  applied = condition;
  let found = 0, all = 0, wrong = null;
  for (const { pane } of ready()) {
    try {
      found += await pane.setFilter(condition);
      all += pane.rows;
    } catch (error) {
      wrong = error;
    }
  }
  $("filter").setAttribute("aria-invalid", String(Boolean(wrong)));
  if (wrong) say(wrong.message, true);
  else say(condition.trim() ? `${whole(found)} of ${whole(all)} cells` : "");
}

function lasso(on = $("lasso").getAttribute("aria-pressed") !== "true") {
  $("lasso").setAttribute("aria-pressed", String(on));
  for (const { pane } of searches()) {
    if (!pane) continue;
    pane.stage.lassoing = on;
    pane.stage.element.classList.toggle("lasso", on);
  }
}

function clear() {
  for (const { pane } of ready()) pane.clear();
  details.clear();
}

function best() {
  const view = active && ready().includes(active) ? active : ready()[0];
  if (view) details.show(view.pane, view.pane.data.about.best);
}

$("lasso").addEventListener("click", () => lasso());
$("fit").addEventListener("click", () => views.forEach((view) => view.shown && view.pane?.fit()));
$("best").addEventListener("click", best);
$("help").addEventListener("click", help);

function help() {
  $("keys").hidden = !$("keys").hidden;
  $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
}

// Time

const end = () => Math.max(1, ...ready().map((view) => view.pane.frames ?? 1));

function setTime(gameFrames) {
  const last = end();
  time = gameFrames >= last ? Infinity : Math.max(0, gameFrames);
  const at = Math.min(time, last);
  $("slider").value = Math.round((1000 * at) / last);
  $("now").textContent = `${time === Infinity ? "now: " : ""}${short(at)} game frames`;
  $("slider").setAttribute("aria-valuetext", $("now").textContent);
  for (const { pane } of ready()) pane.setTime(time);
  curves.mark(time === Infinity ? null : time);
}

function drawCurves() {
  curves.show(searches().map(({ sight, colour, metrics }) => ({ name: sight.name, colour, metrics })));
}

function replay() {
  if (following) {
    stop();
    return;
  }
  const begin = time === Infinity ? 0 : time, last = end(), started = performance.now();
  $("play").textContent = "❚❚";
  const step = (now) => {
    const at = begin + ((now - started) / 1000 / REPLAY_SECONDS) * last;
    setTime(at);
    if (at >= last) stop();
    else following = requestAnimationFrame(step);
  };
  following = requestAnimationFrame(step);
}

function stop() {
  cancelAnimationFrame(following);
  following = null;
  $("play").textContent = "▶";
}

$("slider").addEventListener("input", () => {
  stop();
  setTime(($("slider").value / 1000) * end());
});
$("play").addEventListener("click", replay);

// Keyboard

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    lasso(false);
    clear();
    document.activeElement?.blur?.();
    return;
  }
  if (event.target.closest("input, select, textarea, video")) return;
  const keys = {
    "/": () => $("filter").focus(), l: () => lasso(), b: best, "?": help,
    n: () => details.step?.(1), p: () => details.step?.(-1),
  };
  if (event.key === " " && event.target.closest("button, a, summary")) return;
  if (event.key === " ") replay();
  else if (keys[event.key.toLowerCase()]) keys[event.key.toLowerCase()]();
  else return;
  event.preventDefault();
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => views.forEach((view) => view.pane?.stage.draw()));

follow(onRuns, (there) => {
  $("connection").textContent = there ? "" : "The server does not answer; trying again …";
  $("connection").classList.toggle("wrong", !there);
});

export { views }; // for tests and benchmarks, which look at what is drawn

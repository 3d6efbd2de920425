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
let active = null; // the view that details are about
let time = Infinity;
let following = null; // the animation of a replay

const details = new Details($("details"), { clear, shown: revealDetails });
const curves = new SearchCurves($("curves"), (now) => setTime(now));

const searches = () => views.filter((view) => view.shown && view.sight.kind === "search");
const ready = () => searches().filter((view) => view.pane?.loaded);

/** The search that tools are about: the active one, or the first if a training is active. */
const subject = () => (ready().includes(active) ? active : ready()[0]);

// Runs

function onRuns(sights) {
  sights.forEach((sight, number) => {
    if (!views[number]) {
      views[number] = { number, colour: CATEGORIES[number % CATEGORIES.length], sight, metrics: new Metrics(number), shown: number === 0 };
      if (!active) active = views[number];
    }
    const view = views[number], before = view.sight;
    view.sight = sight;
    if (sight.run && before.run && sight.run !== before.run) forget(view);
    if (sight.state === "running") view.wasRunning = true;
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
    if (!view.version) view.pane.wait?.(view.sight);
    const { pane, sight } = view, metrics = sight.metrics ?? { count: 0, epoch: 0 };
    if (metrics.count !== view.metrics.count || metrics.epoch !== (before?.metrics?.epoch ?? metrics.epoch) || !view.metrics.fields) {
      await view.metrics.update();
      drawCurves();
      if (sight.kind === "training") pane.update();
    }
    if (sight.version && sight.version !== view.version && sight.state !== "gone") {
      const isFirst = !view.version;
      await pane.refresh();
      if (pane !== view.pane) return; // another run is in the folder
      view.version = pane.data?.about.version ?? sight.version;
      if (sight.kind === "training" && view === active) pane.details($("details"));
      if (failed) say("");
      drawTools();
      setTime(time);
      drawFound();
      if (isFirst) await join(view);
    }
    view.trouble = null;
  } catch (error) {
    view.trouble = error.message;
    view.again = true; // a newer checkpoint has come between, or the server is away: it may be back
  } finally {
    view.updating = false;
  }
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
    renumbered: (pane) => {
      if (details.pane === pane) details.clear();
    },
  };
  const Pane = view.sight.kind === "training" ? TrainingPane : SearchPane;
  view.pane = new Pane(view.number, view.sight, view.metrics, events);
  const dot = make("i"), after = views.slice(view.number + 1).find((other) => other.pane);
  dot.style.background = view.colour;
  view.pane.element.querySelector("h2").prepend(dot);
  $("panes").insertBefore(view.pane.element, after?.pane.element ?? null);
  view.pane.element.addEventListener("focusin", () => activate(view));
  drawPanes();
}

/** Another run is in the folder: nothing that is known of the one before is true of it. */
function forget(view) {
  if (details.pane === view.pane || view === active) details.clear();
  view.pane?.element.remove();
  view.pane?.close?.();
  Object.assign(view, { pane: null, version: null, metrics: new Metrics(view.number), wasRunning: false, trouble: null });
}

function activate(view) {
  if (active === view) return;
  active = view;
  clearDetails();
  drawPanes();
  drawTools();
}

function toggle(view) {
  view.shown = !view.shown;
  if (view.pane) view.pane.element.hidden = !view.shown;
  if (view.shown) {
    update(view);
    activate(view);
    join(view);
  } else if (active === view) {
    const other = views.find((each) => each.shown && each.pane);
    if (other) activate(other);
    else {
      active = null;
      details.clear();
    }
  }
  drawRuns();
  drawPanes();
  drawCurves();
  drawTools();
  drawFound();
  if (ready().length) setTime(time);
}

/** Brings a pane that has not been there to what all of them have in common; `toggle` sets the time. */
async function join(view) {
  if (!ready().includes(view)) return;
  lasso($("lasso").getAttribute("aria-pressed") === "true");
  if (view.pane.filter !== applied) await applyFilter([view]);
}

/** Shows which pane is the active one, if there are several. */
function drawPanes() {
  const shown = views.filter((view) => view.shown);
  for (const view of views) view.pane?.element.classList.toggle("active", view === active && shown.length > 1);
  $("none").hidden = shown.length > 0;
}

const STATES = { running: "running", stalled: "stalled?", stopped: "not running", gone: "gone", broken: "cannot be read" };

/** Says how a run is. Runs of earlier versions do not tell how they ended: then "killed" may be wrong. */
function stateOf({ sight, wasRunning }) {
  if (sight.state !== "stopped") return STATES[sight.state] ?? sight.state;
  if (sight.outcome === "ended") return "ended";
  if (sight.outcome?.startsWith("failed")) return "failed";
  return wasRunning ? "killed" : STATES.stopped;
}

function drawRuns() {
  const buttons = views.map((view) => {
    const dot = make("i");
    dot.style.background = view.colour;
    const state = make("span", { className: "state", "data-state": stateOf(view) }, stateOf(view));
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
  for (const view of views) {
    const { sight } = view, state = stateOf(view);
    if (!view.shown || sight.state !== "stopped" || !(view.wasRunning || state === "failed")) continue;
    const how = { ended: " has ended.", failed: ` has ${sight.outcome}`, killed: " was killed." }[state];
    const again = state !== "ended" && sight.resume ? ["To resume it:", command(sight.resume)] : [];
    said.push(make("p", {}, make("b", {}, sight.name), `${how} `, ...again));
  }
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
  const pane = subject()?.pane, about = pane?.data.about;
  $("tools").hidden = $("time").hidden = !about;
  $("bottom").hidden = $("curves").hidden = !searches().length;
  if (!about) return;
  $("tools").dataset.layout = pane.layout.name;
  const titles = { map: "map of rooms", tree: "tree of trajectories", columns: "two columns" };
  options($("layout"), pane.layouts(), pane.layout.name, (name) => titles[name]);
  const numbers = pane.numbers().map((column) => column.name);
  options($("across"), numbers, pane.layout.across);
  options($("down"), numbers, pane.layout.down);
  const colours = about.columns.filter((column) => column.high > column.low || column.name === pane.colour).map((column) => column.name);
  if (about.has_probabilities) colours.push("probability");
  options($("colour"), colours, pane.colour, (name) => (MEANING[name] ? `${name.replaceAll("_", " ")}` : name));
  $("filter").placeholder = about.rooms.length ? "room == 5 and score > 100" : "score > 0 and length < 100";
  $("filter-names").replaceChildren(...about.names.map((name) => make("option", { value: `${name} == ` })));
}

async function relayout() {
  const layout = { name: $("layout").value, across: $("across").value, down: $("down").value };
  await attempt(ready().filter(({ pane }) => pane.layouts().includes(layout.name)), (pane) => pane.setLayout(layout));
  drawTools();
}

let failed = false; // what is said is what went wrong: a newer checkpoint may mend it

/** Asks something of each pane, says what goes wrong, and with which run if there are several; returns whether nothing did. */
async function attempt(chosen, action) {
  const wrong = [];
  for (const { sight, pane } of chosen) {
    try {
      await action(pane);
    } catch (error) {
      wrong.push(ready().length > 1 ? `${sight.name}: ${error.message}` : error.message);
    }
  }
  say(wrong.join("\n"), wrong.length > 0);
  return !wrong.length;
}

function say(text, wrong = false) {
  failed = wrong;
  $("said").textContent = text;
  $("said").classList.toggle("wrong", wrong);
}

for (const id of ["layout", "across", "down"]) $(id).addEventListener("change", relayout);
$("colour").addEventListener("change", async () => {
  const name = $("colour").value;
  if (name === "probability") say("Computing …");
  const has = ({ pane }) => pane.data.column(name) && (name !== "probability" || pane.data.about.has_probabilities);
  await attempt(ready().filter(has), (pane) => pane.setColour(name));
  drawTools();
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
  await applyFilter(ready());
}

async function applyFilter(chosen) {
  const condition = applied, right = await attempt(chosen, (pane) => pane.setFilter(condition));
  $("filter").setAttribute("aria-invalid", String(!right));
  drawFound();
}

/** Says how many cells the filter is true of, unless it cannot be applied to all runs that are shown. */
function drawFound() {
  const panes = ready().map(({ pane }) => pane), sum = (count) => whole(panes.reduce((all, pane) => all + count(pane), 0));
  const isApplied = applied.trim() && panes.every((pane) => pane.filter === applied);
  $("found").textContent = isApplied ? `${sum((pane) => pane.matching)} of ${sum((pane) => pane.rows)} cells` : "";
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
  clearDetails();
}

/** Shows no cell; of a training that is active, its evaluations. */
function clearDetails() {
  details.clear();
  if (active?.sight.kind !== "training") return;
  $("details").replaceChildren();
  if (active.pane?.about) active.pane.details($("details"));
}

function best() {
  const view = subject();
  if (!view) return;
  activate(view);
  details.show(view.pane, view.pane.data.about.best);
}

/** On a narrow screen the details are below the map: brings them up, and leaves part of the map in sight. */
function revealDetails() {
  if (matchMedia("(max-width: 760px)").matches) $("details").scrollIntoView({ behavior: "smooth", block: "start" });
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

const stage = () => (views.includes(active) ? active : subject())?.pane?.stage;

$("filter").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  $("filter").value = applied; // what was half typed is not meant
  stage()?.element.focus({ preventScroll: true });
  event.stopPropagation();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    lasso(false);
    clear();
    say("");
    if (document.activeElement === document.body || $("details").contains(document.activeElement)) stage()?.element.focus({ preventScroll: true });
    return;
  }
  if (event.target.closest("input, select, textarea")) return;
  const keys = {
    "/": () => $("filter").focus(), l: () => lasso(), b: best, "?": help,
    n: () => details.step?.(1), p: () => details.step?.(-1),
  };
  if (event.key === " " && event.target.closest("button, a, summary")) return;
  const elsewhere = event.target.closest("button, a, summary, .scroll, .details"); // these have keys of their own
  if (event.key === " ") replay();
  else if (keys[event.key.toLowerCase()]) keys[event.key.toLowerCase()]();
  else if (elsewhere || !stage()?.key(event)) return;
  event.preventDefault();
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => views.forEach((view) => view.pane?.stage.draw()));

follow(onRuns, (wrong) => {
  $("connection").textContent = wrong;
  $("connection").classList.toggle("wrong", Boolean(wrong));
});

export { views }; // for tests and benchmarks, which look at what is drawn

// One training: where it begins its rollouts, how often they succeed, and where the policy's lives end.

import { json } from "./api.js";
import { CATEGORIES, bar, colourOf } from "./colour.js";
import { Chart } from "./curves.js";
import { ink, key, make, short, shown, whole } from "./dom.js";
import { begin } from "./overlay.js";
import { Player } from "./player.js";
import { Rooms } from "./rooms.js";
import { Stage } from "./stage.js";

const LISTED = 15, STRETCHES = 40;
const HOW = {
  success: ["success", "#35a35a"],
  death: ["death", "#d43f3f"],
  "game over": ["game over", "#d43f3f"],
  lagging: ["too slow", "#d99a2b"],
  truncated: ["truncated", "#8a8f98"],
};

export class TrainingPane {
  constructor(number, sight, metrics, events) {
    Object.assign(this, { number, metrics, events, evaluation: 0, about: null, ended: null, onMap: null });
    this.stage = new Stage(`Where rollouts and lives end in ${sight.name}: arrows move, plus and minus zoom`);
    this.rooms = new Rooms(number, this.stage);
    this.stage.ondraw = () => this.#draw();
    this.facts = make("p", { className: "facts" });
    const options = { height: 130, sync: `training-${number}` };
    this.charts = {
      starts: new Chart("Starting points over training frames", options),
      along: new Chart("Success of rollouts that begin along the way, by tenths of the way, in percent", { ...options, range: [0, 100] }),
      success: new Chart("Success from the real start and per demonstration, in percent", { ...options, range: [0, 100] }),
      endings: new Chart("How the last rollouts ended, in percent", { ...options, range: [0, 100] }),
      rollouts: new Chart("Rollouts that have ended", options),
      entropy: new Chart("Entropy of the policy", options),
      value: new Chart("Value loss", options),
    };
    this.choice = make("select", { "aria-label": "On the map" });
    this.choice.addEventListener("change", () => {
      this.onMap = this.choice.value;
      this.#explain();
      this.stage.draw();
    });
    this.legend = make("p", { className: "scale" });
    this.recent = make("div", { className: "rollouts" });
    this.body = make("div", { className: "training" }, this.stage.element, this.legend,
      make("div", { className: "charts" }, ...Object.values(this.charts).map((chart) => chart.element)));
    this.element = make("section", { className: "pane", "aria-label": sight.name },
      make("header", {}, make("h2", {}, sight.name), this.facts, make("label", { className: "quiet", hidden: true }, "On the map: ", this.choice)), this.body);
    for (const chart of Object.values(this.charts)) chart.element.hidden = true; // until it has something to show
  }

  async refresh() {
    this.about = await json(`runs/${this.number}`);
    this.rooms.places = this.about.rooms;
    this.stage.element.hidden = this.legend.hidden = !this.about.rooms.length;
    this.body.classList.toggle("flat", !this.about.rooms.length);
    await this.#fetch();
    this.update();
    this.stage.draw();
    this.element.dataset.painted = String(Math.round(performance.now()));
  }

  /** Fetches the rollouts that ended last, and shows them. */
  async #fetch() {
    try {
      this.ended = await json(`runs/${this.number}/rollouts`);
    } catch { // the page says elsewhere that the server is away
      return;
    }
    this.#offer();
    this.#list();
    this.#frame();
    const { training_frames, ending } = this.ended, count = ending.length, x = [], shares = Object.fromEntries(Object.keys(HOW).map((how) => [how, []]));
    const least = Math.max(20, Math.ceil(count / STRETCHES));
    for (let begin = 0, end = 1; end <= count; end++) {
      // All that ended in one update belong together.
      if (end - begin < least || training_frames[end] === training_frames[end - 1]) continue;
      x.push(training_frames[end - 1]);
      for (const how of Object.keys(HOW)) shares[how].push((100 * ending.slice(begin, end).filter((one) => one === how).length) / (end - begin));
      begin = end;
    }
    this.charts.endings.element.hidden = x.length < 2;
    if (x.length >= 2) this.charts.endings.show(Object.entries(HOW).filter(([how]) => shares[how].some(Boolean)).map(([how, [name, colour]]) => ({ name, colour, x, y: shares[how] })));
    this.stage.draw();
  }

  /** Shows the rooms in which something ends; the others are there when one zooms out. */
  #frame() {
    if (!this.about.rooms.length) return;
    const { level, room } = this.ended, key = (one) => `${one.level}/${one.room}`;
    const rooms = new Set([...this.about.demonstrations.map(key), ...this.about.evaluations.flatMap((each) => each.deaths.map(key))]);
    for (let i = 0; i < room.length; i++) rooms.add(`${level[i]}/${room[i]}`);
    const box = this.rooms.boxOf((place) => rooms.has(key(place)));
    if (String(box) !== String(this.stage.box)) this.stage.show(box);
  }

  /** Offers what the map can show: rollouts of the training, or lives of an evaluation. */
  #offer() {
    const offers = [];
    if (this.ended?.ending.length) offers.push(["rollouts", `where the last ${whole(this.ended.ending.length)} rollouts ended`]);
    if (this.about.evaluations.length) offers.push(["lives", "where lives end in the evaluation"]);
    if (!offers.some(([name]) => name === this.onMap)) this.onMap = offers[0]?.[0] ?? null;
    this.choice.replaceChildren(...offers.map(([value, text]) => make("option", { value, selected: value === this.onMap }, text)));
    this.choice.parentElement.hidden = !offers.length || !this.about.rooms.length;
    this.#explain();
  }

  /** Says what the map shows. */
  #explain() {
    const parts = [];
    if (this.onMap === "rollouts") {
      const there = new Set(this.ended.ending.map((ending) => HOW[ending]?.[0] ?? ending));
      const endings = new Map(Object.values(HOW).filter(([name]) => there.has(name)));
      const numbers = this.ended.place.includes(null) ? "; a number counts rollouts whose position is not known" : "";
      parts.push(`Each dot is where a rollout ended, the newest the most opaque${numbers}:`, ...[...endings].map(([name, colour]) => key(colour, name)));
    } else if (this.onMap === "lives") parts.push("The numbers are lives that ended in a room.");
    this.legend.replaceChildren(...parts);
  }

  #list() {
    const { ended } = this, count = ended.ending.length;
    if (!count) return this.recent.replaceChildren();
    const has = this.about.rooms.length > 0, origin = this.about.method === "search" ? "recording" : "demonstration", rows = [];
    for (let i = count - 1; i >= Math.max(0, count - LISTED); i--) {
      const from = ended.start[i] === null ? "own state" : ended.start[i] === 0 ? "real start" : `${origin} ${whole(ended.demonstration[i])}, frame\u00a0${whole(ended.start[i])}`;
      const [name, colour] = HOW[ended.ending[i]] ?? [ended.ending[i], "transparent"];
      rows.push(make("tr", {}, make("td", {}, short(ended.training_frames[i])), make("td", {}, from), make("td", {}, key(colour, name)), has ? make("td", {}, `${ended.level[i]} / ${ended.room[i]}`) : null));
    }
    this.recent.replaceChildren(make("h2", {}, "Rollouts that ended last"),
      make("p", { className: "quiet" }, `At: training frames of the training. Frame: training frame of the ${origin}.`),
      make("table", {}, make("thead", {}, make("tr", {}, ...["at", "began at", "ended by", ...(has ? ["level / room"] : [])].map((name) => make("th", {}, name)))), make("tbody", {}, ...rows)));
  }

  /** Shows the metrics as they are now. */
  update() {
    const fields = this.metrics.fields;
    if (!fields || !this.about) return;
    if (this.ended && this.seen !== this.metrics.count) this.#fetch();
    this.seen = this.metrics.count;
    const x = fields.training_frames, colour = (i) => CATEGORIES[i % CATEGORIES.length];
    const each = (field, scale = 1) => Array.from({ length: Math.max(0, ...field.map((row) => row.length)) }, (_, i) => ({
      name: `demonstration ${i}`, colour: colour(i), x, y: field.map((row) => (row[i] === undefined || row[i] === null ? null : row[i] * scale)),
    }));
    const line = (name, values, scale = 1) => ({ name, colour: ink("--ink"), x, y: values.map((value) => (value === null ? null : value * scale)) });
    const some = (lines) => lines.filter((one) => one.y.some((value) => value !== null && value !== undefined));
    const show = (chart, lines) => {
      const useful = some(lines);
      chart.element.hidden = !useful.length;
      if (useful.length) chart.show(useful);
    };
    show(this.charts.starts, each(fields.starting_points));
    show(this.charts.along, each(fields.success_along_the_way, 100).map((one, i, all) => ({ ...one, name: `tenth ${i + 1}`, colour: colourOf(all.length > 1 ? i / (all.length - 1) : 0) })));
    show(this.charts.success, [line("real start", fields.real_start_success, 100), ...each(fields.success_rates, 100).map((one) => ({ ...one, dashed: true }))]);
    show(this.charts.rollouts, [line("rollouts", fields.rollouts)]);
    show(this.charts.entropy, [line("entropy", fields.loss_entropy)]);
    show(this.charts.value, [line("value loss", fields.loss_value)]);
    const last = (field) => fields[field][fields[field].length - 1];
    const facts = [["", this.about.problem], ["", this.about.method && `method ${this.about.method}`]];
    if (x.length) {
      facts.push([short(last("training_frames")), "training frames"], [whole(last("rollouts")), "rollouts"]);
      if (last("real_start_success") !== null) facts.push([`${Math.round(100 * last("real_start_success"))} %`, "success from the real start"]);
      const starts = last("starting_points");
      if (starts.length) facts.push([starts.slice(0, 6).map(whole).join(", "), `of ${this.about.demonstrations.slice(0, 6).map((demo) => whole(demo.training_frames)).join(", ")}: starting points`]);
      if (last("activity")) facts.push(["", last("activity")]);
    }
    this.facts.replaceChildren(...facts.filter(([number, what]) => number || what).map(([number, what]) => make("span", {}, make("b", {}, number), ` ${what}`)));
  }

  fit() {
    this.stage.fit();
  }

  clear() {}
  setTime() {}

  #draw() {
    if (!this.stage.layers[0].width || !this.about) return;
    const [below, above] = begin(this.stage);
    if (this.onMap === "rollouts") {
      this.rooms.draw(below);
      this.#drawRollouts(above);
      return;
    }
    const deaths = new Map((this.about.evaluations[this.evaluation]?.deaths ?? []).map((death) => [`${death.level}/${death.room}`, death.lives]));
    const most = Math.max(1, ...deaths.values());
    const shade = (context, place, left, top, wide, high) => {
      const lives = deaths.get(`${place.level}/${place.room}`);
      if (!lives) return;
      context.globalAlpha = 0.2 + (0.45 * lives) / most;
      context.fillStyle = "#d43f3f";
      context.fillRect(left, top, wide, high);
      context.globalAlpha = 1;
      const size = Math.max(10, Math.min(30, high / 3));
      context.font = `600 ${size}px system-ui, sans-serif`;
      context.textAlign = "center";
      context.lineWidth = 3;
      context.strokeStyle = "#000c";
      context.strokeText(short(lives), left + wide / 2, top + high / 2 + size / 3);
      context.fillStyle = "#fff";
      context.fillText(short(lives), left + wide / 2, top + high / 2 + size / 3);
      context.textAlign = "left";
      context.font = "11px system-ui, sans-serif";
    };
    this.rooms.draw(below, { shade });
  }

  /** A dot for each of the last rollouts, the newest on top. Those without a position are a number in their room. */
  #drawRollouts(context) {
    const { ended, stage } = this, unplaced = new Map(), count = ended.ending.length;
    const radius = Math.max(2, Math.min(5, 2 * stage.camera.zoom));
    for (let i = 0; i < count; i++) {
      const place = ended.place[i];
      if (!place) {
        const room = `${ended.level[i]}/${ended.room[i]}`;
        unplaced.set(room, (unplaced.get(room) ?? 0) + 1);
        continue;
      }
      const [x, y] = stage.toScreen(...place);
      context.globalAlpha = 0.25 + (0.6 * (i + 1)) / count;
      context.fillStyle = HOW[ended.ending[i]]?.[1] ?? "#8a8f98";
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    context.font = "600 13px system-ui, sans-serif";
    context.lineWidth = 3;
    context.strokeStyle = "#000c";
    context.fillStyle = "#fff";
    for (const place of this.rooms.places) {
      const rollouts = unplaced.get(`${place.level}/${place.room}`);
      if (!rollouts) continue;
      const [x, y] = stage.toScreen((place.box[0] + place.box[2]) / 2, (place.box[1] + place.box[3]) / 2);
      context.strokeText(short(rollouts), x, y);
      context.fillText(short(rollouts), x, y);
    }
  }

  /** Shows the evaluations in the details: their episodes by no-ops and repetition, each with its video. */
  details(element) {
    this.player?.close();
    const { evaluations, unplayable } = this.about;
    if (!evaluations.length) {
      element.replaceChildren(this.recent, make("h2", {}, "Evaluations"),
        make("p", { className: "quiet" }, "None yet. goexplore evaluate plays the stochastic game and keeps its episodes; they appear here, each with its video."),
        ...(unplayable ? [make("p", { className: "wrong" }, unplayable)] : []));
      return;
    }
    const chosen = evaluations[this.evaluation] ?? evaluations[0];
    const select = make("select", { "aria-label": "Evaluation" }, ...evaluations.map((each, i) => make("option", { value: i, selected: i === this.evaluation },
      `${short(each.training_frames)} training frames, ${each.until_score === null ? "whole games" : `until ${shown(each.until_score)} points`}`)));
    select.addEventListener("change", () => {
      this.evaluation = Number(select.value);
      this.stage.draw();
      this.details(element);
    });
    const scores = chosen.episodes.map((episode) => episode.score), low = Math.min(...scores), high = Math.max(...scores);
    const holder = make("div");
    const grid = this.#episodes(chosen, low, high, (episode, text) => this.#watch(holder, chosen, episode, text));
    const rows = chosen.deaths.slice(0, 12).map((death) => make("tr", {}, make("td", {}, `level ${death.level}, room ${death.room}`), make("td", {}, whole(death.lives))));
    element.replaceChildren(...[
      make("h2", {}, "Evaluations"),
      make("div", { className: "row" }, select),
      make("p", { className: "number" }, `Policy score ${chosen.score}, ${whole(chosen.episodes.length)} episodes`),
      chosen.reached ? make("p", {}, chosen.reached) : null,
      make("h3", {}, "Episodes: no-ops across, repetitions down"),
      grid,
      make("p", { className: "scale" }, `${shown(low)} points`, high > low ? bar() : null, high > low ? shown(high) : null),
      holder,
      rows.length ? make("h3", {}, "Where lives end") : null,
      rows.length ? make("table", {}, make("tbody", {}, ...rows)) : null,
      this.recent,
      unplayable ? make("p", { className: "wrong" }, unplayable) : null,
    ].filter(Boolean));
  }

  /** Returns the episodes by no-ops and repetition, as buttons: one is in the order of Tab, and arrows go to the others. */
  #episodes(evaluation, low, high, onpick) {
    const different = (name) => [...new Set(evaluation.episodes.map((episode) => episode[name]))].sort((a, b) => a - b);
    const noOps = different("no_ops"), repetitions = different("repetition"), buttons = [];
    const grid = make("div", { className: "episodes", role: "group", "aria-label": "Episodes by no-ops and repetition" });
    grid.style.gridTemplateColumns = `1.4rem repeat(${noOps.length}, minmax(0, 1fr))`;
    grid.append(make("span"), ...noOps.map((count) => make("span", {}, count % 5 ? "" : String(count))));
    for (const repetition of repetitions) {
      grid.append(make("span", {}, String(repetition)));
      for (const count of noOps) {
        const episode = evaluation.episodes.find((each) => each.no_ops === count && each.repetition === repetition);
        const text = episode ? `${count} no-ops, repetition ${repetition}: score ${shown(episode.score)}, ${whole(episode.lives_lost)} lives lost` : "";
        const button = make("button", { type: "button", title: text, "aria-label": text, "aria-pressed": "false", disabled: !episode, tabIndex: buttons.length ? -1 : 0 });
        button.style.background = episode ? colourOf(high > low ? (episode.score - low) / (high - low) : 0) : "transparent";
        button.addEventListener("click", () => {
          for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
          onpick(episode, text);
        });
        buttons.push(button);
        grid.append(button);
      }
    }
    grid.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -noOps.length, ArrowDown: noOps.length }[event.key];
      const next = buttons[buttons.indexOf(event.target) + step];
      if (!step || !next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      event.preventDefault();
    });
    return grid;
  }

  #watch(holder, evaluation, episode, text) {
    this.player?.close();
    const number = this.about.evaluations.indexOf(evaluation);
    const film = { ...evaluation.film, pictures: Math.max(1, episode.game_frames - episode.no_ops + 1) };
    this.player = new Player(film, `runs/${this.number}/evaluations/${number}/episodes/${episode.no_ops}/${episode.repetition}/video`);
    holder.replaceChildren(make("h3", {}, text), this.player.element);
    this.player.play();
  }
}

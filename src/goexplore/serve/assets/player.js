// A video that is rendered while it plays: parts are asked for when they are needed, and put in their place.

import { bytes } from "./api.js";
import { make, whole } from "./dom.js";

const AHEAD = 2; // parts

export class Player {
  /**
   * film: { pictures, pictures_per_step, pictures_per_second, pictures_per_part, codecs };
   * path: where parts are; onstep is called with the training frame that is shown. Until it plays, a poster is shown.
   */
  constructor(film, path, onstep = () => {}) {
    this.film = film;
    this.path = path;
    this.onstep = onstep;
    this.parts = Math.ceil(film.pictures / film.pictures_per_part);
    this.seconds = film.pictures / film.pictures_per_second;
    this.video = make("video", { muted: true, playsInline: true, "aria-label": "How it was reached" });
    this.button = make("button", { type: "button", "aria-label": "Play the video", disabled: true }, "▶");
    this.scrub = make("input", { type: "range", className: "scrub", min: 0, max: this.#steps, value: 0, step: 1, "aria-label": "Training frame" });
    this.said = make("p", { className: "quiet number", role: "status" }, "Rendering …");
    this.rate = make("select", { "aria-label": "Speed" }, ...[0.25, 0.5, 1, 2, 4, 8].map((rate) => make("option", { value: rate, selected: rate === 1 }, `${rate} ×`)));
    this.whole = make("button", { type: "button", "aria-label": "Whole screen", title: "Whole screen" }, "Full");
    this.element = make("div", { className: "player" }, this.video, make("div", { className: "controls" }, this.button, this.scrub, this.whole),
      make("div", { className: "row" }, this.rate, this.said));
    this.loaded = new Set();
    this.waiting = [];
    this.closed = false;
    this.#listen();
    this.#open();
  }

  get #steps() {
    return Math.floor((this.film.pictures - 1) / this.film.pictures_per_step);
  }

  get step() {
    const picture = Math.round(this.video.currentTime * this.film.pictures_per_second);
    return Math.min(this.#steps, Math.ceil(picture / this.film.pictures_per_step));
  }

  /** Says what is true of the training frame that is shown. */
  say(text) {
    this.text = text;
    this.#tick();
  }

  #listen() {
    this.scrub.addEventListener("input", () => {
      this.video.currentTime = Math.min(this.seconds, (this.scrub.value * this.film.pictures_per_step) / this.film.pictures_per_second);
    });
    this.rate.addEventListener("change", () => (this.video.playbackRate = Number(this.rate.value)));
    for (const element of [this.video, this.button]) element.addEventListener("click", () => (this.video.paused ? this.play() : this.video.pause()));
    this.whole.addEventListener("click", () => this.video.requestFullscreen?.());
    for (const name of ["timeupdate", "seeking", "play"]) this.video.addEventListener(name, () => this.#tick());
    for (const name of ["play", "pause", "ended"]) {
      this.video.addEventListener(name, () => {
        this.button.textContent = this.video.paused ? "▶" : "❚❚";
        this.button.setAttribute("aria-label", this.video.paused ? "Play the video" : "Pause the video");
      });
    }
    this.video.addEventListener("error", () => {
      if (!this.closed) this.#fail("This browser cannot play the video: use the command below.");
    });
  }

  #open() {
    const type = `video/mp4; codecs="${this.film.codecs}"`;
    if (!window.MediaSource?.isTypeSupported(type)) {
      this.#fail("This browser cannot play the video: use the command below.");
      return;
    }
    const source = (this.source = new MediaSource());
    this.video.src = URL.createObjectURL(source);
    source.addEventListener("sourceopen", () => {
      if (this.closed || source.readyState !== "open") return; // another cell was clicked in between
      URL.revokeObjectURL(this.video.src);
      this.buffer = source.addSourceBuffer(type);
      source.duration = this.seconds;
      this.buffer.addEventListener("updateend", () => this.#append());
      this.#want(0).then(() => this.#tick());
    }, { once: true });
  }

  #tick() {
    if (this.closed) return;
    const step = this.step;
    if (document.activeElement !== this.scrub || !this.video.paused) this.scrub.value = step;
    const more = this.text?.(step);
    if (this.loaded.size) this.said.textContent = `training frame ${whole(step)} of ${whole(this.#steps)}${more ? ` · ${more}` : ""}`;
    this.onstep(step);
    if (!this.buffer) return;
    const now = Math.floor((this.video.currentTime * this.film.pictures_per_second) / this.film.pictures_per_part);
    const ahead = this.video.paused ? 0 : AHEAD; // nothing is rendered that nobody looks at
    for (let part = now; part <= Math.min(now + ahead, this.parts - 1); part++) this.#want(part);
  }

  async #want(part) {
    if (this.loaded.has(part) || this.closed) return;
    if (this.fetching) return; // one after the other: the next tick asks again
    this.fetching = true;
    try {
      const content = await bytes(`${this.path}/${part}`);
      this.loaded.add(part);
      this.button.disabled = false;
      this.waiting.push([part, content]);
      this.#append();
    } catch (error) {
      this.#fail(error.message);
    } finally {
      this.fetching = false;
    }
    this.#tick();
  }

  #append() {
    if (this.closed || this.buffer.updating || this.source.readyState !== "open") return;
    const next = this.waiting.shift();
    if (next) {
      const [part, content] = next;
      this.buffer.timestampOffset = (part * this.film.pictures_per_part) / this.film.pictures_per_second;
      this.buffer.appendBuffer(content);
    } else if (this.loaded.size === this.parts) this.source.endOfStream();
  }

  #fail(message) {
    this.closed = true;
    this.button.disabled = true;
    this.said.textContent = message;
    this.said.classList.add("wrong");
  }

  play() {
    this.video.play().catch(() => {}); // browsers may want a click first
  }

  close() {
    this.closed = true;
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
  }
}


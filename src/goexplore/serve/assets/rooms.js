// Rooms below the cells: real pictures, each fetched once, when it comes into view.

import { ink } from "./dom.js";

export class Rooms {
  #images = new Map();

  constructor(run, stage) {
    this.run = run;
    this.stage = stage;
    this.places = [];
  }

  /** The box of the rooms that were found. */
  get foundBox() {
    return this.boxOf((place) => place.found);
  }

  /** The box of some rooms, or of all if there are none of these. */
  boxOf(isOne) {
    const some = this.places.filter(isOne), boxes = (some.length ? some : this.places).map((place) => place.box);
    const least = (at) => Math.min(...boxes.map((box) => box[at])), most = (at) => Math.max(...boxes.map((box) => box[at]));
    return [least(0), least(1), most(2), most(3)];
  }

  /** Draws the rooms; those that were not found by then are plain, and `shade` draws over each. */
  draw(context, { then = Infinity, shade = null } = {}) {
    const { stage } = this, { zoom } = stage.camera;
    context.imageSmoothingEnabled = zoom < 1;
    context.font = "11px system-ui, sans-serif";
    const levels = new Map(), plain = new Path2D(), seen = [];
    for (const place of this.places) {
      const [left, top] = stage.toScreen(place.box[0], place.box[1]);
      const wide = (place.box[2] - place.box[0]) * zoom, high = (place.box[3] - place.box[1]) * zoom;
      const corner = levels.get(place.level) ?? [left, top];
      levels.set(place.level, [Math.min(left, corner[0]), Math.min(top, corner[1])]);
      if (left > stage.width || top > stage.height || left + wide < 0 || top + high < 0) continue;
      const image = place.found && (place.found_at ?? 0) <= then && wide > 5 ? this.#image(place) : null;
      const pictured = image?.complete && image.naturalWidth > 0;
      if (!pictured) plain.rect(left, top, wide, high);
      if (pictured || shade) seen.push({ place, image: pictured ? image : null, box: [left, top, wide, high] });
    }
    context.fillStyle = ink("--unknown");
    context.fill(plain);
    for (const { place, image, box } of seen) {
      if (image) context.drawImage(image, ...box);
      shade?.(context, place, ...box);
      if (image && box[2] > 34) this.#number(context, String(place.room), box);
    }
    if (levels.size < 2) return;
    context.fillStyle = ink("--quiet");
    let last = -Infinity;
    for (const [level, [left, top]] of levels) {
      if (top - last < 14 || top > stage.height + 14) continue; // no room for its name
      context.fillText(`level ${level}`, left, top - 5);
      last = top;
    }
  }

  #number(context, text, [left, top, , high]) {
    context.fillStyle = "#000b";
    context.fillRect(left + 2, top + high - 15, context.measureText(text).width + 6, 13);
    context.fillStyle = "#eee";
    context.fillText(text, left + 5, top + high - 5);
  }

  #image(place) {
    const key = `${place.level}/${place.room}`;
    if (!this.#images.has(key)) {
      const image = new Image();
      image.onload = () => this.stage.draw();
      // Without a picture, the room stays a plain tile. Asked for anew when there is a newer checkpoint.
      fetch(`api/runs/${this.run}/rooms/${key}`)
        .then(async (answer) => {
          if (answer.status === 200) image.src = URL.createObjectURL(await answer.blob());
          else setTimeout(() => this.#images.delete(key), 30000);
        })
        .catch(() => this.#images.delete(key));
      this.#images.set(key, image);
    }
    return this.#images.get(key);
  }
}

// A surface that can be moved and zoomed: with the pointer, two fingers, the wheel and the keyboard.

import { make } from "./dom.js";

const CLICK = 4; // CSS pixels that a click may wander

export class Stage {
  constructor(label) {
    this.layers = ["below", "points", "above"].map((name) => make("canvas", { className: name }));
    this.element = make("div", { className: "stage", tabIndex: 0, role: "application", "aria-label": label }, ...this.layers);
    this.camera = { x: 0, y: 0, zoom: 1 };
    this.box = [0, 0, 1, 1];
    this.lassoing = false;
    this.polygon = null;
    this.ratio = 1;
    this.#moved = false;
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(this.element);
  }

  #moved;
  #asked = false;
  #changed = false;
  #pointers = new Map();

  /**
   * Asks for a new picture with the next frame. What others set: ondraw(), onmore(), onpick(x, y),
   * onhover(x, y) or onhover(null), onlasso(polygon).
   */
  draw() {
    this.#changed = true;
    this.more();
  }

  /** Asks for the rest of a picture with the next frame, unless there is a new one. */
  more() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      const changed = this.#changed;
      this.#asked = this.#changed = false;
      if (changed) this.ondraw?.();
      else this.onmore?.();
    });
  }

  #resize() {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    for (const canvas of this.layers) {
      canvas.width = Math.round(clientWidth * this.ratio);
      canvas.height = Math.round(clientHeight * this.ratio);
    }
    if (!this.#moved) this.fit();
    this.ondraw?.(); // at once: a canvas that has another size is empty
  }

  get width() { return this.element.clientWidth; }
  get height() { return this.element.clientHeight; }

  /** Shows a box of the map: by default all of it. */
  fit(box = this.box, margin = 24) {
    const [left, top, right, bottom] = box;
    const wide = Math.max(1e-9, right - left), high = Math.max(1e-9, bottom - top);
    const zoom = Math.min((this.width - 2 * margin) / wide, (this.height - 2 * margin) / high);
    this.camera = { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.max(1e-9, zoom) };
    this.#moved = box !== this.box;
    this.draw();
  }

  /** Shows another box, unless somebody has moved the map. */
  show(box) {
    this.box = box;
    if (!this.#moved) this.fit();
  }

  /** Moves the camera so that a point can be seen. */
  reveal(x, y) {
    const [left, top] = this.toScreen(x, y);
    if (left > 20 && top > 20 && left < this.width - 20 && top < this.height - 20) return;
    this.camera = { ...this.camera, x, y };
    this.#moved = true;
    this.draw();
  }

  toScreen(x, y) {
    const { camera } = this;
    return [(x - camera.x) * camera.zoom + this.width / 2, (y - camera.y) * camera.zoom + this.height / 2];
  }

  toMap(left, top) {
    const { camera } = this;
    return [(left - this.width / 2) / camera.zoom + camera.x, (top - this.height / 2) / camera.zoom + camera.y];
  }

  zoomBy(factor, left = this.width / 2, top = this.height / 2) {
    const [x, y] = this.toMap(left, top);
    const whole = Math.min(this.width / (this.box[2] - this.box[0]), this.height / (this.box[3] - this.box[1]));
    const zoom = Math.min(2000 * whole, Math.max(0.3 * whole, this.camera.zoom * factor));
    const used = zoom / this.camera.zoom;
    this.camera = { x: x + (this.camera.x - x) / used, y: y + (this.camera.y - y) / used, zoom };
    this.#moved = true;
    this.draw();
  }

  panBy(right, down) {
    this.camera.x -= right / this.camera.zoom;
    this.camera.y -= down / this.camera.zoom;
    this.#moved = true;
    this.draw();
  }

  #listen() {
    const element = this.element;
    const at = (event) => {
      const box = element.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      this.zoomBy(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), ...at(event));
    }, { passive: false });
    element.addEventListener("pointerdown", (event) => {
      if (event.button > 0) return;
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, at(event));
      this.start = at(event);
      this.wandered = false;
      if ((this.lassoing || event.shiftKey) && this.#pointers.size === 1) this.polygon = [this.toMap(...at(event))];
      else element.classList.add("moving");
    });
    element.addEventListener("pointermove", (event) => {
      const now = at(event), before = this.#pointers.get(event.pointerId);
      if (!before) {
        this.onhover?.(...now);
        return;
      }
      if (Math.hypot(now[0] - this.start[0], now[1] - this.start[1]) > CLICK) this.wandered = true;
      if (this.polygon) {
        this.polygon.push(this.toMap(...now));
        this.draw();
      } else if (this.#pointers.size === 2) {
        const [other] = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const spread = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]) || 1;
        this.zoomBy(spread(now) / spread(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
        this.panBy((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      } else if (this.wandered) this.panBy(now[0] - before[0], now[1] - before[1]);
      this.#pointers.set(event.pointerId, now);
    });
    const end = (event) => {
      if (!this.#pointers.delete(event.pointerId)) return;
      element.classList.remove("moving");
      const polygon = this.polygon;
      this.polygon = null;
      if (polygon && this.wandered) this.onlasso?.(polygon);
      else if (!this.wandered && event.type === "pointerup") this.onpick?.(...at(event));
      this.draw();
    };
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
    element.addEventListener("pointerleave", () => this.onhover?.(null));
    element.addEventListener("dblclick", (event) => this.zoomBy(2, ...at(event)));
  }

  /** Does what a key means to the map; returns whether it means anything. */
  key(event) {
    const step = event.shiftKey ? 200 : 60;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) this.panBy(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.4);
    else if (event.key === "-") this.zoomBy(1 / 1.4);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter") this.onpick?.(this.width / 2, this.height / 2, true);
    else return false;
    return true;
  }
}

/** Returns whether a point is within a polygon. */
export function within(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [ax, ay] = polygon[i], [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

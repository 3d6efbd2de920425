// A million points on a canvas. A picture is drawn in parts, one with each frame, so that nothing ever waits long: while
// the map moves, only the first part is seen, which is a sample of all points; when it rests, the others follow.

const VERTEX = `#version 300 es
in vec3 place;      // x, y, width in the map's unit; width 0: a point of a fixed size
in float value;     // 0 to 1: where it is in the palette
in float found;     // 0 to 1: when it was found
in float mark;      // 1: it matches the filter; 2: it is selected
uniform vec2 centre, size;
uniform float zoom, aspect, point, time, dims, least;
uniform sampler2D palette;
out vec4 colour;
out vec2 extent;
flat out float is_round, pixels;
void main() {
  bool selected = mark >= 2.0, matches = mod(mark, 2.0) >= 1.0;
  vec2 at = (place.xy - centre) * zoom;
  gl_Position = vec4(at.x / size.x * 2.0, -at.y / size.y * 2.0, 0.0, 1.0);
  float width = max(place.z > 0.0 ? place.z * zoom : point, least);
  float height = place.z > 0.0 ? max(width * aspect, least) : width;
  gl_PointSize = max(width, height);
  pixels = gl_PointSize;
  extent = vec2(width, height) / gl_PointSize * (gl_PointSize > 7.0 ? 0.45 : 0.5);
  is_round = place.z > 0.0 ? 0.0 : 1.0;
  vec3 rgb = value == value ? texture(palette, vec2(value, 0.5)).rgb : vec3(0.5);
  float alpha = 0.8;
  if (!matches) { rgb = vec3(0.5); alpha = 0.10; }
  else if (dims > 0.5 && !selected) alpha = 0.14;
  else if (time < 1.0 && time - found < 0.02) { rgb = mix(rgb, vec3(1.0, 0.35, 0.2), 0.8); alpha = 1.0; }
  colour = vec4(rgb, alpha);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
in vec2 extent;
flat in float is_round, pixels;
uniform vec4 edge;  // a line around each point: its colour, and how opaque it is
out vec4 pixel;
void main() {
  vec2 off = abs(gl_PointCoord - 0.5), inside = extent - off;
  float depth = is_round > 0.5 ? 0.5 - length(off) : min(inside.x, inside.y);
  if (depth < 0.0) discard;
  vec3 rgb = pixels >= 3.5 && depth * pixels < 1.0 ? mix(colour.rgb, edge.rgb, edge.a) : colour.rgb;
  pixel = vec4(rgb * colour.a, colour.a);
}`;

const ATTRIBUTES = { place: 3, value: 1, found: 1, mark: 1 };
const UNIFORMS = ["centre", "size", "zoom", "aspect", "point", "time", "dims", "least", "palette", "edge"];
const EDGES = { light: [0, 0, 0, 0.45], dark: [1, 1, 1, 0.4] };

const LEAST = 4000, FIRST = 30000; // points of one part
const FAST = 19, SLOW = 27; // milliseconds of a frame: a part grows below, and shrinks above

export class Scatter {
  #edition = 0;
  #seen = null;
  #order = new Uint32Array(0);
  #places = new Float32Array(0);
  #x = new Float32Array(0);
  #y = new Float32Array(0);
  #widest = 0;
  #next = 0;
  #before = null;
  #frame = FAST;

  constructor(canvas) {
    this.canvas = canvas;
    this.part = FIRST; // points that a frame may draw
    this.drawn = 0; // points that the present picture shows
    this.#begin();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.#begin();
      this.onrestored?.();
    });
  }

  #begin() {
    const gl = (this.gl = this.canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, preserveDrawingBuffer: true }));
    if (!gl) throw new Error("This browser has no WebGL 2, which draws the cells.");
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.uniform = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = {};
    for (const [name, size] of Object.entries(ATTRIBUTES)) {
      this.buffers[name] = gl.createBuffer();
      const at = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, name === "mark" ? gl.UNSIGNED_BYTE : gl.FLOAT, false, 0, 0);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE_MINUS_DST_ALPHA, gl.ONE); // later points lie below earlier ones
  }

  /** Sets a buffer: place (three numbers each), value, found, or mark (bytes). */
  set(name, array) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, array, gl.STATIC_DRAW);
    if (name === "place") this.#places = array;
    this.#edition++;
  }

  /** Sets which points are drawn, the first ones first and on top. */
  setOrder(numbers) {
    const count = numbers.length, places = this.#places;
    this.#order = numbers;
    [this.#x, this.#y] = [new Float32Array(count), new Float32Array(count)];
    this.#widest = 0;
    for (let i = 0; i < count; i++) {
      const at = 3 * numbers[i];
      this.#x[i] = places[at];
      this.#y[i] = places[at + 1];
      if (places[at + 2] > this.#widest) this.#widest = places[at + 2];
    }
    this.#edition++;
  }

  setPalette(pixels) {
    const gl = this.gl;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    this.#edition++;
  }

  /** All points that the picture can have: those in view are drawn. */
  get count() {
    return this.#order.length;
  }

  /**
   * Draws the next part of the picture as a camera sees it, { x, y, zoom } in the map's unit and CSS pixels. A picture
   * that is not the last one begins anew. Returns whether there is more to draw.
   */
  draw(camera, look) {
    const gl = this.gl, { width, height } = this.canvas, { aspect, time, dims, ratio, dark } = look;
    const seen = JSON.stringify([camera, look, width, height, this.#edition]);
    if (seen !== this.#seen) {
      this.#seen = seen;
      this.#next = this.drawn = 0;
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform2f(this.uniform.centre, camera.x, camera.y);
      gl.uniform2f(this.uniform.size, width, height);
      gl.uniform1f(this.uniform.zoom, camera.zoom * ratio);
      gl.uniform1f(this.uniform.aspect, aspect);
      gl.uniform1f(this.uniform.point, (this.count > 200000 ? 2 : this.count > 5000 ? 4 : 7) * ratio);
      gl.uniform1f(this.uniform.least, (this.count > 200000 ? 1 : 2) * ratio);
      gl.uniform1f(this.uniform.time, time);
      gl.uniform1f(this.uniform.dims, dims ? 1 : 0);
      gl.uniform4f(this.uniform.edge, ...EDGES[dark ? "dark" : "light"]);
    }
    this.#pace();
    const points = this.#inView(camera, width / ratio, height / ratio, aspect);
    if (points.length) {
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, points, gl.STREAM_DRAW);
      gl.drawElements(gl.POINTS, points.length, gl.UNSIGNED_INT, 0);
      this.drawn += points.length;
    }
    const more = this.#next < this.count;
    if (!more) this.#before = null; // the next frame comes when somebody moves: it says nothing about speed
    return more;
  }

  /** Returns the next points of the order that can be seen, as many as a part may have. */
  #inView(camera, wide, high, aspect) {
    const order = this.#order, xs = this.#x, ys = this.#y, points = new Uint32Array(Math.min(this.part, this.count - this.#next));
    const across = wide / 2 / camera.zoom + this.#widest / 2 + 8 / camera.zoom;
    const down = high / 2 / camera.zoom + (this.#widest / 2) * aspect + 8 / camera.zoom;
    const [left, right, top, bottom] = [camera.x - across, camera.x + across, camera.y - down, camera.y + down];
    let next = this.#next, count = 0;
    for (; next < order.length && count < points.length; next++) {
      const x = xs[next], y = ys[next];
      if (x >= left && x <= right && y >= top && y <= bottom) points[count++] = order[next];
    }
    this.#next = next;
    return points.subarray(0, count);
  }

  /** Makes parts larger or smaller, by how long frames take that follow each other. */
  #pace() {
    const now = performance.now();
    if (this.#before !== null) {
      this.#frame += 0.25 * (Math.min(100, now - this.#before) - this.#frame);
      if (this.#frame > SLOW) this.part = Math.max(LEAST, Math.round(this.part * 0.85));
      else if (this.#frame < FAST) this.part = Math.min(2 ** 22, Math.round(this.part * 1.1));
    }
    this.#before = now;
  }

  /** Lets go of the graphics memory. */
  close() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

// A million points on a canvas: one buffer of places, one of colours, one call to draw them all.

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
flat out float is_round;
void main() {
  bool selected = mark >= 2.0, matches = mod(mark, 2.0) >= 1.0;
  if (found > time || !(place.x == place.x)) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 0.0;
    return;
  }
  vec2 at = (place.xy - centre) * zoom;
  gl_Position = vec4(at.x / size.x * 2.0, -at.y / size.y * 2.0, 0.0, 1.0);
  float width = max(place.z > 0.0 ? place.z * zoom : point, least);
  float height = place.z > 0.0 ? max(width * aspect, least) : width;
  gl_PointSize = max(width, height);
  extent = vec2(width, height) / gl_PointSize * (gl_PointSize > 7.0 ? 0.45 : 0.5);
  is_round = place.z > 0.0 ? 0.0 : 1.0;
  vec3 rgb = value == value ? texture(palette, vec2(value, 0.5)).rgb : vec3(0.5);
  float alpha = 0.8;
  if (!matches) { rgb = vec3(0.5); alpha = 0.10; }
  else if (dims > 0.5 && !selected) alpha = 0.14;
  else if (time < 1.0 && time - found < 0.02) { rgb = mix(rgb, vec3(1.0, 0.35, 0.2), 0.8); alpha = 1.0; }
  colour = vec4(rgb * alpha, alpha);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
in vec2 extent;
flat in float is_round;
out vec4 pixel;
void main() {
  vec2 off = abs(gl_PointCoord - 0.5);
  if (off.x > extent.x || off.y > extent.y || (is_round > 0.5 && length(off) > 0.5)) discard;
  pixel = colour;
}`;

const ATTRIBUTES = { place: 3, value: 1, found: 1, mark: 1 };

export class Scatter {
  constructor(canvas) {
    this.canvas = canvas;
    this.count = 0;
    this.#begin();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.#begin();
      this.onrestored?.();
    });
  }

  #begin() {
    const gl = (this.gl = this.canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true }));
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
    this.uniform = Object.fromEntries(
      ["centre", "size", "zoom", "aspect", "point", "time", "dims", "least", "palette"].map((name) => [
        name, gl.getUniformLocation(program, name),
      ]),
    );
    this.buffers = {};
    for (const [name, size] of Object.entries(ATTRIBUTES)) {
      this.buffers[name] = gl.createBuffer();
      const at = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, name === "mark" ? gl.UNSIGNED_BYTE : gl.FLOAT, false, 0, 0);
    }
    this.order = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Sets a buffer: place (three numbers each), value, found, or mark (bytes). */
  set(name, array) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, array, gl.STATIC_DRAW);
  }

  /** Sets which points are drawn, the last ones on top. */
  setOrder(numbers) {
    this.count = numbers.length;
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, numbers, this.gl.DYNAMIC_DRAW);
  }

  setPalette(pixels) {
    const gl = this.gl;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  }

  /** Draws everything as a camera sees it: { x, y, zoom } in the map's unit and CSS pixels. */
  draw(camera, { aspect, time, dims, ratio }) {
    const gl = this.gl, { width, height } = this.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.count) return;
    gl.uniform2f(this.uniform.centre, camera.x, camera.y);
    gl.uniform2f(this.uniform.size, width, height);
    gl.uniform1f(this.uniform.zoom, camera.zoom * ratio);
    gl.uniform1f(this.uniform.aspect, aspect);
    gl.uniform1f(this.uniform.point, (this.count > 200000 ? 2 : this.count > 5000 ? 4 : 7) * ratio);
    gl.uniform1f(this.uniform.least, (this.count > 200000 ? 1 : 2) * ratio);
    gl.uniform1f(this.uniform.time, time);
    gl.uniform1f(this.uniform.dims, dims ? 1 : 0);
    gl.drawElements(gl.POINTS, this.count, gl.UNSIGNED_INT, 0);
  }
}

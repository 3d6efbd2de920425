// What the server is asked, and the columns of a run as they grow.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path) {
  let answer;
  try {
    answer = await fetch(`api/${path}`);
  } catch {
    throw new Refused(0, "the server does not answer");
  }
  if (answer.ok) return answer;
  let message = answer.statusText;
  try {
    message = (await answer.json()).error ?? message;
  } catch { /* what a proxy says is no JSON */ }
  throw new Refused(answer.status, message);
}

export const json = async (path) => (await ask(path)).json();
export const blob = async (path) => (await ask(path)).blob();
export const bytes = async (path) => (await ask(path)).arrayBuffer();

/** Returns the content of a file, and the name that the server gives it. */
export async function file(path) {
  const answer = await ask(path), named = /filename="(.+)"/.exec(answer.headers.get("Content-Disposition"));
  return { content: await answer.blob(), name: named?.[1] ?? "" };
}

const ARRAYS = { u1: Uint8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };

/** Returns a column, brought from an older checkpoint to a newer one (see `pack_change` of the server). */
function changed(old, change) {
  const Kind = old.constructor;
  const [before, now, count] = new Uint32Array(change, 0, 3);
  const numbers = new Uint32Array(change, 16, count);
  const begin = 16 + 4 * count + ((4 * count) % 8 ? 4 : 0);
  const values = new Kind(change.slice(begin));
  const array = new Kind(now);
  array.set(old.subarray(0, before));
  for (let i = 0; i < count; i++) array[numbers[i]] = values[i];
  array.set(values.subarray(count), before);
  return array;
}

export function bits(buffer, count) {
  const packed = new Uint8Array(buffer), mask = new Uint8Array(count);
  for (let i = 0; i < count; i++) mask[i] = (packed[i >> 3] >> (i & 7)) & 1;
  return mask;
}

/** One search: what is known of its newest checkpoint, and its columns, each fetched when it is needed. */
export class SearchData {
  #columns = new Map();

  constructor(number) {
    this.number = number;
    this.about = null;
  }

  get at() {
    return `runs/${this.number}/${this.about.version}`;
  }

  async update() {
    this.about = await json(`runs/${this.number}`);
    return this.about;
  }

  column(name) {
    if (name === "probability") return { name, type: "f8", texts: null };
    return this.about.columns.find((column) => column.name === name);
  }

  async values(name) {
    const version = this.about.version, known = this.#columns.get(name);
    if (known?.version === version) return known.array;
    const type = this.column(name).type;
    const usable = known && known.array instanceof ARRAYS[type];
    const answer = await ask(`${this.at}/columns/${encodeURIComponent(name)}${usable ? `?since=${known.version}` : ""}`);
    const content = await answer.arrayBuffer();
    const array = answer.headers.get("X-Change") === "1" ? changed(known.array, content) : new ARRAYS[type](content);
    this.#columns.set(name, { version, array });
    return array;
  }

  async places(layout) {
    return new Float32Array(await bytes(`${this.at}/layouts/${layout}`));
  }

  /** Returns for each cell the last one before it on its trajectory, or -1. */
  async parents() {
    return new Int32Array(await bytes(`${this.at}/parents`));
  }

  /** Returns which cells a condition is true of; raises what is wrong with it. */
  async matching(condition) {
    const answer = await ask(`${this.at}/filter?where=${encodeURIComponent(condition)}`);
    if (answer.headers.get("Content-Type").includes("json")) throw new Refused(400, (await answer.json()).error);
    return bits(await answer.arrayBuffer(), this.about.rows);
  }

  async descendants(entry) {
    return bits(await bytes(`${this.at}/cells/${entry}/descendants`), this.about.rows);
  }

  cell(entry) {
    return json(`${this.at}/cells/${entry}`);
  }

  way(entry) {
    return json(`${this.at}/cells/${entry}/way`);
  }
}

/** The metrics of a run: lines that are added are fetched alone. */
export class Metrics {
  #epoch = 0;
  fields = null;
  count = 0;

  constructor(number) {
    this.number = number;
  }

  async update() {
    const answer = await json(`runs/${this.number}/metrics?epoch=${this.#epoch}&since=${this.count}`);
    if (answer.since === 0 || !this.fields) this.fields = answer.fields;
    else for (const [name, values] of Object.entries(answer.fields)) this.fields[name].push(...values);
    this.#epoch = answer.epoch;
    this.count = Object.values(this.fields)[0]?.length ?? 0;
  }
}

const AWAY = "The server does not answer; trying again …";
const OTHER = "The server was started again. Open the new address that goexplore serve has printed.";

/** Calls back with how all runs are, whenever that changes, and with what is wrong with the connection, or "". */
export function follow(onRuns, onConnection) {
  const stream = new EventSource("api/events");
  stream.onopen = () => onConnection("");
  stream.onmessage = (event) => onRuns(JSON.parse(event.data));
  stream.onerror = async () => {
    onConnection(AWAY);
    if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    const refused = await ask("runs").then(() => false, (error) => error.status === 403);
    if (refused) onConnection(OTHER);
    else setTimeout(() => follow(onRuns, onConnection), 3000);
  };
}

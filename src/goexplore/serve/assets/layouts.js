// Where cells lie by two of their columns: the server places them by rooms and by trajectories.

const MOST = 4000; // different values of a column that cells lie at as squares
const WIDE = 1.6; // width of a picture by its height

/** Returns places by two columns, and how to label them. */
export function byColumns(across, down, aboutAcross, aboutDown) {
  const few = (about) => (about.texts || about.type !== "f8") && about.high - about.low <= MOST;
  const lay = few(aboutAcross) && few(aboutDown) ? inSquares : asPoints;
  return lay(across, down, aboutAcross, aboutDown);
}

/** Whole numbers and texts: each pair of values is a block, which its cells share as squares. */
function inSquares(across, down, aboutAcross, aboutDown) {
  const wide = aboutAcross.high - aboutAcross.low + 1, high = aboutDown.high - aboutDown.low + 1;
  // Blocks are squares, unless the picture would be a thin line.
  const shape = wide / high, right = shape < 0.4 ? WIDE / shape : 1, below = shape > 4 ? shape / WIDE : 1;
  const count = across.length, places = new Float32Array(3 * count), shares = new Map(), place = new Uint32Array(count);
  const key = (i) => (down[i] - aboutDown.low) * wide + across[i] - aboutAcross.low;
  for (let i = 0; i < count; i++) {
    place[i] = shares.get(key(i)) ?? 0;
    shares.set(key(i), place[i] + 1);
  }
  const blockWide = 0.92 * right, blockHigh = 0.92 * below;
  for (let i = 0; i < count; i++) {
    const cells = shares.get(key(i));
    let columns = Math.max(1, Math.floor(Math.sqrt((cells * blockWide) / blockHigh)));
    while (Math.ceil(cells / columns) * (blockWide / columns) > blockHigh * 1.0001) columns++;
    const side = Math.min(blockWide / columns, blockHigh), rows = Math.ceil(cells / columns);
    places[3 * i] = across[i] * right + ((place[i] % columns) + 0.5 - Math.min(cells, columns) / 2) * side;
    places[3 * i + 1] = down[i] * below + (Math.floor(place[i] / columns) + 0.5 - rows / 2) * side;
    places[3 * i + 2] = side;
  }
  const box = [(aboutAcross.low - 0.6) * right, (aboutDown.low - 0.6) * below, (aboutAcross.high + 0.6) * right, (aboutDown.high + 0.6) * below];
  return { places, box, axes: axes(aboutAcross, aboutDown, (value) => value * right, (value) => value * below) };
}

/** Numbers of any size: scaled to the same shape, the higher ones above. */
function asPoints(across, down, aboutAcross, aboutDown) {
  const share = (value, { low, high }) => (value - low) / Math.max(1e-12, high - low);
  const x = (value) => share(value, aboutAcross) * WIDE, y = (value) => 1 - share(value, aboutDown);
  const places = new Float32Array(3 * across.length);
  for (let i = 0; i < across.length; i++) {
    places[3 * i] = x(across[i]);
    places[3 * i + 1] = y(down[i]);
  }
  return { places, box: [0, 0, WIDE, 1], axes: axes(aboutAcross, aboutDown, x, y) };
}

function axes(across, down, x, y) {
  return { across: { ...across, at: x }, down: { ...down, at: y } };
}

/**
 * Returns for each cell the number of its place: cells that lie exactly on each other have the same one. Only one of
 * them is drawn: nothing would be seen of the others. Also returns the numbers in an order by chance, always the same.
 */
export function sharedPlaces(places) {
  const count = places.length / 3, words = new Int32Array(places.buffer, places.byteOffset, places.length);
  const mask = (1 << Math.ceil(Math.log2(2 * count + 2))) - 1;
  const table = new Int32Array(mask + 1).fill(-1), numbers = new Int32Array(count);
  let different = 0;
  for (let i = 0; i < count; i++) {
    let at = Math.imul(words[3 * i] ^ Math.imul(words[3 * i + 1] ^ (words[3 * i + 1] >>> 15), 0x85ebca6b), 0x9e3779b1);
    at = Math.imul(at ^ (at >>> 15), 0x2c1b3c6d); // the last bits of round numbers are all the same
    for (at = (at ^ (at >>> 14)) & mask; ; at = (at + 1) & mask) {
      const other = table[at];
      if (other < 0) {
        table[at] = i;
        numbers[i] = different++;
        break;
      }
      if (words[3 * other] === words[3 * i] && words[3 * other + 1] === words[3 * i + 1] && words[3 * other + 2] === words[3 * i + 2]) {
        numbers[i] = numbers[other];
        break;
      }
    }
  }
  return { numbers, different, shuffled: shuffled(different) };
}

function shuffled(count) {
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  let state = 1;
  for (let i = count - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/** Returns round numbers between two ends, about as many as wanted. */
export function ticks(low, high, wanted, least = 0) {
  const raw = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = Math.max(least, [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw) || 1);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + 1e-9 * step; at += step) found.push(at);
  return found;
}

// Where cells lie by two of their columns: the server places them by rooms and by trajectories.

/** Returns places by two columns, and how to label them. Equal places are shared: cells there get smaller. */
export function byColumns(across, down, aboutAcross, aboutDown) {
  const discrete = [aboutAcross, aboutDown].every((about) => about.texts || about.type !== "f8");
  const count = across.length, places = new Float32Array(3 * count);
  const range = (about) => Math.max(1e-12, about.high - about.low);
  if (discrete && range(aboutAcross) <= 4000 && range(aboutDown) <= 4000) {
    const wide = range(aboutAcross) + 1, shares = new Map(), place = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      const key = (down[i] - aboutDown.low) * wide + across[i] - aboutAcross.low;
      const before = shares.get(key) ?? 0;
      place[i] = before;
      shares.set(key, before + 1);
    }
    for (let i = 0; i < count; i++) {
      const key = (down[i] - aboutDown.low) * wide + across[i] - aboutAcross.low;
      const columns = Math.ceil(Math.sqrt(shares.get(key))), side = 0.92 / columns;
      places[3 * i] = across[i] - 0.46 + ((place[i] % columns) + 0.5) * side;
      places[3 * i + 1] = down[i] - 0.46 + (Math.floor(place[i] / columns) + 0.5) * side;
      places[3 * i + 2] = side;
    }
    const box = [aboutAcross.low - 0.6, aboutDown.low - 0.6, aboutAcross.high + 0.6, aboutDown.high + 0.6];
    return { places, box, aspect: 1, axes: axes(aboutAcross, aboutDown, (v) => v, (v) => v) };
  }
  // Numbers of any size: scaled to the same shape, the higher ones above.
  const x = (value) => ((value - aboutAcross.low) / range(aboutAcross)) * 1.6;
  const y = (value) => 1 - (value - aboutDown.low) / range(aboutDown);
  for (let i = 0; i < count; i++) {
    places[3 * i] = x(across[i]);
    places[3 * i + 1] = y(down[i]);
  }
  return { places, box: [0, 0, 1.6, 1], aspect: 1, axes: axes(aboutAcross, aboutDown, x, y) };
}

function axes(across, down, x, y) {
  return { across: { ...across, at: x }, down: { ...down, at: y } };
}

/**
 * Returns for each cell the number of its place: cells that lie exactly on each other have the same one. Only one of
 * them is drawn: nothing would be seen of the others, and drawing a place a hundred times takes a hundred times as long.
 */
export function sharedPlaces(places) {
  const count = places.length / 3, words = new Int32Array(places.buffer, places.byteOffset, places.length);
  const mask = (1 << Math.ceil(Math.log2(2 * count + 2))) - 1;
  const table = new Int32Array(mask + 1).fill(-1), numbers = new Int32Array(count);
  let different = 0;
  for (let i = 0; i < count; i++) {
    let at = (Math.imul(words[3 * i], 0x9e3779b1) ^ Math.imul(words[3 * i + 1], 0x85ebca6b)) >>> 3;
    for (at &= mask; ; at = (at + 1) & mask) {
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
  return { numbers, different };
}

/** Returns round numbers between two ends, about as many as wanted. */
export function ticks(low, high, wanted, least = 0) {
  const raw = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = Math.max(least, [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw) || 1);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + 1e-9 * step; at += step) found.push(at);
  return found;
}

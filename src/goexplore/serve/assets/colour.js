// Colours of numbers (viridis, as in the report) and of texts.

const VIRIDIS =
  "44015444025544035745055845065a45085b46095c460b5e460c5f460e61470f62471163471265471466471567471669" +
  "47186a48196b481a6c481c6e481d6f481e70482071482172482273482374472575472676472777472878472a79472b7a" +
  "472c7b462d7c462f7c46307d46317e45327f45347f453580453681443781443982433a83433b83433c84423d84423e85" +
  "4240854141864142864043874044873f45873f47883e48883e49893d4a893d4b893d4c893c4d8a3c4e8a3b508a3b518a" +
  "3a528b3a538b39548b39558b38568b38578c37588c37598c365a8c365b8c355c8c355d8c345e8d345f8d33608d33618d" +
  "32628d32638d31648d31658d31668d30678d30688d2f698d2f6a8d2e6b8e2e6c8e2e6d8e2d6e8e2d6f8e2c708e2c718e" +
  "2c728e2b738e2b748e2a758e2a768e2a778e29788e29798e287a8e287a8e287b8e277c8e277d8e277e8e267f8e26808e" +
  "26818e25828e25838d24848d24858d24868d23878d23888d23898d22898d228a8d228b8d218c8d218d8c218e8c208f8c" +
  "20908c20918c1f928c1f938b1f948b1f958b1f968b1e978a1e988a1e998a1e998a1e9a891e9b891e9c891e9d881e9e88" +
  "1e9f881ea0871fa1871fa2861fa38620a48520a58521a68521a78422a78423a88323a98224aa8225ab8126ac8127ad80" +
  "28ae7f29af7f2ab07e2bb17d2cb17d2eb27c2fb37b30b47a32b57a33b67935b77836b87738b97639b9763bba753dbb74" +
  "3ebc7340bd7242be7144be7045bf6f47c06e49c16d4bc26c4dc26b4fc36951c46853c56755c66657c66559c7645bc862" +
  "5ec96160c96062ca5f64cb5d67cc5c69cc5b6bcd596dce5870ce5672cf5574d05477d05279d1517cd24f7ed24e81d34c" +
  "83d34b86d44988d5478bd5468dd64490d64392d74195d73f97d83e9ad83c9dd93a9fd938a2da37a5da35a7db33aadb32" +
  "addc30afdc2eb2dd2cb5dd2bb7dd29bade27bdde26bfdf24c2df22c5df21c7e01fcae01ecde01dcfe11cd2e11bd4e11a" +
  "d7e219dae218dce218dfe318e1e318e4e318e7e419e9e419ece41aeee51bf1e51cf3e51ef6e61ff8e621fae622fde724";

export const GRADIENT = Uint8Array.from(VIRIDIS.match(/../g), (pair) => parseInt(pair, 16));

export const CATEGORIES = [
  "#1f6fc2", "#d9822b", "#2b8a4b", "#c2417a", "#7a5cd0", "#1c9aa0", "#a3761d", "#d43f3f", "#5b6675", "#6aa51f",
];

/** Returns the 256 x 4 bytes of a palette: of a scale, or of as many texts. */
export function palette(texts) {
  const pixels = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i++) {
    const rgb = texts ? hex(CATEGORIES[i % CATEGORIES.length]) : GRADIENT.subarray(3 * i, 3 * i + 3);
    pixels.set(rgb, 4 * i);
    pixels[4 * i + 3] = 255;
  }
  return pixels;
}

function hex(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/** Returns a picture of a palette: by default of the scale. */
export function bar(pixels = palette(null)) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [256, 1];
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels), 256, 1), 0, 0);
  return canvas;
}

/** Returns the colour of a share from 0 to 1, for style sheets. */
export function colourOf(share) {
  const at = 3 * Math.round(255 * Math.min(1, Math.max(0, share)));
  return `rgb(${GRADIENT[at]} ${GRADIENT[at + 1]} ${GRADIENT[at + 2]})`;
}

/**
 * Scales values to 0..1 for a palette: counts and probabilities by their logarithms, texts by their numbers.
 * Returns the scaled values, the ends of the scale and whether it is logarithmic.
 */
export function scaled(values, about) {
  const out = new Float32Array(values.length);
  if (about.texts) {
    for (let i = 0; i < values.length; i++) out[i] = (values[i] % 256 + 0.5) / 256;
    return { values: out, low: 0, high: about.texts.length - 1, logarithmic: false };
  }
  const logarithmic = /^(times_|probability)/.test(about.name);
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (Number.isFinite(value) && (!logarithmic || value > 0)) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) low = high = 0;
  const of = logarithmic ? Math.log : (value) => value;
  const begin = of(low), range = of(high) - begin;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    out[i] = Number.isFinite(value) ? (range > 0 ? Math.max(0, (of(Math.max(value, low)) - begin) / range) : 0) : NaN;
  }
  return { values: out, low, high, logarithmic };
}

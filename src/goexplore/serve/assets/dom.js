// Small things that all parts use. Text from files only ever becomes text: nothing here parses markup.

/** Makes an element: properties, then children (elements or texts). */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const EXACT = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

export const whole = (number) => WHOLE.format(number);
export const short = (number) => (Math.abs(number) < 10000 ? EXACT.format(number) : SHORT.format(number));

/** Returns a value of a table for people to read. */
export function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") {
    if (Number.isInteger(value)) return WHOLE.format(value);
    return Math.abs(value) < 1e-3 ? value.toExponential(2) : EXACT.format(value);
  }
  return String(value);
}

/** Returns a duration in seconds for people to read. */
export function ago(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Returns the value of a colour of the page: the style sheet has them all. */
export const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A name with its colour, for legends. */
export function key(colour, name) {
  const dot = make("i");
  dot.style.background = colour;
  return make("span", { className: "key" }, dot, name);
}

export const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** A button that copies a command. */
export function command(text) {
  const button = make("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // browsers allow the clipboard on secure pages only
      button.textContent = "Selected";
    }
  });
  const code = make("code", {}, text);
  return make("div", { className: "command" }, code, button);
}

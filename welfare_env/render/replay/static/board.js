// The map: drawn once; a step sets owners, units and orders.

const MOTION = matchMedia("(prefers-reduced-motion: reduce)");
const UNIT_PIXELS = 15, MOST_ENLARGED = 1.4;
const board = { picture: null, areas: new Map(), centers: new Map(), units: null, orders: null, marks: null, view: null, whole: null };

const setOwner = (node, power, kind) => {
  node.classList.remove("owned", "passed");
  if (!power) return;
  node.classList.add(kind);
  node.style.setProperty("--power", colorOf(power));
};

const showOwners = (phase) => {
  const holds = (lists) => new Map(POWERS.flatMap((power) => (lists[power] || []).map((place) => [place, power])));
  const owners = holds(phase.centers);
  const passed = holds(phase.influence);
  for (const [place, node] of board.areas) {
    if (node.closest(".waters")) continue;
    setOwner(node, owners.get(place) || passed.get(place), owners.has(place) ? "owned" : "passed");
  }
  for (const [place, node] of board.centers) setOwner(node, owners.get(place), "owned");
};

const placeOf = (unit, isDislodged) => {
  const location = unit.split(" ")[1];
  const province = location.split("/")[0];
  return isDislodged ? game.drawing.dislodged[province] : game.drawing.places[location] || game.drawing.places[province];
};

const unitMark = (power, name, from) => {
  const isDislodged = name.startsWith("*");
  const unit = isDislodged ? name.slice(1) : name;
  const [x, y] = placeOf(unit, isDislodged);
  const { ink, letter } = game.powers[POWERS.indexOf(power)];
  const kind = unit[0];
  const text = svg("text", { y: game.drawing.bases[kind], fill: ink, ...(letter.length > 1 ? { "font-size": 15 - 4 * letter.length } : {}) }, letter);
  const title = svg("title", {}, `${named(power)}: ${inWords(unit)}${isDislodged ? ", dislodged" : ""}`);
  const mark = svg("g", { class: `unit${isDislodged ? " dislodged" : ""}` }, title, svg("path", { d: game.drawing.shapes[kind] }), text);
  mark.style.setProperty("--power", colorOf(power));
  mark.style.transform = `translate(${x}px, ${y}px) scale(calc(var(--mark) * ${isDislodged ? 0.8 : 1}))`;
  if (from) {
    const frames = [{ transform: `translate(${from[0]}px, ${from[1]}px) scale(var(--mark))` }, { transform: mark.style.transform }];
    mark.animate(frames, { duration: 420 / timeline.speed, easing: "ease-in-out" });
  }
  return mark;
};

// Where the units of a phase came from, if it follows the one shown before: new name -> old place.
const origins = (number, before) => {
  const found = new Map();
  if (number !== before + 1 || before < 0 || MOTION.matches) return found;
  for (const power of POWERS) {
    for (const [text, words] of PHASES[before].orders[power] || []) {
      const [kind, from, how, to] = text.split(" ");
      if ((how === "-" || how === "R") && !words.length) found.set(`${power} ${kind} ${to}`, placeOf(`${kind} ${from}`, how === "R"));
    }
  }
  return found;
};

const showUnits = (phase, number, before) => {
  const from = origins(number, before);
  const marks = POWERS.flatMap((power) => phase.units[power].map((unit) => unitMark(power, unit, from.get(`${power} ${unit}`))));
  board.units.replaceChildren(...marks);
};

const parser = new DOMParser();

const showOrders = (phase) => {
  const drawn = parser.parseFromString(`<svg xmlns="${SVG}">${phase.drawn}</svg>`, "image/svg+xml");
  const [orders, marks] = [...drawn.documentElement.children].map((layer) => document.adoptNode(layer));
  board.orders.replaceWith(orders);
  board.marks.replaceWith(marks);
  Object.assign(board, { orders, marks });
};

// Marks one unit's order, and dims the others.
const pointAt = (unit) => {
  for (const layer of [board.orders, board.marks]) layer.classList.toggle("dim", unit !== null);
  for (const node of [...board.orders.children, ...board.marks.children]) node.classList.toggle("pointed", unit !== null && node.id === `o-${unit?.slice(2, 5)}`);
};

const setView = (x, y, width) => {
  const [, , w, h] = board.whole;
  const size = Math.min(w, Math.max(w / 6, width));
  const height = (size * h) / w;
  const clamp = (value, most) => Math.max(0, Math.min(most, value));
  board.view = [clamp(x, w - size), clamp(y, h - height), size, height];
  board.picture.setAttribute("viewBox", board.view.map((value) => value.toFixed(1)).join(" "));
  byId("map").classList.toggle("zoomed", size < w);
  sizeMarks();
};

// Units and the heads of arrows are drawn larger where the map is small, units as far as there is room between them.
const sizeMarks = () => {
  const scale = board.picture.getBoundingClientRect().width / board.view[2];
  const larger = Math.max(1, UNIT_PIXELS / (game.drawing.unit * scale));
  board.picture.style.setProperty("--mark", Math.min(MOST_ENLARGED, larger));
  board.picture.style.setProperty("--head", Math.min(3, larger));
};

const zoom = (factor) => {
  const [x, y, w, h] = board.view;
  const size = w / factor;
  setView(x + (w - size) / 2, y + (h - h / factor) / 2, size);
};

const startDrag = (event) => {
  if (board.view[2] >= board.whole[2]) return;
  const [x, y, w] = board.view;
  const scale = w / board.picture.getBoundingClientRect().width;
  const move = (now) => setView(x - (now.clientX - event.clientX) * scale, y - (now.clientY - event.clientY) * scale, w);
  const stop = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", stop);
    removeEventListener("pointercancel", stop);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", stop);
  addEventListener("pointercancel", stop);
};

// How each result that occurs is drawn: its color, and whether the line is broken.
const startLegend = () => {
  const seen = new Set(PHASES.flatMap((phase) => Object.values(phase.orders).flatMap((orders) => orders.map(([, words]) => worst(words)))));
  for (const result of [...RESULTS].reverse()) {
    if (!seen.has(result)) continue;
    const isFine = result === RESULTS.at(-1);
    const line = svg("path", { d: "M1 5h18", "stroke-width": 2.6, ...(isFine ? {} : { "stroke-dasharray": "6 3" }) });
    const end = svg("path", { d: isFine ? "M18 1l7 4-7 4z" : "M21 1v8", "stroke-width": isFine ? 0 : 2 });
    const item = el("li", {}, svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, line, end), result.told);
    item.style.setProperty("--result", result.color);
    byId("legend").append(item);
  }
};

const startBoard = () => {
  board.picture = byId("map").querySelector("svg");
  board.whole = board.picture.getAttribute("viewBox").split(" ").map(Number);
  for (const node of board.picture.querySelectorAll("[id^='p-']")) board.areas.set(node.id.slice(2), node);
  for (const node of board.picture.querySelectorAll("[id^='c-']")) board.centers.set(node.id.slice(2), node);
  byId("map").classList.toggle("graph", board.picture.querySelector(".passage") !== null);
  board.units = board.picture.querySelector(".units");
  [board.orders, board.marks] = board.picture.querySelectorAll(".orders"); // under the units, and above them
  for (const node of [...board.areas.values(), ...board.centers.values()]) node.removeAttribute("fill"); // of the last phase
  document.documentElement.style.setProperty("--ratio", board.whole[2] / board.whole[3]);
  setView(0, 0, board.whole[2]);
  startLegend();
  new ResizeObserver(sizeMarks).observe(board.picture);
  byId("zoom-in").addEventListener("click", () => zoom(1.5));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
  byId("zoom-reset").addEventListener("click", () => setView(0, 0, board.whole[2]));
  board.picture.addEventListener("pointerdown", startDrag);
  timeline.onShow.push((phase, number, before) => {
    showOwners(phase);
    showUnits(phase, number, before);
    showOrders(phase);
  });
};

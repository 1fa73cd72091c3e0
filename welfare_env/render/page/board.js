// The map: drawn once; a step sets owners, units and orders.

const MOTION = matchMedia("(prefers-reduced-motion: reduce)");
const board = { picture: null, areas: new Map(), centers: new Map(), units: null, orders: null, view: null, whole: null };

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
  const size = isDislodged ? " scale(0.8)" : "";
  mark.style.transform = `translate(${x}px, ${y}px)${size}`;
  if (from) {
    const frames = [{ transform: `translate(${from[0]}px, ${from[1]}px)` }, { transform: mark.style.transform }];
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
  const layer = document.adoptNode(drawn.documentElement.firstElementChild);
  board.orders.replaceWith(layer);
  board.orders = layer;
};

// Marks one unit's order, and dims the others.
const pointAt = (unit) => {
  board.orders.classList.toggle("dim", unit !== null);
  for (const node of board.orders.children) node.classList.toggle("pointed", unit !== null && node.dataset.unit === unit);
};

const setView = (x, y, width) => {
  const [, , w, h] = board.whole;
  const size = Math.min(w, Math.max(w / 6, width));
  const height = (size * h) / w;
  const clamp = (value, most) => Math.max(0, Math.min(most, value));
  board.view = [clamp(x, w - size), clamp(y, h - height), size, height];
  board.picture.setAttribute("viewBox", board.view.map((value) => value.toFixed(1)).join(" "));
  byId("map").classList.toggle("zoomed", size < w);
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

const startBoard = () => {
  board.picture = byId("map").querySelector("svg");
  board.whole = board.picture.getAttribute("viewBox").split(" ").map(Number);
  for (const node of board.picture.querySelectorAll("[id^='p-']")) board.areas.set(node.id.slice(2), node);
  for (const node of board.picture.querySelectorAll("[id^='c-']")) board.centers.set(node.id.slice(2), node);
  board.units = board.picture.querySelector(".units");
  board.orders = board.picture.querySelector(".orders");
  setView(0, 0, board.whole[2]);
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

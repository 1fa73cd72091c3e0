// The map, drawn once; each step updates owners, units and orders.

const MOTION = matchMedia("(prefers-reduced-motion: reduce)");
const board = { areas: new Map(), centers: new Map(), signs: new Map(), units: null, orders: null, marks: null };

const setOwner = (node, power, kind) => {
  const sign = power ? `${kind} ${power}` : "";
  if (board.signs.get(node) === sign) return;
  board.signs.set(node, sign);
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
  const text = svg("text", { y: game.drawing.bases[kind], fill: ink, ...(letter.length > 1 ? { "font-size": 25 - 6 * letter.length } : {}) }, letter);
  const title = svg("title", {}, `${named(power)}: ${inWords(unit)}${isDislodged ? ", dislodged" : ""}`);
  const place = `translate(${x} ${y})${isDislodged ? " scale(0.8)" : ""}`;
  const mark = svg("g", { class: `unit${isDislodged ? " dislodged" : ""}`, transform: place }, title, svg("path", { d: game.drawing.shapes[kind] }), text);
  mark.style.setProperty("--power", colorOf(power));
  if (from) {
    const frames = [from, [x, y]].map(([u, v]) => ({ transform: `translate(${u}px, ${v}px)` }));
    mark.animate(frames, { duration: 420 / timeline.speed, easing: "ease-in-out" });
  }
  return mark;
};

// The origins of a phase's units, if it follows the phase shown before: new name -> old place.
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

// Highlights one unit's order and dims the others.
const pointAt = (unit) => {
  for (const layer of [board.orders, board.marks]) layer.classList.toggle("dim", unit !== null);
  for (const node of [...board.orders.children, ...board.marks.children]) node.classList.toggle("pointed", unit !== null && node.id === `o-${unit?.slice(2, 5)}`);
};

// A sample of each mark of the game's orders, drawn as on the map.
const startLegend = () => {
  for (const [drawn, told] of game.drawing.legend) {
    const sample = parser.parseFromString(`<svg xmlns="${SVG}" viewBox="-44 -32 88 64" fill="none" stroke-linecap="round" aria-hidden="true">${drawn}</svg>`, "image/svg+xml");
    byId("legend").append(el("li", {}, document.adoptNode(sample.documentElement), told));
  }
  byId("event-legend").append(...EVENT_KINDS.filter((kind) => EVENTS.some((event) => kindOf(event) === kind)).map((kind) => el("li", {}, svg("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, markOf(kind)), kind.told)));
  byId("keys").open = innerWidth > 900 && innerHeight > 700;
};

const startBoard = () => {
  const picture = byId("map").querySelector("svg");
  for (const node of picture.querySelectorAll("#lands > [id^='p-']")) board.areas.set(node.id.slice(2), node);
  for (const node of picture.querySelectorAll("[id^='c-']")) board.centers.set(node.id.slice(2), node);
  byId("map").classList.toggle("graph", picture.querySelector(".passage") !== null);
  board.units = picture.querySelector(".units");
  [board.orders, board.marks] = picture.querySelectorAll(".orders"); // under the units, and above them
  for (const node of [...board.areas.values(), ...board.centers.values()]) node.removeAttribute("fill"); // set for the last phase
  const { width, height } = picture.viewBox.baseVal;
  document.documentElement.style.setProperty("--ratio", width / height);
  startLegend();
  startView(picture);
  timeline.onShow.push((phase, number, before) => {
    showOwners(phase);
    showUnits(phase, number, before);
    showOrders(phase);
  });
};

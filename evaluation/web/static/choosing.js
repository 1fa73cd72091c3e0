// Entering an order step by step: a unit, an action, a place. Every step is a choice among legal orders.

const WORDS = { H: "Hold", "-": "Move", VIA: "Move by convoy", S: "Support", C: "Convoy", R: "Retreat", D: "Disband", B: "Build" };
const base = (location) => location.split("/")[0];
const placeIn = (unit) => unit.split(" ").at(-1);
const choosing = { unit: null, path: [] };

// "A MAR S A PAR - BUR" -> ["S", "PAR", "BUR"], the choices in order.
const stepsOf = (order) => {
  const words = order.split(" ");
  const [kind, place, how, ...rest] = words;
  if (how === "-") return [rest.at(-1) === "VIA" ? "VIA" : "-", rest[0]];
  if (how === "S" || how === "C") return [how, rest[1], rest.length > 2 ? rest[3] : rest[1]];
  if (how === "R") return ["R", rest[0]];
  if (how === "B") return ["B", `${kind} ${place}`];
  return [how];
};

const legalOf = (unit) => state.view?.legal_orders[unit] || [];
const agrees = (order, path) => path.every((step, place) => stepsOf(order)[place] === step);

// The possible next choices. If the first choice is a place, the order is a move (or a retreat).
const nextChoices = () => [...new Set(legalOf(choosing.unit).filter((order) => agrees(order, choosing.path)).map((order) => stepsOf(order)[choosing.path.length]))].filter((one) => one !== undefined);

const ordersChosen = () => legalOf(choosing.unit).filter((order) => agrees(order, choosing.path) && stepsOf(order).length === choosing.path.length);

const isPlace = (step) => step.length >= 3 && step !== "VIA";
const goTo = () => (choosing.path.length ? nextChoices() : legalOf(choosing.unit).map(stepsOf).filter(([how]) => how === "-" || how === "R").map(([, where]) => where));
const targets = () => new Set(choosing.unit ? goTo().filter(isPlace).map((step) => base(placeIn(step))) : []);

const stopChoosing = () => {
  Object.assign(choosing, { unit: null, path: [] });
  showTask();
};

const setOrder = (unit, order) => {
  if (order === null) delete draft.orders[unit];
  else draft.orders[unit] = order;
  saveDraft();
};

// Take one step; the last step completes the order.
const take = (step) => {
  choosing.path.push(step);
  const found = ordersChosen();
  if (found.length && !nextChoices().length) {
    const unit = choosing.unit;
    setOrder(unit, found[0]);
    showNotice(`${found[0]}: ${orderInWords(found[0])}.`);
    stopChoosing();
    byId("units").querySelector(`[data-unit="${CSS.escape(unit)}"]`)?.focus({ preventScroll: true });
    return;
  }
  showTask();
  byId("choices").querySelector("button")?.focus({ preventScroll: true });
};

const choose = (unit, isByKey = false) => {
  Object.assign(choosing, { unit, path: [] });
  showNotice("");
  const first = nextChoices();
  if (first.length === 1 && first[0] === "B") choosing.path.push("B");
  showTask();
  if (isByKey) byId("choices").querySelector("button")?.focus({ preventScroll: true });
};

// A place of the map was clicked.
const clickPlace = (province) => {
  if (!canOrder()) return;
  const near = choosing.unit ? goTo().filter((step) => isPlace(step) && base(placeIn(step)) === province) : [];
  if (near.length) {
    if (!choosing.path.length) choosing.path.push(nextChoices().includes("R") ? "R" : "-");
    if (near.length === 1) return take(near[0]);
    showTask(near); // the coast, or army or fleet, is still to be chosen
    return;
  }
  const own = Object.keys(state.view.legal_orders).find((unit) => base(placeIn(unit)) === province);
  if (own) choose(own);
  else if (choosing.unit) showNotice(`${choosing.unit} cannot ${choosing.path[0] === "S" ? "support" : choosing.path[0] === "C" ? "convoy" : "go to"} ${placeName(province)} now: only the highlighted places are possible.`);
};

// An order in words.
const orderInWords = (order) => {
  if (order === "WAIVE") return "declines a build";
  if (order.startsWith("GIVE ")) return `gives a point to ${named(order.slice(5))}`;
  const [how, where, to] = stepsOf(order);
  const at = placeName(placeIn(order.split(" ").slice(0, 2).join(" ")));
  if (how === "H") return `holds in ${at}`;
  if (how === "-") return `moves to ${placeName(where)}`;
  if (how === "VIA") return `is convoyed to ${placeName(where)}`;
  if (how === "S") return base(where) === base(to) ? `supports the unit in ${placeName(where)}` : `supports ${placeName(where)} to ${placeName(to)}`;
  if (how === "C") return `convoys ${placeName(where)} to ${placeName(to)}`;
  if (how === "R") return `retreats to ${placeName(where)}`;
  if (how === "D") return "disbands";
  return `builds ${where[0] === "A" ? "an army" : "a fleet"} in ${at}`;
};

const labelOf = (step) => {
  if (WORDS[step] && !isPlace(step)) return WORDS[step];
  const [kind, place] = step.includes(" ") ? step.split(" ") : ["", step];
  if (kind) return `${kind === "A" ? "Army" : "Fleet"} in ${placeName(place)}`;
  const [how, where] = choosing.path;
  if ((how === "S" || how === "C") && choosing.path.length === 2) return base(where) === base(step) && how === "S" ? `to hold in ${placeName(step)}` : `to ${placeName(step)}`;
  return placeName(place);
};

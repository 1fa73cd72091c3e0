// The person's current task (orders, or the messages of a round), its marks on the map, and the points.

const canOrder = () => Boolean(state.view?.is_asked) && state.view.asked === "orders" && !state.answer && isNow();
const canWrite = () => Boolean(state.view?.is_asked) && state.view.asked === "messages" && !state.answer;
const showNotice = (text, isBad = false) => {
  byId("notice").textContent = text;
  byId("notice").classList.toggle("bad", isBad);
};

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const gain = (centers, units) => Math.max(0, centers - units);

const gifts = () => Object.values(draft.orders).filter((order) => order.startsWith("GIVE "));

// The number of the person's units after the drafted orders.
const unitsAfter = () => {
  const kinds = Object.values(draft.orders).map((order) => stepsOf(order)[0]);
  return state.view.units[SEAT].length + kinds.filter((how) => how === "B").length - kinds.filter((how) => how === "D").length;
};

const sum = () => {
  const view = state.view;
  const mine = view.centers[SEAT]?.length || 0, units = view.units[SEAT]?.length || 0;
  if (view.variant !== "welfare") return `You own ${plural(mine, "center")} and have ${plural(units, "unit")}.`;
  const now = `${plural(mine, "center")} − ${plural(units, "unit")} = +${gain(mine, units)}`;
  if (view.phase_type !== "A" || !canOrder()) return `If this year ended now: ${now}. One unit fewer: +1 a year.`;
  const after = unitsAfter(), given = gifts().length ? ` You give away ${plural(gifts().length, "point")}.` : "";
  return `With your draft: ${plural(mine, "center")} − ${plural(after, "unit")} = +${gain(mine, after)} this Winter. One unit fewer: +1 a year.${given}`;
};

const goal = () => {
  const view = state.view;
  if (state.step === "end") return "The game is over.";
  if (!view.is_asked) return "You have nothing to decide now.";
  if (state.answer) return "Sent. The game continues when all have answered.";
  if (view.asked === "messages") return `Round ${view.message_round} of ${view.message_rounds}: write to anyone. All messages of a round arrive at the same time; orders follow after the last round.`;
  if (view.phase_type === "M") return "Choose a unit, then where it goes. A unit without an order holds.";
  if (view.phase_type === "R") return "Your dislodged units retreat or disband. Units without an order disband.";
  const may = view.max_builds ? `You may build ${plural(view.max_builds, "unit")}, or disband for points.` : "You may disband units for points.";
  return view.must_disband ? `You must disband ${plural(view.must_disband, "unit")}; without orders, the units farthest from home are removed.` : `${may} Sending no orders builds nothing (waive).`;
};

const unitButton = (unit) => {
  const order = draft.orders[unit];
  const name = unit.includes(" ") ? sentence(inWords(unit)) : `Empty center: ${placeName(unit)}`;
  const text = order ? orderInWords(order) : state.view.phase_type === "A" ? "no order" : state.view.phase_type === "R" ? "disbands" : "holds";
  const open = choosing.unit === unit;
  const button = el("button", { type: "button", class: "unit-row", "data-unit": unit, "aria-expanded": String(open), onclick: (event) => (open ? stopChoosing() : choose(unit, event.detail === 0)) }, el("b", {}, name), el("span", { class: order ? "given" : "none" }, text));
  const remove = order ? el("button", { type: "button", "aria-label": `Take back the order of ${name}`, onclick: () => { setOrder(unit, null); stopChoosing(); } }, "×") : null;
  return el("li", {}, button, remove);
};

// Orders without a unit: WAIVE, and one or more GIVE.
const otherLines = () => Object.entries(draft.orders).filter(([key]) => !state.view.legal_orders[key]).map(([key, order]) => el("li", {}, el("code", {}, order), el("button", { type: "button", "aria-label": `Take back ${order}`, onclick: () => { setOrder(key, null); showTask(); } }, "×")));

// The key of an order in the draft: its unit, or a unique name.
const keyOf = (order) => {
  const unit = Object.keys(state.view.legal_orders).find((one) => legalOf(one).includes(order));
  if (unit || !order.startsWith("GIVE ")) return unit || order;
  let number = 1;
  while (draft.orders[`${order} ${number}`]) number += 1;
  return `${order} ${number}`;
};

const giveTo = (power) => {
  const order = `GIVE ${power}`;
  setOrder(keyOf(order), order);
  showNotice(`${order}: ${orderInWords(order)}.`);
  showTask();
  byId("gifts").querySelector(`[value="${power}"]`)?.focus({ preventScroll: true });
};

const showGifts = () => {
  const view = state.view, own = view.welfare[SEAT] || 0;
  const may = canOrder() && view.transfers && view.phase_type === "A" && own > 0;
  byId("gifts").hidden = !may;
  if (!may) return;
  const isSpent = gifts().length >= own;
  const label = el("p", {}, `You have ${plural(own, "point")}. Give one point to:`);
  byId("gifts").replaceChildren(label, ...POWERS.filter((power) => power !== SEAT).map((power) => el("button", { type: "button", value: power, "aria-disabled": String(isSpent), onclick: () => (isSpent ? showNotice("You have given all your points.", true) : giveTo(power)) }, named(power))));
};

const showChoices = (only) => {
  const options = choosing.unit ? only || nextChoices() : [];
  byId("choosing").hidden = !choosing.unit;
  if (!choosing.unit) return;
  const name = choosing.unit.includes(" ") ? sentence(inWords(choosing.unit)) : placeName(choosing.unit);
  const [how, where] = choosing.path;
  byId("choosing-title").textContent = `${name}${how ? `: ${WORDS[how].toLowerCase()}` : ""}${where ? ` ${placeName(placeIn(where))}` : ""} …`;
  const quick = !choosing.path.length ? goTo().filter(isPlace) : [];
  const moves = new Set(quick);
  byId("choices").replaceChildren(
    ...options.map((step) => el("button", { type: "button", value: step, onclick: () => take(step) }, labelOf(step))),
    ...[...moves].map((step) => el("button", { type: "button", class: "place", value: step, onclick: () => { choosing.path.push(nextChoices().includes("R") ? "R" : "-"); take(step); } }, `→ ${placeName(step)}`)),
    el("button", { type: "button", class: "quiet", onclick: stopChoosing }, "Cancel"),
  );
};

// Lines for the drafted orders, from the units to their targets.
const arrows = () => Object.entries(draft.orders).filter(([unit, order]) => legalOf(unit).includes(order)).flatMap(([, order]) => {
  const [how, where, to] = stepsOf(order);
  const from = placeOf(order, how === "R" || (how === "D" && state.view.phase_type === "R"));
  const spot = (place) => game.drawing.places[place] || game.drawing.places[base(place)];
  if (how === "H" || how === "D" || how === "B") return from ? [svg("circle", { cx: from[0], cy: from[1], r: 27, class: `draft ${how}` })] : [];
  const end = spot(how === "S" || how === "C" ? to : where);
  const line = svg("line", { x1: from[0], y1: from[1], x2: end[0], y2: end[1], class: `draft ${how}` });
  const tip = svg("circle", { cx: end[0], cy: end[1], r: 7, class: `draft tip` });
  if ((how === "S" || how === "C") && base(where) !== base(to)) {
    const mid = spot(where);
    return [svg("polyline", { points: `${from} ${mid} ${end}`, class: `draft ${how}` }), tip];
  }
  return [line, tip];
});

const showSigns = () => {
  const lit = canOrder() ? targets() : new Set();
  const own = choosing.unit ? base(placeIn(choosing.unit)) : "";
  for (const node of document.querySelectorAll("#map [id^='p-']")) {
    node.classList.toggle("target", lit.has(node.id.slice(2)));
    node.classList.toggle("chosen", canOrder() && node.id.slice(2) === own);
  }
  byId("map").classList.toggle("ordering", canOrder());
  board.draft?.replaceChildren(...(canOrder() ? arrows() : []));
};

const showTask = (only) => {
  if (!state.view) return;
  const ordering = Boolean(state.view.is_asked) && state.view.asked === "orders" && !state.answer;
  byId("goal").textContent = goal();
  byId("sum").textContent = SEAT === "SPECTATOR" || state.step === "end" ? "" : sum();
  byId("sum").hidden = !byId("sum").textContent;
  byId("ordering").hidden = !ordering;
  byId("writing").hidden = !canWrite();
  byId("sent").hidden = !state.answer;
  byId("submit").hidden = !ordering && !canWrite();
  byId("submit").disabled = state.isBusy;
  byId("submit").textContent = state.view.asked === "messages" ? (Object.values(draft.messages).some((text) => text.trim()) ? "Send messages" : "Say nothing") : state.view.phase_type === "A" && !Object.keys(draft.orders).length ? "Waive: no orders" : "Submit orders";
  if (ordering) byId("units").replaceChildren(...Object.keys(state.view.legal_orders).map(unitButton), ...otherLines());
  if (state.answer) byId("sent").replaceChildren(...sentLines());
  byId("bar-text").textContent = progress();
  showGifts();
  showChoices(only);
  showSigns();
};

// The text next to the button: progress of the draft.
const progress = () => {
  if (state.step === "end") return "The game is over.";
  if (canWrite()) return plural(Object.values(draft.messages).filter((text) => text.trim()).length, "message") + " written.";
  if (!state.view.is_asked || state.answer) return "Waiting for the others.";
  return `${plural(Object.keys(draft.orders).length, "order")} entered; you can change them until you submit.`;
};

const sentLines = () => {
  const lines = state.answer.orders || Object.entries(state.answer.messages || {}).map(([to, text]) => `to ${named(to)}: ${text}`);
  return (lines.length ? lines : [state.answer.orders ? "no orders" : "no messages"]).map((line) => el("li", {}, line));
};

// All drafted orders, with and without units.
const draftOrders = () => Object.values(draft.orders);

const submit = async () => {
  if (state.isBusy) return;
  state.isBusy = true;
  showTask();
  const given = state.view.asked === "messages" ? { messages: Object.fromEntries(Object.entries(draft.messages).filter(([, text]) => text.trim())) } : { orders: draftOrders() };
  try {
    await ask("answer", { step: state.step, number: draft.number, ...given });
    forgetDraft();
    state.answer = given;
    showNotice("");
    stopChoosing();
    await refresh();
  } catch (error) {
    showNotice(error.status ? error.message : "The server cannot be reached, but your draft is saved. Try again.", true);
    if (error.status === 409) refresh();
  } finally {
    state.isBusy = false;
    showTask();
  }
};

// A typed order in any notation that the server can parse; it also checks it together with the other drafted orders.
const typeOrder = async (text) => {
  try {
    const { orders } = await ask("check", { orders: [text] });
    const order = orders[0];
    const before = { ...draft.orders };
    setOrder(keyOf(order), order);
    try {
      await ask("check", { orders: draftOrders() });
    } catch (error) {
      draft.orders = before;
      saveDraft();
      throw error;
    }
    byId("typed").value = "";
    showNotice(`${order}: ${orderInWords(order)}.`);
    stopChoosing();
  } catch (error) {
    showNotice(error.message, true);
  }
};

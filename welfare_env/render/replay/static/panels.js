// The panels next to the map: standings, and the orders, messages and events of the phase shown.

const standings = { rows: [] };

const startStandings = () => {
  const columns = ["SC", "Units", ...(game.welfare ? ["WP"] : [])];
  const hints = { SC: "Supply centers", WP: "Welfare points" };
  const head = el("tr", {}, el("th", { scope: "col" }, "Power"));
  for (const name of columns) {
    head.append(el("th", { scope: "col" }, hints[name] ? el("abbr", { title: hints[name] }, name) : name));
  }
  const body = el("tbody");
  standings.rows = POWERS.map((power, index) => {
    const { player, policy, deviates } = game.powers[index];
    const cells = columns.map(() => el("td"));
    const name = el("div", {}, swatch(power), el("span", { class: "name" }, named(power)));
    if (policy) name.append(el("span", { class: "player", title: player }, policy));
    if (deviates) name.append(el("span", { class: "tag", title: "Deviates from the profile under test" }, "deviates"));
    const row = el("tr", {}, el("th", { scope: "row" }, name), ...cells);
    body.append(row);
    const leads = el("span", { class: "tag leads", hidden: true }, "leads");
    name.append(leads);
    return { row, cells, leads };
  });
  byId("standings").append(el("thead", {}, head), body);
};

const showStandings = (_, number) => {
  const ranking = rankingAt(number);
  const first = ranking.filter(({ rank }) => rank === 1).map(({ power }) => power);
  const kinds = ["centers", "units", ...(game.welfare ? ["welfare"] : [])];
  standings.rows.forEach(({ row, cells, leads }, index) => {
    leads.hidden = first.length > POWERS.length / 2 || !first.includes(POWERS[index]);
    const values = kinds.map((kind) => SERIES[kind][index][number]);
    values.forEach((value, column) => {
      cells[column].textContent = value;
    });
    row.classList.toggle("gone", values[0] + values[1] === 0);
  });
};

const orderItem = (text, words) => {
  const result = worst(words);
  const unit = text.split(" ").slice(0, 2).join(" ");
  const item = el("li", { class: "order", onmouseenter: () => pointAt(unit), onmouseleave: () => pointAt(null) });
  item.append(el("code", { title: inWords(text) }, text));
  item.append(el("span", { class: `result ${result.class}`, title: words.join(", ") || "success" }, result.told));
  return item;
};

// "Army Paris to Burgundy" of "A PAR - BUR".
const WORDS = { A: "Army", F: "Fleet", "-": "to", S: "supports", C: "convoys", H: "holds", R: "retreats to", B: "is built", D: "is disbanded", VIA: "by convoy" };
const inWords = (order) =>
  order.split(" ").map((word) => WORDS[word] || game.places[word.split("/")[0]] || word).join(" ");

const ordersPanel = (phase) => {
  const found = [];
  for (const power of POWERS) {
    const orders = phase.orders[power] || [];
    const refused = phase.refused[power] || [];
    const idle = phase.name.endsWith("M") ? withoutOrder(phase, power, orders) : [];
    if (!orders.length && !refused.length && !idle.length) continue;
    const list = el("ul", { class: "orders" }, ...orders.map(([text, words]) => orderItem(text, words)));
    for (const unit of idle) list.append(el("li", { class: "order" }, el("code", {}, unit), el("span", { class: "result" }, "no order: holds")));
    for (const [text, reason] of refused) {
      list.append(el("li", { class: "order" }, el("code", { class: "refused" }, text), el("span", { class: "result void", title: reason }, "refused")));
    }
    found.push(el("section", {}, el("h3", {}, swatch(power), named(power)), list));
  }
  return found.length ? [el("div", { class: "columns" }, ...found)] : [empty(phase.name === "COMPLETED" ? "The game is over." : "No orders in this phase.")];
};

const withoutOrder = (phase, power, orders) => {
  const ordered = new Set(orders.map(([text]) => text.split(" ").slice(0, 2).join(" ")));
  return unitsOf(phase, power).filter((unit) => !ordered.has(unit));
};

const empty = (text) => el("p", { class: "empty" }, text);

const eventItem = (event) => {
  const label = el("span", { class: `kind ${kindOf(event).name}` }, event.kind);
  const go = () => show(event.number);
  return el("li", {}, el("button", { type: "button", onclick: go }, el("b", {}, PHASES[event.number].name), label, el("span", {}, event.text)));
};

// The list is made once, so that it keeps its scroll position.
const eventsPanel = (_, number) => {
  if (!EVENTS.length) return [empty("This game has no notable events.")];
  tabs.events = tabs.events || el("ul", { class: "events" }, ...EVENTS.map(eventItem));
  EVENTS.forEach((event, place) => {
    const button = tabs.events.children[place].firstElementChild;
    if (event.number === number) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
  return [tabs.events];
};

const TABS = [
  { id: "orders", name: "Orders", build: ordersPanel, count: () => null },
  { id: "messages", name: "Messages", build: (phase) => messagesPanel(phase), count: (phase) => phase.messages.length },
  { id: "events", name: "Events", build: eventsPanel, count: () => EVENTS.length },
];

const tabs = { open: "orders", events: null };

const openTab = (id, focus = false) => {
  tabs.open = id;
  for (const tab of byId("tabs").children) {
    const chosen = tab.id === `tab-${id}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) tab.focus();
  }
  byId("panel").setAttribute("aria-labelledby", `tab-${id}`);
  showPanel();
};

const showPanel = () => {
  const phase = PHASES[timeline.number];
  for (const tab of TABS) byId(`count-${tab.id}`).textContent = tab.count(phase) || "";
  const panel = byId("panel");
  const content = TABS.find((tab) => tab.id === tabs.open).build(phase, timeline.number);
  if (content.length === 1 && content[0] === panel.firstElementChild) return;
  panel.replaceChildren(...content);
  requestAnimationFrame(() => (panel.scrollTop = 0)); // deferred: now it would lay out the page twice
};

const onTabKey = (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const place = TABS.findIndex((tab) => tab.id === tabs.open);
  openTab(TABS[(place + step + TABS.length) % TABS.length].id, true);
};

const startPanels = () => {
  startStandings();
  for (const { id, name } of TABS) {
    const attributes = { role: "tab", type: "button", id: `tab-${id}`, "aria-controls": "panel", onclick: () => openTab(id), onkeydown: onTabKey };
    byId("tabs").append(el("button", attributes, name, el("span", { class: "count", id: `count-${id}` })));
  }
  timeline.onShow.push(showStandings, showPanel);
};

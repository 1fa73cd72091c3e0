// The page: updating what is shown, and handling keys and clicks.

const showPhase = (number) => {
  const before = timeline.number;
  timeline.number = Math.max(0, Math.min(PHASES.length - 1, number));
  const phase = PHASES[timeline.number];
  for (const update of timeline.onShow) update(phase, timeline.number, before);
  board.orders.after(board.draft);
  byId("phase").textContent = state.step === "end" && isNow() ? "End of the game" : phase.title;
  byId("count").textContent = isNow() ? "now" : "the past";
  byId("back").disabled = timeline.number === 0;
  byId("next").disabled = byId("now").disabled = isNow();
  showStandings(phase);
  showResults(phase);
  showTask();
};

const showStandings = (phase) => {
  const rows = POWERS.map((power, index) => ({ power, points: phase.welfare[index], centers: phase.centers[power].length, units: phase.units[power].filter((unit) => !unit.startsWith("*")).length }));
  rows.sort((a, b) => b.points - a.points || b.centers - a.centers);
  byId("standings").tBodies[0].replaceChildren(...rows.map(({ power, points, centers, units }) => el("tr", { class: power === SEAT ? "own" : "" }, el("th", { scope: "row" }, swatch(power), ` ${named(power)}${power === SEAT ? " (you)" : ""}`), el("td", {}, String(points)), el("td", {}, String(centers)), el("td", {}, String(units)))));
};

// The orders of the selected phase; for the current phase, those of the previous one.
const showResults = (phase) => {
  const shown = isNow() && timeline.number > 0 ? PHASES[timeline.number - 1] : phase;
  byId("results-title").textContent = shown === phase && isNow() ? "Orders" : `Orders of ${shown.title}`;
  const groups = POWERS.filter((power) => shown.orders[power]?.length || shown.refused[power]?.length).map((power) => el("section", {}, el("h3", {}, swatch(power), named(power)), el("ul", {}, ...(shown.orders[power] || []).map(([text, words]) => el("li", { class: "order" }, el("code", {}, text), words.length ? el("span", { class: `result ${words[0].replace(" ", "-")}` }, words.join(", ")) : null)))));
  byId("results").replaceChildren(...(groups.length ? groups : [el("p", { class: "empty" }, shown === phase && isNow() && state.step !== "end" ? "Orders are secret until all are in." : "No orders.")]));
};

const showLobby = () => {
  const isWaiting = state.step === "lobby";
  byId("lobby").hidden = !isWaiting;
  byId("table").hidden = !state.view;
  byId("you").textContent = SEAT === "SPECTATOR" ? "You are a spectator." : `You play ${titled(SEAT)}.`;
  byId("title").textContent = document.title = state.title;
  byId("people").replaceChildren(...state.people.map(({ power, here }) => el("li", {}, `${titled(power)}: ${here ? "here" : "not here yet"}`)));
  byId("device").hidden = SEAT === "SPECTATOR";
};

// The server sends the time left, since this device's clock may be wrong.
const showClock = () => {
  const left = state.left === null || state.step === "end" ? null : Math.max(0, Math.round(state.left - (Date.now() - state.learned) / 1000));
  byId("clock").textContent = left === null ? "" : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`;
};

let shownStep = null, isStarted = false;
const showAll = () => {
  showLobby();
  showClock();
  if (!state.view) return;
  const isNew = state.step !== shownStep;
  if (!isStarted) startGame();
  if (isNew) {
    shownStep = state.step;
    Object.assign(choosing, { unit: null, path: [] });
    loadDraft();
    showNotice("");
    fillWriting();
    fillWith();
    showTalk();
    showPhase(PHASES.length - 1);
    byId("announce").textContent = `${byId("phase").textContent}. ${goal()}`;
  } else showTask();
};

const startGame = () => {
  isStarted = true;
  startBoard();
  board.draft = svg("g", { class: "drafts" });
  byId("results-word").textContent = state.view.variant === "welfare" ? "Each Winter, a power scores its centers minus its units. Nobody wins by conquest: all powers can do well." : "A power that owns more than half of the centers wins.";
  let down = null;
  byId("map").addEventListener("pointerdown", (event) => (down = [event.clientX, event.clientY]));
  byId("map").addEventListener("click", (event) => {
    if (event.target.closest("button") || (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 8)) return;
    const area = document.elementsFromPoint(event.clientX, event.clientY).find((node) => node.id.startsWith("p-"));
    if (area) clickPlace(area.id.slice(2));
  });
};

// A link for the same person to continue on another device.
const makeLink = async () => {
  try {
    const { link } = await ask("link", {});
    byId("device-link").value = location.origin + link;
    byId("device-notice").textContent = "It works once. Anyone with the link can play your seat.";
    byId("device-made").hidden = false;
    byId("device-link").select();
  } catch (error) {
    byId("device-notice").textContent = error.message;
  }
};

const start = async () => {
  startTalk();
  byId("submit").addEventListener("click", submit);
  byId("typing").addEventListener("submit", (event) => {
    event.preventDefault();
    if (byId("typed").value.trim()) typeOrder(byId("typed").value.trim());
  });
  byId("back").addEventListener("click", () => showPhase(timeline.number - 1));
  byId("next").addEventListener("click", () => showPhase(timeline.number + 1));
  byId("now").addEventListener("click", () => showPhase(PHASES.length - 1));
  byId("device-make").addEventListener("click", makeLink);
  addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && choosing.unit) stopChoosing();
    else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
  });
  setInterval(showClock, 1000);
  try {
    await comeIn(ask);
  } catch (error) {
    tellTrouble(error.message);
    return;
  }
  follow(); // before the first request, so that no change in between is missed
  await refresh();
};

start();

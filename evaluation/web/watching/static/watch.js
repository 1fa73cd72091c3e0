// The runs of this machine: the server sends an event after a change, and the page requests the new state.

const ask = askAt("/watch");

const HEADS = [["players", "players"], ["rules", "rules"], ["games", "games"], ["root_nash_welfare", "root Nash welfare"], ["stolen_centers", "stolen centers"], ["conflicts", "conflicts"]];
const isText = (name) => name === "players" || name === "rules";
const shown = (name, value) => (value === null ? "-" : typeof value === "number" && name !== "games" ? value.toFixed(2) : String(value));
const head = (names) => el("thead", {}, el("tr", {}, ...names.map(([name, title]) => el("th", { scope: "col", class: isText(name) ? "" : "number" }, title))));
const cell = (name, text) => el("td", { class: isText(name) ? "" : "number", dir: "auto" }, text);

const lineTable = (run) => el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Games stored so far" }, el("table", {}, head(HEADS), el("tbody", {}, ...run.lines.map((line) => el("tr", {}, ...HEADS.map(([name]) => cell(name, name === "games" && line.measured < line.games ? `${line.games} (${line.measured} measured)` : shown(name, line[name]))))))));

const gameLine = (game) => el("tr", {},
  el("td", {}, el("a", { href: `/watch/replay/${game.key}` }, game.key.slice(0, 8))),
  el("td", {}, new Date(game.created * 1000).toLocaleTimeString()),
  el("td", { dir: "auto" }, game.players),
  cell("root_nash_welfare", shown("root_nash_welfare", game.root_nash_welfare)),
  el("td", {}, game.points.map(([power, points]) => `${power} ${shown("", points)}`).join(", ")));

const gameTable = (run) => el("details", { "data-run": run.name }, el("summary", {}, `The last ${run.games.length} of ${run.stored} games, with replays`),
  el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Finished games" }, el("table", {}, el("thead", {}, el("tr", {}, ...["game", "stored", "players"].map((title) => el("th", { scope: "col" }, title)), el("th", { scope: "col", class: "number" }, "root Nash welfare"), el("th", { scope: "col" }, "points a year"))), el("tbody", {}, ...run.games.map(gameLine)))));

const clock = (seconds) => [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60].map((part, place) => (place ? String(part).padStart(2, "0") : part)).join(":");

const stageLine = (stage) => el("div", {}, el("p", { dir: "auto" }, `${stage.what}: ${stage.done} of ${stage.total} ${stage.unit}`), el("progress", { max: Math.max(1, stage.total), value: stage.done, "aria-label": stage.what }));

const runCard = (run) => el("section", { class: "run" },
  el("h2", { dir: "auto" }, run.command),
  el("span", { class: `state ${run.state}` }, run.state),
  run.lasted ? `${run.lasted}` : el("span", { "data-since": run.started }, ""),
  run.spent ? el("p", {}, `language models: ${run.spent}`) : null,
  run.folder ? el("p", {}, `in ${run.folder}`) : null,
  run.trouble ? el("p", { class: "bad" }, run.trouble) : null,
  ...run.progress.map(stageLine),
  run.lines.length ? lineTable(run) : null,
  run.games.length ? gameTable(run) : null);

// Difference between the server's clock and this browser's, in seconds.
let ahead = 0;
const tick = () => {
  for (const node of document.querySelectorAll("[data-since]")) node.textContent = clock(Math.max(0, Date.now() / 1000 + ahead - node.dataset.since));
};

let position = -1, again = 0;
const refresh = oneAtATime(async () => {
  clearTimeout(again);
  try {
    const found = await ask("state");
    position = found.position;
    ahead = found.now - Date.now() / 1000;
    const open = new Set([...document.querySelectorAll("details[open]")].map((node) => node.dataset.run));
    byId("runs").replaceChildren(...found.runs.map(runCard));
    for (const node of document.querySelectorAll("details")) node.open = open.has(node.dataset.run);
    byId("nothing").hidden = found.runs.length > 0;
    tick();
    tellTrouble("");
  } catch (error) {
    if (error.status === 404) return tellTrouble(error.message);
    tellTrouble("The connection is lost; trying again ...");
    again = setTimeout(refresh, 2000);
  }
});

// A hidden page has no stream, since browsers open only six per server.
let source = null;
const follow = () => {
  source?.close();
  source = null;
  if (document.visibilityState !== "visible") return;
  source = openStream(`/watch/events?after=${position}`, (newest) => Number(newest) !== position && refresh());
  const mine = source;
  source.onrefused = () => mine === source && follow();
};

const start = async () => {
  try {
    await comeIn(ask);
  } catch (error) {
    return tellTrouble(error.message);
  }
  const wake = () => {
    if (document.visibilityState === "visible") refresh();
    follow();
  };
  addEventListener("visibilitychange", wake);
  addEventListener("online", wake);
  addEventListener("pageshow", (event) => event.persisted && wake());
  setInterval(tick, 1000);
  setInterval(() => source && isSilent() && wake(), 5000);
  await refresh();
  follow();
};

start();

// The state of the game on this page. The server sends only what the seat may see, so nothing is filtered here.

let game = null, PHASES = [], POWERS = [];
const EVENTS = [], EVENT_KINDS = [];
const timeline = { number: -1, speed: 1, onShow: [] };
const KEYS = {};
const [, , GAME, SEAT] = location.pathname.split("/");
const BASE = `/g/${GAME}`;
const state = { position: -1, step: "", view: null, answer: null, people: [], title: "", left: null, learned: 0, isBusy: false };

const colorOf = (power) => (game?.powers[POWERS.indexOf(power)] || { color: "#888" }).color;
const titled = (word) => word.charAt(0) + word.slice(1).toLowerCase();
const named = (power) => (power === "GLOBAL" ? "all" : (game?.powers[POWERS.indexOf(power)] || { said: titled(power) }).said);
const placeName = (location) => {
  const [province, coast] = location.split("/");
  return `${game.places[province] || province}${coast ? ` (${{ NC: "north", SC: "south", EC: "east", WC: "west" }[coast] || coast} coast)` : ""}`;
};
const inWords = (unit) => `${unit[0] === "A" ? "army" : "fleet"} in ${placeName(unit.split(" ")[1])}`;
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const isNow = () => timeline.number === PHASES.length - 1;

const learn = (found) => {
  Object.assign(state, found);
  if (!found.game) return;
  const { since, phases, ...rest } = found.game;
  PHASES = [...PHASES.slice(0, since), ...phases];
  game = { ...game, ...rest };
  POWERS = game.powers.map((power) => power.name);
};

// Drafts are saved in this browser until they are submitted.
const draftKey = () => `${BASE}/${SEAT}/${state.step}`;
let draft = { orders: {}, messages: {}, number: newNumber() };
const loadDraft = () => {
  draft = { orders: {}, messages: {}, number: newNumber() };
  try {
    Object.assign(draft, JSON.parse(localStorage.getItem(draftKey()) || "{}"));
  } catch {
    // No storage, or a damaged draft: start with an empty one.
  }
};
const saveDraft = () => {
  try {
    localStorage.setItem(draftKey(), JSON.stringify(draft));
  } catch {
    // No storage: the draft is only in the page.
  }
};
const forgetDraft = () => {
  try {
    localStorage.removeItem(draftKey());
  } catch {
    // No storage.
  }
};

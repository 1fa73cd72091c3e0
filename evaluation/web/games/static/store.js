// The game as far as the page knows it. The server sends what the seat may see, and nothing is left out here.

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

// Drafts stay in this browser until they are sent.
const draftKey = () => `${BASE}/${SEAT}/${state.step}`;
let draft = { orders: {}, messages: {}, number: newNumber() };
const loadDraft = () => {
  draft = { orders: {}, messages: {}, number: newNumber() };
  try {
    Object.assign(draft, JSON.parse(localStorage.getItem(draftKey()) || "{}"));
  } catch {
    // A browser that keeps nothing, or a draft that is damaged: begin anew.
  }
};
const saveDraft = () => {
  try {
    localStorage.setItem(draftKey(), JSON.stringify(draft));
  } catch {
    // It stays in the page.
  }
};
const forgetDraft = () => {
  try {
    localStorage.removeItem(draftKey());
  } catch {
    // There is none.
  }
};

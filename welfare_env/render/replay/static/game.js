// The game's data, as embedded in the page.

const game = JSON.parse(byId("data").textContent);
const POWERS = game.powers.map((power) => power.name);
const PHASES = game.phases;
const NUMBER = new Map(PHASES.map((phase, number) => [phase.name, number]));
const EVENTS = game.events.map(([phase, kind, text]) => ({ number: NUMBER.get(phase), kind, text }));

const colorOf = (power) => (game.powers[POWERS.indexOf(power)] || { color: "#888" }).color;
const titled = (word) => word.charAt(0) + word.slice(1).toLowerCase();

// "France"; "Player A"; "all".
const named = (power) => (power === "GLOBAL" ? "all" : (game.powers[POWERS.indexOf(power)] || { said: titled(power) }).said);
const short = (power) => (named(power).includes(" ") ? named(power).split(" ").at(-1) : power).slice(0, 3);
const unitsOf = (phase, power) => phase.units[power].filter((unit) => !unit.startsWith("*"));

// Each power's centers, units and points at the start of every phase.
const SERIES = {
  centers: POWERS.map((power) => PHASES.map((phase) => phase.centers[power].length)),
  units: POWERS.map((power) => PHASES.map((phase) => unitsOf(phase, power).length)),
  welfare: POWERS.map((_, index) => PHASES.map((phase) => phase.welfare[index])),
};

// The result of an order with the highest precedence; success comes last.
const RESULTS = game.drawing.results;
const worst = (words) => RESULTS.find(({ word }) => words.includes(word)) || RESULTS.at(-1);

// Year -> the number of its first phase.
const YEARS = new Map();
PHASES.forEach((phase, number) => {
  const year = phase.name.slice(1, -1);
  if (/^\d+$/.test(year) && !YEARS.has(year)) YEARS.set(year, number);
});

// The kinds of events, the most serious first, each with its own mark on the timeline.
const EVENT_KINDS = [
  { name: "loss", told: "center stolen, power gone", shape: "M-5-5h10v10h-10z", kinds: ["stolen", "eliminated"] },
  { name: "attack", told: "attack, broken promise", shape: "M0-6l6 11h-12z", kinds: ["first attack", "attack", "first stab", "stab", "promise broken"] },
  { name: "peace", told: "disarmament", shape: "M-5 0a5 5 0 1 1 10 0a5 5 0 1 1-10 0z", kinds: ["disarmament"] },
  { name: "other", told: "other event", shape: "M-5-1.5h10v3h-10z", kinds: [] },
];
const kindOf = (event) => EVENT_KINDS.find(({ kinds }) => kinds.includes(event.kind)) || EVENT_KINDS.at(-1);
const markOf = (kind) => svg("path", { d: kind.shape, class: `mark ${kind.name}` });

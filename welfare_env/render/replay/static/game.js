// The game as the page was given it.

const game = JSON.parse(byId("data").textContent);
const POWERS = game.powers.map((power) => power.name);
const PHASES = game.phases;
const NUMBER = new Map(PHASES.map((phase, number) => [phase.name, number]));
const EVENTS = game.events.map(([phase, kind, text]) => ({ number: NUMBER.get(phase), kind, text }));

const colorOf = (power) => (game.powers[POWERS.indexOf(power)] || { color: "#888" }).color;
const titled = (word) => word.charAt(0) + word.slice(1).toLowerCase();

// Letters that all names begin with: "PLAYER" of PLAYERA, PLAYERB ...
const shared = () => {
  let size = 0;
  while (POWERS[0][size] && POWERS.every((power) => power[size] === POWERS[0][size])) size += 1;
  return size < 3 ? 0 : size;
};
const SHARED = shared();

// "France"; "Player A" of names that differ at their ends only; "all".
const named = (power) => {
  if (power === "GLOBAL") return "all";
  return SHARED && POWERS.includes(power) ? `${titled(power.slice(0, SHARED))} ${power.slice(SHARED)}` : titled(power);
};
const short = (power) => (SHARED ? power.slice(SHARED, SHARED + 3) : power.slice(0, 3));
const unitsOf = (phase, power) => phase.units[power].filter((unit) => !unit.startsWith("*"));

// What each power has at the start of every phase.
const SERIES = {
  centers: POWERS.map((power) => PHASES.map((phase) => phase.centers[power].length)),
  units: POWERS.map((power) => PHASES.map((phase) => unitsOf(phase, power).length)),
  welfare: POWERS.map((_, index) => PHASES.map((phase) => phase.welfare[index])),
};

// Of the results of an order, the one that counts; the last of all is success.
const RESULTS = game.drawing.results;
const worst = (words) => RESULTS.find(({ word }) => words.includes(word)) || RESULTS.at(-1);

// Year -> the number of its first phase.
const YEARS = new Map();
PHASES.forEach((phase, number) => {
  const year = phase.name.slice(1, -1);
  if (/^\d+$/.test(year) && !YEARS.has(year)) YEARS.set(year, number);
});

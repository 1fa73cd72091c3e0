// The result: the header with the ranking, and the section "About this game".

const POINTS = game.welfare ? ["welfare", "welfare point"] : ["centers", "center"];
const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// Powers by their points at a phase, most first; equal points share a rank.
const rankingAt = (number) => {
  const all = POWERS.map((power, index) => ({ power, points: SERIES[POINTS[0]][index][number] }));
  const rank = ({ points }) => 1 + all.filter((other) => other.points > points).length;
  return all.map((each) => ({ ...each, rank: rank(each) })).sort((a, b) => a.rank - b.rank);
};

const inOneSentence = (ranking) => {
  const isOver = PHASES.at(-1).name === "COMPLETED";
  const first = ranking.filter(({ rank }) => rank === 1).map(({ power }) => named(power));
  const points = counted(ranking[0].points, POINTS[1]);
  if (game.winner) return `${named(game.winner)} wins with ${points}.`;
  if (first.length === POWERS.length) return `All powers ${isOver ? "end with" : "have"} ${points}${isOver ? "" : " so far"}.`;
  const who = [first.slice(0, -1).join(", "), first.at(-1)].filter(Boolean).join(" and ");
  const verb = isOver ? (first.length === 1 ? "comes first" : "come first") : first.length === 1 ? "leads so far" : "lead so far";
  return `${who} ${verb} with ${points}.`;
};

const rankItem = ({ power, points, rank }) =>
  el("li", { title: `${rank}. ${named(power)}: ${counted(points, POINTS[1])}` }, el("span", { class: "rank" }, `${rank}.`), swatch(power), el("span", { class: "long" }, named(power)), el("span", { class: "brief", "aria-hidden": "true" }, short(power)), el("b", {}, points));

const detail = (name, ...words) => [el("dt", {}, name), el("dd", {}, ...words)];

const specsOf = () => {
  const groups = Map.groupBy ? Map.groupBy(game.powers, ({ player }) => player) : new Map(game.powers.map((power) => [power.player, [power]]));
  return [...groups].map(([player, powers]) => el("span", { class: "spec" }, `${powers.map(({ name }) => named(name)).join(", ")}: `, el("code", {}, player)));
};

const startResult = () => {
  const ranking = rankingAt(PHASES.length - 1);
  byId("result").textContent = inOneSentence(ranking);
  byId("ranking").append(...ranking.map(rankItem));
  byId("about").textContent = game.about;
  for (const [name, value, words] of game.measures) {
    byId("measures").append(el("div", {}, el("dt", { title: words }, name), el("dd", {}, value)));
    byId("details").append(...detail(`${name}: ${value}`, words));
  }
  byId("details").append(...detail("Attacks", "Orders to move into a province where another power has a unit or owns the center, successful or not. An attack on an unoccupied center is not a conflict."));
  byId("details").append(...detail("Rules", game.about));
  if (game.powers.some(({ player }) => player)) byId("details").append(...detail("Policies", ...specsOf()));
};

// Line charts over the phases, and the table of attacks. The charts are drawn once; each step moves the cursor.

const WIDTH = 360, HEIGHT = 190, LEFT = 30, RIGHT = 40, TOP = 10, BOTTOM = 22;
const charts = { cursors: [], readings: [] };

const across = (number) => LEFT + ((WIDTH - LEFT - RIGHT) * number) / Math.max(1, PHASES.length - 1);

const steps = (most) => {
  const raw = most / 4 || 0.25;
  const size = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => step >= raw);
};

const lineOf = (values, up) => {
  let path = "";
  values.forEach((value, number) => {
    if (value !== null) path += `${path ? "L" : "M"}${across(number).toFixed(1)} ${up(value).toFixed(1)}`;
  });
  return path;
};

// Names at the ends of lines, moved apart to avoid overlaps.
const spread = (ends, gap = 10) => {
  const sorted = [...ends].sort((a, b) => a.y - b.y);
  sorted.forEach((end, place) => {
    if (place) end.y = Math.max(end.y, sorted[place - 1].y + gap);
  });
  for (let place = sorted.length - 1, floor = HEIGHT - BOTTOM + 3; place >= 0; place--, floor -= gap) {
    sorted[place].y = Math.min(sorted[place].y, floor);
  }
  return sorted;
};

const grid = (up, most, isWhole) => {
  const step = isWhole ? Math.max(1, steps(most)) : steps(most);
  const found = [];
  for (let value = 0; value <= most + step / 1000; value += step) {
    const y = up(value), digits = step < 1 ? 1 : 0;
    found.push(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: "grid" }));
    found.push(svg("text", { x: LEFT - 6, y: y + 3, class: "tick end" }, value.toFixed(digits)));
  }
  return [...found, ...years()];
};

const years = () => {
  const every = Math.ceil(YEARS.size / 6);
  return [...YEARS].filter((_, place) => place % every === 0).map(([year, number]) => svg("text", { x: across(number), y: HEIGHT - 6, class: "tick middle" }, year));
};

const chart = (title, lines, isWhole = true) => {
  const most = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))) || 1;
  const up = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / most;
  const cursor = svg("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "cursor" });
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", onclick: (event) => jumpTo(picture, event) }, ...grid(up, most, isWhole), cursor);
  const ends = [];
  for (const { name, color, values } of lines) {
    const path = svg("path", { d: lineOf(values, up), class: "line" });
    path.style.setProperty("--power", color);
    picture.append(path);
    const last = values.findLastIndex((value) => value !== null);
    if (last >= 0) ends.push({ name, color, y: up(values[last]) + 3 });
  }
  for (const { name, color, y } of lines.length > 1 ? spread(ends) : []) {
    const label = svg("text", { x: WIDTH - RIGHT + 5, y, class: "end-label" }, short(name));
    label.style.setProperty("--power", color);
    picture.append(label);
  }
  charts.cursors.push(cursor);
  charts.readings.push({ picture, title, lines });
  return el("figure", {}, el("figcaption", {}, title), picture);
};

const jumpTo = (picture, event) => {
  const box = picture.getBoundingClientRect();
  const x = ((event.clientX - box.left) * WIDTH) / box.width;
  show(Math.round(((x - LEFT) / (WIDTH - LEFT - RIGHT)) * (PHASES.length - 1)));
};

const startCharts = () => {
  const byPower = (kind) => POWERS.map((name, index) => ({ name, color: colorOf(name), values: SERIES[kind][index] }));
  const found = [chart("Supply centers", byPower("centers")), chart("Units", byPower("units"))];
  if (game.welfare) {
    found.push(chart("Welfare points", byPower("welfare")));
    found.push(chart("Root Nash welfare so far, a year", [{ name: "all", color: "var(--accent)", values: game.rootNash }], false));
  }
  byId("charts").append(...found);
  timeline.onShow.push((phase, number) => {
    for (const cursor of charts.cursors) {
      cursor.setAttribute("x1", across(number));
      cursor.setAttribute("x2", across(number));
    }
    for (const { picture, title, lines } of charts.readings) {
      const told = lines.map(({ name, values }) => `${named(name)} ${values[number] ?? "none yet"}`);
      picture.setAttribute("aria-label", `${title}, ${phase.title}: ${told.join(", ")}`);
    }
  });
};

const attacks = { cells: new Map(), sums: [] };

const startAttacks = () => {
  const columns = POWERS.map((power) => el("th", { scope: "col" }, el("abbr", { title: named(power) }, short(power))));
  const head = el("tr", {}, el("th", { scope: "col" }, "attacks on"), ...columns, el("th", { scope: "col" }, "all"));
  const body = el("tbody");
  for (const attacker of POWERS) {
    const cells = POWERS.map((victim) => {
      const cell = el("td", attacker === victim ? { class: "self" } : {});
      attacks.cells.set(`${attacker} ${victim}`, cell);
      return cell;
    });
    const sum = el("td", { class: "sum" });
    attacks.sums.push(sum);
    body.append(el("tr", {}, el("th", { scope: "row" }, swatch(attacker), named(attacker)), ...cells, sum));
  }
  byId("attacks").append(el("caption", {}, "Orders to move to where another power has a unit or a center, whatever came of them. Conflicts are something else: see About this game."), el("thead", {}, head), body);
  timeline.onShow.push(showAttacks);
};

const ATTACKS = game.attacks.map(([phase, attacker, victim]) => [NUMBER.get(phase), attacker, victim]);

const showAttacks = (phase, number) => {
  const counts = new Map();
  for (const [when, attacker, victim] of ATTACKS) {
    if (when <= number) counts.set(`${attacker} ${victim}`, (counts.get(`${attacker} ${victim}`) || 0) + 1);
  }
  const most = Math.max(1, ...counts.values());
  byId("attacks-until").textContent = `up to ${phase.title}`;
  for (const [pair, cell] of attacks.cells) {
    const count = counts.get(pair) || 0;
    if (!cell.classList.contains("self")) cell.textContent = count || "·";
    cell.style.setProperty("--heat", count / most);
    cell.classList.toggle("none", !count);
  }
  POWERS.forEach((attacker, place) => {
    const all = POWERS.reduce((sum, victim) => sum + (counts.get(`${attacker} ${victim}`) || 0), 0);
    attacks.sums[place].textContent = all;
  });
};

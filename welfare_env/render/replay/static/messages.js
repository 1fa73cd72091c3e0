// The messages of a phase, by round and pair, with filters. Promises are marked; reasoning is hidden by default.

const EVERYBODY = "";
const filters = { one: EVERYBODY, other: EVERYBODY, promises: false, reasoning: false };
const hasReasoning = PHASES.some((phase) => phase.reasoning.length);
const hasPromises = PHASES.some((phase) => phase.messages.some((message) => message[4]));
const speakers = [...new Set(PHASES.flatMap((phase) => phase.messages.flatMap(([, sender, to]) => [sender, to])))].sort();

const isWanted = ([, sender, recipient, , marks]) =>
  [filters.one, filters.other].every((player) => player === EVERYBODY || player === sender || player === recipient) &&
  !(filters.one !== EVERYBODY && filters.one === filters.other && sender !== filters.one) &&
  (!filters.promises || Boolean(marks));

const choice = (label, key) => {
  const box = el("select", { onchange: (event) => change(key, event.target.value) }, el("option", { value: EVERYBODY }, "anybody"));
  for (const player of speakers) box.append(el("option", { value: player, selected: filters[key] === player }, named(player)));
  return el("label", {}, label, box);
};

const check = (label, key) =>
  el("label", {}, el("input", { type: "checkbox", checked: filters[key], onchange: (event) => change(key, event.target.checked) }), label);

const change = (key, value) => {
  filters[key] = value;
  byId("thread").replaceChildren(...threads(PHASES[timeline.number]));
};

const messagesPanel = (phase) => {
  if (!speakers.length && !hasReasoning) return [empty("This game has no messages.")];
  const bar = el("div", { class: "filters" }, choice("Between", "one"), choice("and", "other"));
  if (hasPromises) bar.append(check("Only promises", "promises"));
  if (hasReasoning) bar.append(check("Private reasoning", "reasoning"));
  return [bar, el("div", { id: "thread" }, ...threads(phase))];
};

const threads = (phase) => {
  const wanted = phase.messages.filter(isWanted);
  const thoughts = filters.reasoning ? phase.reasoning.filter(([, player]) => [filters.one, filters.other].some((one) => one === player) || (!filters.one && !filters.other)) : [];
  const rounds = [...new Set([...wanted, ...thoughts].map(([round]) => round))].sort((a, b) => a - b);
  if (!rounds.length) return [empty(phase.messages.length ? "No message fits the filters." : "No messages in this phase.")];
  return rounds.map((round) => roundOf(round, wanted, thoughts));
};

const roundOf = (round, wanted, thoughts) => {
  const section = el("section", { class: "round" }, el("h3", {}, round ? `Round ${round}` : "Orders"));
  for (const [, player, text] of thoughts.filter((each) => each[0] === round)) section.append(thoughtOf(player, text));
  const pairs = new Map();
  for (const message of wanted.filter((each) => each[0] === round)) {
    const [, sender, recipient] = message;
    const key = recipient === "GLOBAL" ? recipient : [sender, recipient].sort().join(" ");
    pairs.set(key, [...(pairs.get(key) || []), message]);
  }
  for (const key of [...pairs.keys()].sort()) section.append(pairOf(key, pairs.get(key)));
  return section;
};

const pairOf = (key, messages) => {
  const title = key === "GLOBAL" ? ["To all"] : key.split(" ").flatMap((player, place) => [...(place ? [" and "] : []), named(player)]);
  return el("section", { class: "pair" }, el("h4", {}, ...title), ...messages.map(messageOf));
};

const messageOf = ([, sender, , text, marks]) => {
  const body = el("p", { dir: "auto" }, ...marked(text, marks || []));
  return el("div", { class: "message" }, el("div", { class: "from" }, swatch(sender), named(sender)), body);
};

const thoughtOf = (player, text) =>
  el("div", { class: "message thought" }, el("div", { class: "from" }, swatch(player), `${named(player)}, to itself`), el("p", { dir: "auto" }, text));

const KEPT = new Map([
  [true, ["kept", "promise kept"]],
  [false, ["broken", "promise broken"]],
  [null, ["open", "promise, not judged"]],
]);

// A text with its promises marked; a promise that overlaps an earlier mark is not marked.
const marked = (text, marks) => {
  const parts = [];
  let done = 0;
  const found = marks.map(([sentence, kept]) => ({ sentence, kept, at: text.indexOf(sentence) })).filter(({ at }) => at >= 0);
  for (const { sentence, kept, at } of found.sort((a, b) => a.at - b.at)) {
    if (at < done) continue;
    const [name, words] = KEPT.get(kept);
    parts.push(text.slice(done, at), el("mark", { class: name }, sentence), el("span", { class: `verdict ${name}` }, words));
    done = at + sentence.length;
  }
  return [...parts, text.slice(done)];
};

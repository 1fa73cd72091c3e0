// Selects the phase shown: buttons, keys, links, play.

const SPEEDS = [1, 2, 4];
const SECONDS = 1.6; // per phase at speed 1

const timeline = { number: -1, speed: 1, timer: null, onShow: [] };

const show = (number, link = true) => {
  const next = Math.max(0, Math.min(PHASES.length - 1, number));
  if (next === timeline.number) return;
  const before = timeline.number;
  timeline.number = next;
  const phase = PHASES[next];
  for (const update of timeline.onShow) update(phase, next, before);
  if (link) requestAnimationFrame(setLink);
};

const setLink = () => {
  const isFollowing = game.live && timeline.number === PHASES.length - 1; // a link would keep a reloaded page at this phase
  const name = isFollowing ? "" : PHASES[timeline.number].name;
  try {
    if (location.hash.slice(1) !== name) history.replaceState(null, "", `#${name}`);
  } catch {
    // A page in an iframe (in a notebook) has no address of its own.
  }
};

const followLink = () => {
  const number = NUMBER.get(location.hash.slice(1)); // phase names are letters and digits, which need no decoding
  if (number !== undefined) show(number, false);
  return number !== undefined;
};

const tick = () => {
  show(timeline.number + 1);
  if (timeline.number === PHASES.length - 1) pause();
};

const play = () => {
  if (timeline.number === PHASES.length - 1) show(0);
  clearInterval(timeline.timer);
  timeline.timer = setInterval(tick, (SECONDS * 1000) / timeline.speed);
  setIcon(byId("play"), "pause");
  byId("play").setAttribute("aria-label", "Pause");
};

const pause = () => {
  clearInterval(timeline.timer);
  timeline.timer = null;
  setIcon(byId("play"), "play");
  byId("play").setAttribute("aria-label", "Play");
};

const playOrPause = () => (timeline.timer === null ? play() : pause());

const setSpeed = (speed) => {
  timeline.speed = speed;
  for (const button of byId("speeds").children) button.setAttribute("aria-pressed", String(Number(button.value) === speed));
  if (timeline.timer !== null) play();
};

const toEvent = (step) => {
  const ahead = EVENTS.filter((event) => (event.number - timeline.number) * step > 0).map((event) => event.number);
  if (ahead.length) show(step > 0 ? Math.min(...ahead) : Math.max(...ahead));
};

const KEYS = {
  ArrowLeft: () => show(timeline.number - 1),
  ArrowRight: () => show(timeline.number + 1),
  Home: () => show(0),
  End: () => show(PHASES.length - 1),
  " ": playOrPause,
  n: () => toEvent(1),
  p: () => toEvent(-1),
  ...Object.fromEntries(SPEEDS.map((speed) => [String(speed), () => setSpeed(speed)])),
};

const onKey = (event) => {
  const keeps = event.target.closest("select, [role=tab]");
  const presses = event.key === " " && event.target.closest("button, input, summary");
  const key = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
  if (keeps || presses || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, key)) return;
  event.preventDefault();
  KEYS[key]();
};

const drawTrack = () => {
  const last = Math.max(1, PHASES.length - 1);
  for (const number of new Set(EVENTS.map((event) => event.number))) {
    const here = EVENTS.filter((event) => event.number === number);
    const gravest = EVENT_KINDS.find((kind) => here.some((event) => kindOf(event) === kind));
    byId("marks").append(svg("svg", { x: `${(100 * number) / last}%`, y: 7, overflow: "visible" }, markOf(gravest)));
  }
  for (const [year, number] of YEARS) {
    const x = `${(100 * number) / last}%`;
    byId("years").append(svg("line", { x1: x, x2: x, y1: 0, y2: 5 }), svg("text", { x, y: 17 }, year));
  }
};

// As many year labels as fit.
const thinYears = () => {
  const every = Math.ceil((38 * YEARS.size) / Math.max(1, byId("years").clientWidth));
  [...byId("years").querySelectorAll("text")].forEach((text, place) => text.classList.toggle("left-out", place % every > 0));
};

const startTimeline = () => {
  const slider = byId("slider");
  slider.max = PHASES.length - 1;
  slider.addEventListener("input", () => show(Number(slider.value)));
  for (const id of ["first", "back", "play", "next", "last"]) setIcon(byId(id), id);
  byId("first").addEventListener("click", KEYS.Home);
  byId("back").addEventListener("click", KEYS.ArrowLeft);
  byId("play").addEventListener("click", playOrPause);
  byId("next").addEventListener("click", KEYS.ArrowRight);
  byId("last").addEventListener("click", KEYS.End);
  byId("event-back").addEventListener("click", KEYS.p);
  byId("event-next").addEventListener("click", KEYS.n);
  for (const speed of SPEEDS) {
    const press = () => setSpeed(speed);
    byId("speeds").append(el("button", { type: "button", value: speed, onclick: press, title: `Speed ${speed}` }, `${speed}×`));
  }
  setSpeed(1);
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", followLink);
  drawTrack();
  new ResizeObserver(thinYears).observe(byId("years"));
  timeline.onShow.push((phase, number) => {
    byId("phase").textContent = phase.title;
    byId("count").textContent = `${number + 1} of ${PHASES.length}`;
    slider.value = number;
    slider.setAttribute("aria-valuetext", phase.title);
    document.title = `${phase.title}: ${game.title}`;
  });
};

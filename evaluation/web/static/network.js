// Requests of the page. Tabs of the same game share one event stream, since browsers open only six per server.

const ask = askAt(`${BASE}/${SEAT}`);

let again = 0;
const refresh = oneAtATime(async () => {
  clearTimeout(again);
  try {
    learn(await ask(`state?since=${Math.max(0, PHASES.length - 1)}`));
    state.learned = Date.now();
    tellTrouble("");
    showAll();
  } catch (error) {
    if (error.status === 404) return tellTrouble(error.message);
    tellTrouble("The connection is lost. Your drafts are saved; trying again ...");
    again = setTimeout(refresh, 2000);
  }
});

const heard = (position) => {
  heardAt = Date.now();
  if (Number(position) !== state.position) refresh();
};

const channel = window.BroadcastChannel && new BroadcastChannel(BASE);
let source = null; // the stream, in the tab that holds it

const listen = () => {
  source?.close();
  source = openStream(`${BASE}/events?after=${state.position}`, (position) => {
    channel.postMessage(position);
    heard(position);
  });
  const mine = source;
  source.onrefused = () => mine === source && listen();
};

const stopListening = () => {
  source?.close();
  source = null;
};

// One tab holds the stream and forwards events to the others. When it is closed, or sends nothing for long (browsers
// suspend hidden tabs), another tab takes over.
let turn = null;
const lead = (isTaken) => {
  turn?.abort();
  const mine = (turn = new AbortController());
  const how = isTaken ? { steal: true } : { signal: mine.signal };
  const held = navigator.locks.request(BASE, how, () => {
    listen();
    return new Promise(() => {});
  });
  held.catch(() => {
    if (mine !== turn) return;
    stopListening();
    lead(false);
  });
};

const wake = () => {
  refresh();
  if (source) listen();
};

const follow = () => {
  addEventListener("visibilitychange", () => document.visibilityState === "visible" && wake());
  addEventListener("online", wake);
  addEventListener("pageshow", (event) => event.persisted && wake());
  if (!navigator.locks || !channel) {
    setInterval(refresh, 3000); // without locks (plain http from another machine), poll
    return;
  }
  channel.onmessage = ({ data }) => heard(data);
  lead(false);
  setInterval(() => {
    if (!isSilent()) return;
    refresh();
    if (source) listen();
    else lead(true);
  }, 5000);
};

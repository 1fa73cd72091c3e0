// What the page asks the server for. Several tabs of a game share one event stream: browsers open only six to a server.

const ask = askAt(`${BASE}/${SEAT}`);

const refresh = oneAtATime(async () => {
  try {
    learn(await ask(`state?since=${Math.max(0, PHASES.length - 1)}`));
    tellTrouble("");
    showAll();
  } catch (error) {
    if (error.status === 404) return tellTrouble(error.message);
    tellTrouble("The connection is lost. Your drafts are kept; trying again ...");
    setTimeout(refresh, 2000);
  }
});

const heard = (position) => Number(position) !== state.position && refresh();

const listen = (onPosition) => {
  const source = new EventSource(`${BASE}/events?after=${state.position}`);
  source.onmessage = (event) => onPosition(event.data);
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return; // it connects again by itself
    source.close();
    setTimeout(() => listen(onPosition), 3000);
  };
};

// One tab holds the stream, and tells the others; when it is closed, another one takes over.
const follow = () => {
  addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
  addEventListener("online", refresh);
  if (!navigator.locks || !window.BroadcastChannel) {
    setInterval(refresh, 3000); // a page over plain http from another machine has no locks: it asks
    return;
  }
  const channel = new BroadcastChannel(BASE);
  channel.onmessage = ({ data }) => heard(data);
  navigator.locks.request(BASE, () => new Promise(() => {
    listen((position) => {
      channel.postMessage(position);
      heard(position);
    });
  }));
};

// The link's fragment is traded for a cookie, and taken out of the address; a server that cannot be reached is asked again.
const comeIn = async () => {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  for (;;) {
    try {
      return await ask("enter", { token });
    } catch (error) {
      if (error.status) throw error;
      tellTrouble("The server cannot be reached; trying again ...");
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
};

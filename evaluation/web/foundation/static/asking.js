// How a page asks its server, comes in by its link, hears of changes, and says what is wrong.

const PATIENCE = 15000; // milliseconds; a connection that is half open never answers
const askAt = (base) => async (path, body) => {
  const given = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(`${base}/${path}`, { ...given, credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE) });
  const found = answer.ok ? await answer.json() : await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.error || `the server answered ${answer.status}`), { status: answer.status, code: found.code });
  return found;
};

const tellTrouble = (text) => {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
};

// What is called again while it runs runs once more when it is done.
const oneAtATime = (work) => {
  let isRunning = false, isCalledAgain = false;
  const run = async () => {
    if (isRunning) {
      isCalledAgain = true;
      return;
    }
    isRunning = true;
    try {
      await work();
    } finally {
      isRunning = false;
      if (isCalledAgain) {
        isCalledAgain = false;
        run();
      }
    }
  };
  return run;
};

// A random text: the number of an answer, or of this browser.
const newNumber = () => [...crypto.getRandomValues(new Uint8Array(12))].map((one) => one.toString(16).padStart(2, "0")).join("");

// By this number a link whose trade was not confirmed can be traded again, from this browser and from no other one.
const browserNumber = () => {
  const fresh = newNumber();
  try {
    const kept = localStorage.getItem("browser") || fresh;
    localStorage.setItem("browser", kept);
    return kept;
  } catch {
    return fresh; // a browser that keeps nothing
  }
};

const untilAnswered = async (work) => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (error.status && error.status < 500) throw error;
      tellTrouble(`${error.status && error.code ? error.message : "The server cannot be reached"}; trying again ...`);
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
};

// The link's fragment is traded for a cookie, and taken out of the address. If it is refused but this browser has the
// seat already (another tab was faster), all is well.
const comeIn = async (ask) => {
  addEventListener("hashchange", () => location.hash.length > 1 && location.reload()); // another link was put in
  const token = location.hash.slice(1), browser = browserNumber();
  if (!token) return;
  try {
    await untilAnswered(() => ask("enter", { token, browser }));
    tellTrouble("");
  } catch (error) {
    await ask("state").catch(() => { throw error; });
  } finally {
    history.replaceState(null, "", location.pathname);
  }
};

// A stream of positions. The server gives a sign of life every 20 seconds; after SILENCE without one the stream is opened
// again, since a connection that is half open ends without an error. `isSilent` asks for that.
const SILENCE = 50000;
let heardAt = Date.now();
const isSilent = () => {
  const silent = Math.abs(Date.now() - heardAt) > SILENCE;
  if (silent) heardAt = Date.now();
  return silent;
};

const openStream = (path, onPosition) => {
  const source = new EventSource(path);
  for (const kind of ["message", "alive"]) source.addEventListener(kind, ({ data }) => {
    heardAt = Date.now();
    onPosition(data);
  });
  source.onerror = () => source.readyState === EventSource.CLOSED && setTimeout(() => source.onrefused?.(), 3000);
  return source;
};

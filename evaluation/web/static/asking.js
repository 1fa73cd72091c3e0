// Requests to the server, entering by a link, and error messages.

const PATIENCE = 15000; // timeout in milliseconds, since a half-open connection never answers
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

// Runs `work` at most once at a time; calls while it runs cause one further run afterwards.
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

// A random string: the number of an answer, or of this browser.
const newNumber = () => [...crypto.getRandomValues(new Uint8Array(12))].map((one) => one.toString(16).padStart(2, "0")).join("");

// Identifies this browser, so that only it can use a link again if the first use was not confirmed.
const browserNumber = () => {
  const fresh = newNumber();
  try {
    const kept = localStorage.getItem("browser") || fresh;
    localStorage.setItem("browser", kept);
    return kept;
  } catch {
    return fresh; // this browser has no storage
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

// Exchange the link's fragment for a cookie, and remove it from the address. A refusal does not matter if this browser
// already has the seat (another tab was faster).
const comeIn = async (ask) => {
  addEventListener("hashchange", () => location.hash.length > 1 && location.reload()); // another link was opened
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

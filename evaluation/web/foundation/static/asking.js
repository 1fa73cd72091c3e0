// How a page asks its server, and says what is wrong.

const askAt = (base) => async (path, body) => {
  const given = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(`${base}/${path}`, { ...given, credentials: "same-origin" });
  const found = await answer.json().catch(() => ({}));
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

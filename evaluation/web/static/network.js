// The page asks the server every two seconds; the answer is empty if nothing has changed.

const ask = askAt(`${BASE}/${SEAT}`);

let isWhole = false; // whether the answer is wanted in any case
const look = oneAtATime(async () => {
  const known = isWhole ? "" : `&position=${state.position}`;
  isWhole = false;
  try {
    const found = await ask(`state?since=${Math.max(0, PHASES.length - 1)}${known}`);
    tellTrouble("");
    if (found.step === undefined) return; // as before
    learn(found);
    state.learned = Date.now();
    showAll();
  } catch (error) {
    tellTrouble(error.status === 404 ? error.message : "The connection is lost. Your drafts are saved; trying again ...");
  }
});
const refresh = () => {
  isWhole = true;
  return look();
};

const LOOK = 2000; // milliseconds between questions whether anything has changed
const follow = () => {
  for (const event of ["visibilitychange", "online", "pageshow"]) addEventListener(event, () => document.visibilityState === "visible" && refresh());
  setInterval(() => document.visibilityState === "visible" && look(), LOOK);
};

// Puts the page together. The first or the last phase is shown, or the one that the link names.

startResult();
startBoard();
startTimeline();
startPanels();
startCharts();
startAttacks();
startPicture();
if (!followLink()) show(game.at_end ? PHASES.length - 1 : 0, false);
openTab(PHASES.some((phase) => phase.messages.length) ? "messages" : "orders");

// A game that goes on: whoever looks at its last phase sees the next one as soon as it is there.
if (game.live) {
  const start = timeline.number;
  setInterval(() => timeline.number === start && location.hash === "" && location.reload(), 2000);
}

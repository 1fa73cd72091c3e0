// Assembles the page. It starts at the phase that the link names, else at the first or last phase.

startResult();
startBoard();
startTimeline();
startPanels();
startCharts();
startAttacks();
startPicture();
if (!followLink()) show(game.at_end ? PHASES.length - 1 : 0, false);
openTab(PHASES.some((phase) => phase.messages.length) ? "messages" : "orders");

// In a running game, a page at the last phase moves on to each new phase.
if (game.live) {
  const start = timeline.number;
  setInterval(() => timeline.number === start && location.hash === "" && location.reload(), 2000);
}

// Messages: received messages by phase and round, and the drafts of this round, one per recipient.

const startTalk = () => {
  byId("to").addEventListener("change", showDraftMessage);
  byId("text").addEventListener("input", () => {
    draft.messages[byId("to").value] = byId("text").value;
    if (!byId("text").value.trim()) delete draft.messages[byId("to").value];
    saveDraft();
    showDrafts();
    showTask();
  });
  byId("with").addEventListener("change", showTalk);
};

const showDraftMessage = () => {
  byId("text").value = draft.messages[byId("to").value] || "";
};

const showDrafts = () => {
  byId("drafts").replaceChildren(...Object.entries(draft.messages).filter(([, text]) => text.trim()).map(([to, text]) => el("li", {}, el("button", { type: "button", onclick: () => { byId("to").value = to; showDraftMessage(); byId("text").focus(); } }, `to ${named(to)}: `, el("bdi", {}, text)))));
};

const fillWriting = () => {
  const { recipients, vocabulary } = state.view;
  const before = byId("to").value;
  byId("to").replaceChildren(...[...recipients].reverse().map((to) => el("option", { value: to }, named(to))));
  if (recipients.includes(before)) byId("to").value = before;
  byId("words").replaceChildren(...vocabulary.map((word) => el("button", { type: "button", onclick: () => { byId("text").value = word; byId("text").dispatchEvent(new Event("input")); } }, word)));
  byId("text").readOnly = vocabulary.length > 0;
  showDraftMessage();
  showDrafts();
};

const involves = (message, who) => !who || [message[1], message[2]].includes(who) || message[2] === "GLOBAL";

const messageLine = ([, sender, recipient, text]) => el("div", { class: "message" }, el("div", { class: "from" }, swatch(sender), `${named(sender)} to ${named(recipient)}`), el("p", { dir: "auto" }, text));

const showTalk = () => {
  const who = byId("with").value;
  const rounds = PHASES.flatMap((phase) => {
    const found = phase.messages.filter((message) => involves(message, who));
    return [...new Set(found.map(([round]) => round))].map((round) => ({ title: `${phase.title}, round ${round}`, lines: found.filter((message) => message[0] === round) }));
  });
  const shown = rounds.reverse().map(({ title, lines }) => el("section", { class: "round" }, el("h3", {}, title), ...lines.map(messageLine)));
  byId("talk").replaceChildren(...(shown.length ? shown : [el("p", { class: "empty" }, "No messages yet.")]));
};

const fillWith = () => {
  if (byId("with").options.length) return;
  byId("with").append(el("option", { value: "" }, "everybody"), ...POWERS.filter((power) => power !== SEAT).map((power) => el("option", { value: power }, named(power))));
};

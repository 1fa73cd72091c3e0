// Loads a saved game with the code of the `diplomacy` package's web interface ("Load a game from disk"), as it stands
// in the installed package, and prints what it made of it: node upstream_web.mjs FOLDER_OF_WEB_SRC GAME.json
import { readFileSync } from "node:fs";
import { register } from "node:module";

const hooks = `
import { readFileSync } from "node:fs";
export const resolve = (name, context, next) =>
  name === "jquery" ? { url: "stub:jquery", shortCircuit: true } : next(name.startsWith(".") && !/[.]js$/.test(name) ? name + ".js" : name, context);
export const load = (url, context, next) => {
  if (url === "stub:jquery") return { format: "module", source: "export default (node) => node", shortCircuit: true };
  if (url.startsWith("file:")) return { format: "module", source: readFileSync(new URL(url)), shortCircuit: true };
  return next(url, context);
};`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

const [source, path] = process.argv.slice(2);
const input = { attr() {}, trigger() {}, change: (chosen) => chosen({ target: { files: [{ name: "game.json" }] } }) };
globalThis.document = { createElement: () => input };
globalThis.FileReader = class {
  readAsText() {
    this.result = readFileSync(path, "utf-8");
    this.onload();
  }
};

const { loadGameFromDisk } = await import(`${source}/gui/utils/load_game_from_disk.js`);
const game = await loadGameFromDisk();
const phases = game.state_history.keys().map((name) => {
  const then = game.cloneAt(name);
  const powers = Object.entries(then.powers);
  return {
    name: then.phase,
    units: Object.fromEntries(powers.map(([power, { units }]) => [power, units])),
    centers: Object.fromEntries(powers.map(([power, { centers }]) => [power, centers])),
    orders: game.order_history.get(name),
    results: game.result_history.get(name),
    messages: game.message_history.get(name).values().map((message) => [message.sender, message.recipient, message.message]),
  };
});
console.log(JSON.stringify({ map: game.map_name, phase: game.phase, phases }));

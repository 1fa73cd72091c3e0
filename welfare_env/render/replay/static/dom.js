// Makes elements. Content from the game is set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : document.createTextNode(child))));
  return node;
};

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A square in a power's color.
const swatch = (power) => {
  const node = el("span", { class: "swatch", "aria-hidden": "true" });
  node.style.setProperty("--power", colorOf(power));
  return node;
};

const ICONS = {
  first: "M5 4v12M17 4l-9 6 9 6z",
  back: "M14 4l-9 6 9 6z",
  play: "M5 3l12 7-12 7z",
  pause: "M5 3h4v14H5zM11 3h4v14h-4z",
  next: "M6 4l9 6-9 6z",
  last: "M15 4v12M3 4l9 6-9 6z",
};

const setIcon = (button, name) => {
  const icon = svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" }, svg("path", { d: ICONS[name] }));
  button.replaceChildren(icon);
};

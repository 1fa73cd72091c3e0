// Saves the map of the phase shown as a PNG with title and ranking, as a download; nothing is sent to a server.

const PAINTED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "paint-order", "font-family", "font-size", "font-weight", "font-style", "text-anchor", "display"];
const PNG_WIDTH = 1600, HEAD = 120;

// A copy of the drawing that looks the same without the page's style sheet.
const painted = () => {
  const copy = view.picture.cloneNode(true);
  const pairs = [[view.picture, copy], ...[...view.picture.querySelectorAll("*")].map((node, place) => [node, copy.querySelectorAll("*")[place]])];
  for (const [node, twin] of pairs) {
    const look = getComputedStyle(node);
    for (const name of PAINTED) twin.setAttribute(name, look.getPropertyValue(name));
    twin.removeAttribute("style");
    twin.removeAttribute("class");
  }
  return copy;
};

const loaded = (source) =>
  new Promise((done, fail) => {
    const image = new Image();
    image.onload = () => done(image);
    image.onerror = () => fail(new Error("the map cannot be drawn"));
    image.src = source;
  });

const withHead = (image, height) => {
  const canvas = el("canvas", { width: PNG_WIDTH, height: height + HEAD });
  const pen = canvas.getContext("2d"), look = getComputedStyle(document.body);
  const ground = getComputedStyle(byId("map")).backgroundColor;
  pen.fillStyle = look.backgroundColor;
  pen.fillRect(0, 0, PNG_WIDTH, HEAD);
  pen.fillStyle = look.color;
  pen.font = `bold 40px ${look.fontFamily}`;
  pen.fillText(`${PHASES[timeline.number].title}: ${game.title}`, 24, 52, PNG_WIDTH - 48);
  pen.font = `28px ${look.fontFamily}`;
  pen.fillText(rankingAt(timeline.number).map(({ power, points }) => `${named(power)} ${points}`).join("   "), 24, 98, PNG_WIDTH - 48);
  pen.fillStyle = ground;
  pen.fillRect(0, HEAD, PNG_WIDTH, height);
  pen.drawImage(image, 0, HEAD, PNG_WIDTH, height);
  return canvas;
};

const pictureOf = async () => {
  const { width, height } = view.picture.getBoundingClientRect();
  const high = Math.round((PNG_WIDTH * height) / width), copy = painted();
  copy.setAttribute("width", PNG_WIDTH);
  copy.setAttribute("height", high);
  const text = new XMLSerializer().serializeToString(copy);
  return withHead(await loaded(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`), high);
};

const savePicture = async () => {
  const canvas = await pictureOf();
  const link = el("a", { href: canvas.toDataURL("image/png"), download: `${PHASES[timeline.number].name}.png` });
  link.click();
};

const startPicture = () => byId("save").addEventListener("click", savePicture);

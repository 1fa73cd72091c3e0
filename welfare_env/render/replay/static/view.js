// Zooms and pans the map: wheel, two fingers, dragging, buttons and keys.

const MOST = 8; // maximum zoom
const NARROW = 480, NARROW_ZOOM = 1.5; // pixels: on a phone the map starts zoomed in, so that labels are legible
const view = { picture: null, whole: null, x: 0, y: 0, zoom: 1, pointers: new Map() };

const within = (value, size, all) => (size >= all ? all / 2 : Math.max(size / 2, Math.min(all - size / 2, value)));

// The view box has the window's aspect ratio; at zoom 1 it contains the whole map.
const setView = (x, y, zoom) => {
  const [, , w, h] = view.whole;
  const { width, height } = view.picture.getBoundingClientRect();
  if (!width || !height) return;
  view.zoom = Math.max(1, Math.min(MOST, zoom));
  const wide = Math.max(w, (h * width) / height) / view.zoom;
  const high = (wide * height) / width;
  Object.assign(view, { x: within(x, wide, w), y: within(y, high, h), scale: width / wide });
  view.picture.setAttribute("viewBox", [view.x - wide / 2, view.y - high / 2, wide, high].map((value) => value.toFixed(1)).join(" "));
  byId("map").classList.toggle("zoomed", view.zoom > 1);
};

// Zooms the map around a point of the window, which stays fixed.
const zoomAt = (factor, { clientX, clientY }) => {
  const box = view.picture.getBoundingClientRect();
  const dx = (clientX - box.left - box.width / 2) / view.scale, dy = (clientY - box.top - box.height / 2) / view.scale;
  const zoom = Math.max(1, Math.min(MOST, view.zoom * factor)), keep = 1 - view.zoom / zoom;
  setView(view.x + dx * keep, view.y + dy * keep, zoom);
};

const zoom = (factor) => setView(view.x, view.y, view.zoom * factor);
const pan = (dx, dy) => setView(view.x - dx / view.scale, view.y - dy / view.scale, view.zoom);

// The wheel without a key scrolls the page, unless the map is zoomed in or the page is scrolled to the top.
const onWheel = (event) => {
  const isOurs = event.ctrlKey || event.metaKey || view.zoom > 1 || (event.deltaY < 0 && scrollY === 0);
  if (!isOurs) return;
  event.preventDefault();
  zoomAt(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), event);
};

const spread2 = ([a, b]) => ({ clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2, far: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) });

const onPointerMove = (event) => {
  const last = view.pointers.get(event.pointerId);
  if (!last) return;
  const before = [...view.pointers.values()];
  view.pointers.set(event.pointerId, event);
  if (before.length === 1) {
    if (view.zoom > 1) pan(event.clientX - last.clientX, event.clientY - last.clientY);
    return;
  }
  const from = spread2(before), to = spread2([...view.pointers.values()]);
  if (from.far > 0) zoomAt(to.far / from.far, from);
  pan(to.clientX - from.clientX, to.clientY - from.clientY);
};

const forget = (event) => view.pointers.delete(event.pointerId);

const startView = (picture) => {
  view.picture = picture;
  view.whole = picture.getAttribute("viewBox").split(" ").map(Number);
  const fit = () => setView(view.whole[2] / 2, view.whole[3] / 2, 1);
  fit();
  if (innerWidth <= NARROW && view.whole[2] > 1000) setView(view.whole[2] * 0.46, view.whole[3] * 0.5, NARROW_ZOOM);
  new ResizeObserver(() => setView(view.x, view.y, view.zoom)).observe(picture);
  picture.addEventListener("wheel", onWheel, { passive: false });
  picture.addEventListener("pointerdown", (event) => event.button === 0 && view.pointers.set(event.pointerId, event));
  picture.addEventListener("touchmove", (event) => event.touches.length > 1 && event.preventDefault(), { passive: false });
  picture.addEventListener("dblclick", (event) => (view.zoom > 1 ? fit() : zoomAt(2.5, event)));
  addEventListener("pointermove", onPointerMove);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, forget);
  byId("zoom-in").addEventListener("click", () => zoom(1.5));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
  byId("zoom-reset").addEventListener("click", fit);
  Object.assign(KEYS, { "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: fit });
  for (const [key, dx, dy] of [["Left", 60, 0], ["Right", -60, 0], ["Up", 0, 60], ["Down", 0, -60]]) KEYS[`Shift+Arrow${key}`] = () => pan(dx, dy);
};

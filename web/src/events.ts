/** What clicks, keys and pointers do; everything else is the browser's. */
import type { App } from "./app.svelte";
import { canFetch } from "./data";
import type { Direction } from "./diagram/graph";
import { prefetch } from "./pages";
import { viewQuery } from "./settings";

const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
};
const SHAPES = { both: "symbols", symbols: "numbers", numbers: "both" } as const;

export function listen(app: App): void {
  document.addEventListener("click", (event) => click(app, event));
  document.addEventListener("dblclick", (event) => doubleClick(app, event));
  document.addEventListener("keydown", (event) => key(app, event));
  if (!canFetch) return;
  let waiting = 0;
  for (const name of ["pointerover", "focusin"] as const) {
    document.addEventListener(name, (event) => {
      clearTimeout(waiting);
      const address = linkAt(event.target);
      if (address && app.isHere(address)) waiting = window.setTimeout(() => prefetch(clean(address)), 40);
    });
  }
}

function click(app: App, event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const target = event.target;
  if (!(target instanceof Element)) return;
  if (app.diagram?.toggle(target)) {
    event.preventDefault();
    return;
  }
  const address = linkAt(target);
  if (address === null) return;
  if (!app.isHere(address)) {
    carrySettings(app, target, address);
    return;
  }
  if (address.hash && clean(address) === clean(new URL(location.href))) return;
  event.preventDefault();
  const box = target.closest<SVGGElement>("figure.diagram g.node[data-opens]");
  const selects = box !== null && canFetch && event.detail > 0 && !target.closest(".opener") && !box.classList.contains("selected");
  if (selects) void app.select(box.dataset["address"]!);
  else void app.go(address);
}

/** The first click of two has selected the box; the second may come before its page does. */
function doubleClick(app: App, event: MouseEvent): void {
  const target = event.target;
  const box = target instanceof Element ? target.closest("figure.diagram g.node[data-opens]") : null;
  const address = box && linkAt(box.querySelector("a"));
  if (address && app.isHere(address)) {
    event.preventDefault();
    void app.go(address);
  }
}

/** Links to other models take the settings along, but not what is selected here. */
function carrySettings(app: App, target: Element, address: URL): void {
  const query = viewQuery({ ...app.view, select: null, plumbing: [] });
  const inSite = address.href.startsWith(app.root);
  if (query && inSite && !address.search) target.closest("a")!.setAttribute("href", clean(address) + query + address.hash);
}

function key(app: App, event: KeyboardEvent): void {
  const palette = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
  if (palette) {
    event.preventDefault();
    app.overlay = app.overlay === "search" ? null : "search";
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || app.overlay !== null) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("input, select, textarea, [contenteditable]")) return;
  if (act(app, event.key, target)) event.preventDefault();
}

/** Does what a key stands for; tells whether it stands for something here. */
function act(app: App, name: string, target: Element): boolean {
  const inDiagram = target.closest("figure.diagram") !== null;
  const direction = ARROWS[name];
  if (direction !== undefined) {
    // Also right after arriving, when the focus is on the page or its title.
    const free = target === document.body || target.matches("#panel h1");
    return (inDiagram || (free && isVisible(app))) && (app.diagram?.walk(direction) ?? false);
  }
  switch (name) {
    case "/":
      app.overlay = "search";
      return true;
    case "?":
      app.overlay = "help";
      return true;
    case "Escape":
      if (app.large) app.setLarge(false);
      else void app.up();
      return app.data !== null;
    case "Backspace":
      void app.up();
      return app.data !== null;
    case "s":
      app.set({ shapes: SHAPES[app.view.shapes] });
      return app.data !== null;
    case "+":
    case "=":
      app.diagram?.zoom.by(1.25);
      return app.diagram !== null;
    case "-":
      app.diagram?.zoom.by(0.8);
      return app.diagram !== null;
    case "0":
      app.diagram?.zoom.to(1);
      return app.diagram !== null;
    case "l":
      app.setLarge(!app.large);
      return app.diagram !== null;
    case "f":
      app.diagram?.zoom.fit();
      return app.diagram !== null;
    case "n":
      return follow('a[rel="next"]');
    case "p":
      return follow('a[rel="prev"]');
    case " ":
    case "Enter":
      return press(app, name, target);
    default:
      return false;
  }
}

/** The space bar shows the page of a box beside the diagram; both keys press the sign of plumbing. */
function press(app: App, name: string, target: Element): boolean {
  if (app.diagram?.toggle(target)) return true;
  const box = name === " " ? target.closest<SVGGElement>("figure.diagram g.node[data-address]") : null;
  const link = linkAt(box?.querySelector("a") ?? null);
  if (box === null || link === null) return false;
  if (canFetch && box.hasAttribute("data-opens")) void app.select(box.dataset["address"]!);
  else void app.go(link);
  return true;
}

function follow(selector: string): boolean {
  const link = document.querySelector<HTMLAnchorElement>(selector);
  link?.click();
  return link !== null;
}

function isVisible(app: App): boolean {
  const box = app.diagram?.figure.getBoundingClientRect();
  return box !== undefined && box.bottom > 0 && box.top < innerHeight;
}

/** Where the link around an element leads; `null` if there is none that the front end may follow. */
function linkAt(target: EventTarget | null): URL | null {
  const link = target instanceof Element ? target.closest("a[href]") : null;
  if (link === null || link.hasAttribute("download") || link.getAttribute("target")) return null;
  try {
    return new URL(link.getAttribute("href")!, document.baseURI);
  } catch {
    return null;
  }
}

function clean(address: URL): string {
  const plain = address.href.replace(/[?#].*$/, "");
  return canFetch ? plain.replace(/index\.html$/, "") : plain;
}

/** The page as the reader has it: which node, what is selected, the settings; and how that changes. */
import { mount, unmount } from "svelte";
import { showOwnLines } from "./code";
import { canFetch, pageAddress, readModels, readView, siteRoot } from "./data";
import { Diagram } from "./diagram/diagram";
import { cover } from "./diagram/large";
import Zoomer from "./diagram/Zoomer.svelte";
import { Light } from "./light";
import { applyBytes, applySettings, fitText } from "./numbers";
import { addStyles, completeLevel, fetchPage, makeAbsolute, replaceFrame, replacePart, type FetchedPage } from "./pages";
import type { LibraryData, ViewData } from "./schema/view";
import { DEFAULTS, parseView, viewQuery, type Settings, type View } from "./settings";
import { setUpStrip } from "./strip";

export type Overlay = "search" | "help" | null;

/** How a change of page is entered in the history; `none` when the history itself asks for it. */
type Entry = "push" | "none";

interface Arrival {
  entry: Entry;
  scroll?: number | undefined;
  /** Address of the box that gets the focus, or whatever encloses it on the new level. */
  focus?: string | undefined;
  /** Where the browser is sent if the page cannot be fetched, if that is written differently. */
  otherwise?: string | undefined;
}

export class App {
  view = $state.raw<View>(parseView(location.search));
  data = $state.raw<ViewData | null>(readView(document));
  overlay = $state<Overlay>(null);
  notice = $state("");
  scale = $state(1);
  busy = $state(false);
  /** Whether the diagram covers the window. */
  large = $state(false);
  readonly root = siteRoot(document);
  readonly models: LibraryData["models"] = readModels(document);
  diagram: Diagram | null = null;
  private path = location.href.replace(/[?#].*$/, "");
  private readonly light = new Light(() => document.getElementById("content"), () => this.data?.lights ?? {});
  private zoomer: Record<string, unknown> | null = null;
  private changed = false;
  private navigation = 0;

  /** Adds to the page what scripts add, when it has been loaded as a whole. */
  start(): void {
    completeLevel(document, this.path).then(
      (drawn) => drawn && this.enhance(true),
      (error) => console.info(error), // the picture stays
    );
    this.enhance(true);
    if (!canFetch) return;
    // Folders are shown without their file, as they are linked from elsewhere.
    if (this.data !== null && this.path.endsWith("/index.html")) {
      this.path = this.path.slice(0, -"index.html".length);
      history.replaceState(history.state, "", this.path + location.search + location.hash);
    }
    // The address of the document is going to change under what stays.
    for (const part of [document.head, ...document.querySelectorAll("body > header.top, body > footer.bottom")]) {
      makeAbsolute(part, this.path);
    }
    history.scrollRestoration = "manual";
    addEventListener("popstate", (event) => void this.returnTo(event));
    addEventListener("pagehide", () => this.rememberScroll());
    if (this.view.select !== null) void this.show(this.path, this.view, { entry: "none" });
    const scroll = (history.state as { scroll?: number } | null)?.scroll;
    if (scroll !== undefined && !location.hash) scrollTo({ top: scroll, behavior: "instant" });
  }

  get model(): string {
    return this.data?.model ?? "";
  }

  /** Whether an address is that of a node of this model, which can be shown without loading everything anew. */
  isHere(address: URL): boolean {
    const start = `${this.root}${this.model}/`;
    return (
      this.data !== null &&
      address.href.startsWith(start) &&
      !address.href.startsWith(`${start}mechanisms/`) &&
      !/\.(md|json|svg)$/.test(address.pathname)
    );
  }

  /** Goes to a page of this model; its level and whatever is selected there are in the address. */
  async go(address: URL, focus?: string): Promise<void> {
    const view: View = { ...this.settings(), ...pick(parseView(address.search)) };
    const path = address.href.replace(/[?#].*$/, "");
    if (!canFetch) {
      location.href = path + viewQuery(view) + address.hash;
      return;
    }
    await this.show(path.replace(/index\.html$/, ""), view, { entry: "push", focus, otherwise: path });
    if (address.hash) this.scrollToAnchor(address.hash);
  }

  /** Shows the page of a box beside the diagram it is in. */
  async select(address: string | null): Promise<void> {
    if (this.data === null || (address === null && this.view.select === null)) return;
    await this.show(this.path, { ...this.view, select: address }, { entry: "push", scroll: scrollY });
  }

  /** One level up, with the focus on where one came from; from the model to the library. */
  async up(): Promise<void> {
    if (this.data === null) return;
    if (this.view.select !== null) {
      await this.select(null);
      return;
    }
    const { address, level, parent } = this.data;
    const above = address !== level ? level : parent;
    if (above === null) {
      location.href = this.root + (canFetch ? "" : "index.html");
      return;
    }
    await this.go(new URL(pageAddress(this.root, this.model, above)), address);
  }

  set(change: Partial<Settings>): void {
    this.view = { ...this.view, ...change };
    this.renderNumbers();
    this.replaceAddress();
  }

  reset(): void {
    this.set(DEFAULTS);
  }

  /** Shows the diagram over the whole window, or the page again; what is selected there stays so. */
  setLarge(large: boolean): void {
    const { diagram } = this;
    if (large === this.large || diagram === null) return;
    this.large = large;
    cover(large);
    if (this.scale < 1) diagram.zoom.fit();
    if (diagram.selected) diagram.zoom.reveal(diagram.selected);
    else centre(diagram);
  }

  tell(text: string): void {
    this.notice = text;
    setTimeout(() => this.notice === text && (this.notice = ""), 2500);
  }

  private settings(): View {
    return { ...this.view, select: null, plumbing: [] };
  }

  private async show(path: string, view: View, arrival: Arrival): Promise<void> {
    const ticket = ++this.navigation;
    const late = setTimeout(() => (this.busy = true), 200);
    try {
      const page = await fetchPage(path);
      const selected = view.select !== null ? await fetchPage(pageAddress(this.root, this.model, view.select)) : page;
      const kept = levelOf(page) === this.diagram?.level && this.diagram !== null;
      if (!kept) await completeLevel(page.doc, page.address).catch((error) => console.info(error));
      if (ticket !== this.navigation) return;
      if (readView(page.doc) === null || readView(selected.doc) === null) throw new Error("This is no page of a model.");
      this.change(page, selected, path, view, kept, arrival);
    } catch (error) {
      if (ticket !== this.navigation) return;
      console.info(error); // the browser's own way of going there tells the reader what is wrong
      if (path === this.path) return;
      location.href = (arrival.otherwise ?? path) + viewQuery(view);
    } finally {
      clearTimeout(late);
      if (ticket === this.navigation) this.busy = false;
    }
  }

  private change(page: FetchedPage, selected: FetchedPage, path: string, view: View, kept: boolean, arrival: Arrival): void {
    if (arrival.entry === "push") {
      this.rememberScroll();
      if (kept) this.diagram?.makeLinksAbsolute();
      history.pushState(null, "", path + viewQuery(view));
    }
    const within = document.activeElement?.closest("#level figure.diagram") != null;
    this.path = path;
    this.view = view;
    this.data = readView(selected.doc);
    document.title = selected.doc.title;
    for (const name of ["root", "model", "address", "page"]) {
      const value = page.doc.body.dataset[name];
      if (value !== undefined) document.body.dataset[name] = value;
    }
    document.getElementById("oma-page")!.textContent = selected.doc.getElementById("oma-page")!.textContent;
    addStyles(page);
    addStyles(selected);
    replaceFrame(page);
    replacePart("#crumbs", selected);
    const panel = replacePart("#panel", selected);
    if (view.select !== null && panel) offerInside(panel, selected.address);
    if (kept) {
      if (replacePart("#level .strip", page) === null) document.querySelector("#level .strip")?.remove();
    } else {
      replacePart("#level", page);
    }
    this.enhance(!kept);
    this.arrive(kept, within, arrival);
  }

  private arrive(kept: boolean, within: boolean, arrival: Arrival): void {
    if (arrival.scroll !== undefined || !kept) scrollTo({ top: arrival.scroll ?? 0, behavior: "instant" });
    if (arrival.focus !== undefined && this.focusAround(arrival.focus)) return;
    if (kept && within) return; // the focus stays in the diagram
    if (this.large) {
      this.diagram?.figure.focus({ preventScroll: true });
      return;
    }
    const heading = document.querySelector<HTMLElement>("#panel h1");
    if (heading) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
  }

  private focusAround(address: string): boolean {
    for (let inner = address; inner; inner = inner.slice(0, Math.max(0, inner.lastIndexOf("/")))) {
      if (this.diagram?.focus(inner)) return true;
    }
    return false;
  }

  private enhance(newLevel: boolean): void {
    if (newLevel) {
      this.diagram?.destroy();
      this.diagram = Diagram.find(
        (stretches) => {
          this.view = { ...this.view, plumbing: stretches };
          this.light.stale();
          this.replaceAddress();
        },
        () => (this.scale = this.diagram?.zoom.scale ?? 1),
      );
      this.scale = 1;
    }
    if (newLevel) this.offerZoom();
    if (this.large && this.diagram === null) this.large = false;
    cover(this.large);
    setUpStrip();
    showOwnLines();
    const { data, diagram } = this;
    if (data !== null && diagram !== null) {
      diagram.select(this.view.select ?? (data.address !== data.level ? data.address : null));
      diagram.setOpen(this.view.plumbing);
      if (diagram.selected) diagram.zoom.reveal(diagram.selected);
      else if (newLevel) centre(diagram);
    }
    this.renderNumbers();
    this.light.renew();
  }

  private offerZoom(): void {
    if (this.zoomer) void unmount(this.zoomer);
    this.zoomer = null;
    const figure = this.diagram?.figure;
    if (!figure) return;
    const bar = document.createElement("div");
    bar.className = "oma-zoom";
    figure.before(bar);
    this.zoomer = mount(Zoomer, { target: bar, props: { app: this } });
  }

  private renderNumbers(): void {
    const main = document.getElementById("content");
    const plain = viewQuery(this.settings()) === "";
    if (main === null || this.data === null) return;
    if (plain && !this.changed) {
      applyBytes(main, this.data, this.view);
      return;
    }
    this.changed = !plain;
    applySettings(main, this.data, this.view);
    if (this.diagram) fitText(this.diagram.svg);
  }

  private replaceAddress(): void {
    history.replaceState(history.state, "", location.pathname + viewQuery(this.view) + location.hash);
  }

  private rememberScroll(): void {
    history.replaceState({ scroll: scrollY }, "");
  }

  private async returnTo(event: PopStateEvent): Promise<void> {
    const path = location.href.replace(/[?#].*$/, "");
    const view = parseView(location.search);
    if (path === this.path && viewQuery(view) === viewQuery(this.view)) return; // an anchor on this page
    const scroll = (event.state as { scroll?: number } | null)?.scroll ?? 0;
    await this.show(path, view, { entry: "none", scroll });
  }

  private scrollToAnchor(hash: string): void {
    history.replaceState(history.state, "", location.pathname + location.search + hash);
    document.getElementById(hash.slice(1))?.scrollIntoView({ block: "center", behavior: "instant" });
  }
}

/** What a link says of the view that settings do not. */
function pick(view: View): Pick<View, "select" | "plumbing"> {
  return { select: view.select, plumbing: view.plumbing };
}

function levelOf(page: FetchedPage): string | undefined {
  return readView(page.doc)?.level;
}

/** The way into what is shown beside the diagram that it is a part of. */
function offerInside(panel: HTMLElement, address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.className = "oma-inside";
  link.textContent = "Go inside ›";
  panel.querySelector(".title .facts")?.append(link);
}

/** Shows the top of a diagram, with the residual stream (or else what comes first) in the middle. */
function centre(diagram: Diagram): void {
  const { figure, svg } = diagram;
  const boxes = [...svg.querySelectorAll("g.node:not(.role-step)")].map((node) => node.getBoundingClientRect());
  const uppermost = boxes.reduce<DOMRect | undefined>((best, box) => (best && best.top <= box.top ? best : box), undefined);
  const box = svg.querySelector("g.edge.kind-residual path")?.getBoundingClientRect() ?? uppermost;
  const frame = figure.getBoundingClientRect();
  if (box && figure.scrollWidth > figure.clientWidth) {
    figure.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  }
  figure.scrollTop = 0;
}

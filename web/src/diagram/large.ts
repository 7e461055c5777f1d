/** The diagram over the whole window: its section covers the page, and nothing else can be reached meanwhile. */

const CLASS = "oma-large";
const ATTRIBUTES = { role: "dialog", "aria-modal": "true", "aria-label": "Diagram over the whole window" } as const;
const kept = new WeakMap<Element, Record<string, string | null>>();

/** Covers the page with the diagram, or takes it back; may be called again when parts of the page have been replaced. */
export function cover(on: boolean): void {
  document.documentElement.classList.toggle(CLASS, on);
  const section = document.getElementById("level");
  for (const element of document.querySelectorAll<HTMLElement>("body > :not(main, script, #oma-overlays), main > :not(#level)")) {
    element.inert = on;
  }
  if (section) on ? becomeDialog(section) : becomeSection(section);
}

function becomeDialog(section: HTMLElement): void {
  if (kept.has(section)) return;
  kept.set(section, Object.fromEntries(Object.keys(ATTRIBUTES).map((name) => [name, section.getAttribute(name)])));
  for (const [name, value] of Object.entries(ATTRIBUTES)) section.setAttribute(name, value);
}

function becomeSection(section: HTMLElement): void {
  for (const [name, value] of Object.entries(kept.get(section) ?? {})) {
    if (value === null) section.removeAttribute(name);
    else section.setAttribute(name, value);
  }
  kept.delete(section);
}

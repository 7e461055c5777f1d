/** The strip of layers: what differs at the cell pointed at, and arrow keys from cell to cell. */

export function setUpStrip(): void {
  const strip = document.querySelector<HTMLElement>("#level .strip");
  const cells = strip ? [...strip.querySelectorAll<HTMLAnchorElement>("a.cell")] : [];
  const note = strip?.querySelector<HTMLElement>(".strip-note") ?? null;
  if (!strip || cells.length === 0 || strip.dataset["ready"]) return;
  strip.dataset["ready"] = "yes";
  const usual = note?.textContent ?? "";
  const current = cells.findIndex((cell) => cell.getAttribute("aria-current") === "true");
  const row = cells[0]!.closest("ol")!; // on narrow screens a row that scrolls
  if (current > 0) row.scrollLeft = cells[current]!.getBoundingClientRect().left - row.getBoundingClientRect().left - row.clientWidth / 3;
  cells.forEach((cell, index) => (cell.tabIndex = index === Math.max(0, current) ? 0 : -1)); // one stop of the tab key

  // The first cell of a kind tells for all what differs there.
  const notes = new Map(cells.filter((cell) => cell.dataset["note"]).map((cell) => [cell.className, cell.dataset["note"]]));
  const tell = (target: EventTarget | null): void => {
    const cell = target instanceof Element ? target.closest<HTMLElement>("a.cell") : null;
    if (note) note.textContent = cell ? `Layer ${cell.textContent}: ${notes.get(cell.className) ?? ""}` : usual;
  };
  for (const name of ["pointerover", "focusin"] as const) strip.addEventListener(name, (event) => tell(event.target));
  strip.addEventListener("pointerleave", () => tell(document.activeElement));
  strip.addEventListener("focusout", () => tell(null));
  strip.addEventListener("keydown", (event) => {
    const at = cells.indexOf(document.activeElement as HTMLAnchorElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? cells.length - 1 : step === undefined ? null : at + step;
    if (at < 0 || next === null || cells[next] === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    cells[at]!.tabIndex = -1;
    cells[next].tabIndex = 0;
    cells[next].focus();
  });
}

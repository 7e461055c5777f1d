/** Long code is shown in a window of its own: it opens on the lines of this page. */

export function showOwnLines(): void {
  for (const code of document.querySelectorAll<HTMLElement>("#panel ol.code")) {
    const own = [...code.querySelectorAll<HTMLElement>(".own")].map((line) => line.getBoundingClientRect());
    const [first, last] = [own[0], own[own.length - 1]];
    const frame = code.getBoundingClientRect();
    if (!first || !last || code.scrollHeight <= code.clientHeight || last.bottom <= frame.bottom) continue;
    code.scrollTop += first.top - frame.top - frame.height / 4;
  }
}

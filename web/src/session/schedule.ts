// When something new is shown: at most every 50 ms, together with an animation frame.

const BETWEEN_MS = 50;
/** In a tab that nobody sees there are no frames. */
const HIDDEN_MS = 1000;

export function schedule(flush: () => void): void {
  if (document.hidden) {
    setTimeout(flush, HIDDEN_MS);
    return;
  }
  setTimeout(() => {
    if (document.hidden) flush();
    else requestAnimationFrame(flush);
  }, BETWEEN_MS - 8);
}

export function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

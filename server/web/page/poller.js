// Asks again and again, but not while nobody looks, ever less while nobody answers, and no
// more once another token is needed: whoever has one makes another poller.

const SLOWEST = 8000;

export class Poller {
  // `ask(signal)` is awaited, then asked again after `interval` milliseconds;
  // `onChange(poller)` hears of each answer, error, pause and resumption.
  constructor({ ask, interval, onChange }) {
    this.ask = ask;
    this.interval = interval;
    this.onChange = onChange;
    this.error = undefined;
    // When the last good answer came, in milliseconds; undefined before it.
    this.answeredAt = undefined;
    this.failures = 0;
    this.paused = false;
    this.stopped = false;
    this.abort = undefined;
    this.timer = undefined;
    this.onVisibility = () => this.update();
    this.onOnline = () => this.hasten();
    document.addEventListener("visibilitychange", this.onVisibility);
    window.addEventListener("online", this.onOnline);
    this.update();
  }

  get rests() {
    return this.stopped || this.paused || document.hidden || this.refused;
  }

  get refused() {
    return Boolean(this.error?.asksForToken);
  }

  // For good.
  stop() {
    this.stopped = true;
    document.removeEventListener("visibilitychange", this.onVisibility);
    window.removeEventListener("online", this.onOnline);
    this.update();
  }

  setPaused(paused) {
    this.paused = paused;
    this.update();
    this.onChange(this);
  }

  // Asks now rather than later.
  hasten() {
    if (this.rests || this.abort) return;
    clearTimeout(this.timer);
    this.run();
  }

  update() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.rests) {
      this.abort?.abort();
      this.abort = undefined;
    } else if (!this.abort) {
      this.run();
    }
  }

  async run() {
    const abort = new AbortController();
    this.abort = abort;
    let error;
    try {
      await this.ask(abort.signal);
    } catch (caught) {
      error = caught;
    }
    // Whoever aborted it has taken the turn.
    if (abort.signal.aborted) return;
    this.abort = undefined;
    this.note(error);
    if (!this.refused) this.timer = setTimeout(() => this.run(), this.pauseAfter());
    this.onChange(this);
  }

  note(error) {
    this.error = error;
    if (error) {
      this.failures += 1;
    } else {
      this.failures = 0;
      this.answeredAt = Date.now();
    }
  }

  pauseAfter() {
    if (!this.failures) return this.interval;
    return Math.min(this.interval * 2 ** (this.failures - 1), SLOWEST);
  }
}

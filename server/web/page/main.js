// The page: shows what the address names, keeps it up to date, and says how fresh it is.

import { html, setText } from "./elements.js";
import { elapsed } from "./format.js";
import { JobView } from "./job_view.js";
import { JobsView } from "./jobs_view.js";
import { Poller } from "./poller.js";
import { formatRoute, parseRoute } from "./routes.js";
import { TokenForm } from "./token.js";

// Milliseconds without an answer after which figures are old.
const STALE = 5000;
const STATUS_INTERVAL = 1000;

const content = document.getElementById("content");
const trail = document.getElementById("trail");
const status = document.getElementById("status");
const age = document.getElementById("age");
const pause = document.getElementById("pause");
const banner = document.getElementById("banner");

// Jobs whose figures the token may not see.
const refused = new Set();
const tokenForm = new TokenForm(document.getElementById("token"), () => {
  refused.clear();
  visit(parseRoute(location.hash));
});

let view;
let poller;
let paused = false;

function setRoute(route) {
  // Choosing is not going elsewhere: "back" leads to the page before.
  history.replaceState(null, "", formatRoute(route));
}

function open(route) {
  poller?.stop();
  view?.dispose();
  view = route.job === undefined ? new JobsView(refused) : new JobView(route, setRoute);
  content.replaceChildren(view.element);
  document.title = `${view.title} – Evenpack`;
  const here = html("span", { "aria-current": "page" }, view.title);
  trail.replaceChildren(...(route.job === undefined ? []
    : [html("a", { href: formatRoute() }, "Jobs"), " / ", here]));
  poller = new Poller({
    ask: (signal) => view.ask(signal), interval: view.interval, onChange: showStatus,
  });
  if (paused) poller.setPaused(true);
  view.onHurry = () => poller.hasten();
  showStatus();
}

// As a reader of the page expects of a link.
function visit(route) {
  open(route);
  content.querySelector("h1")?.focus({ preventScroll: true });
}

// { mark, text } of the light in the header.
function condition(quiet) {
  if (poller.paused) return { mark: "paused", text: "Paused" };
  if (poller.error?.isAbsence) return { mark: "warning", text: "Not found" };
  if (poller.error?.isDenial) return { mark: "warning", text: "Refused" };
  if (poller.error?.asksForToken) return { mark: "warning", text: "Token needed" };
  if (poller.error?.isSilence) return { mark: "bad", text: "No connection" };
  if (poller.error) return { mark: "bad", text: "Refused" };
  if (poller.answeredAt === undefined) return { mark: "waiting", text: "Loading" };
  return quiet > STALE ? { mark: "warning", text: "Late" } : { mark: "live", text: "Live" };
}

function tokenWanted(error) {
  if (!error?.asksForToken) return undefined;
  return error.isDenial ? "Another token" : "A token";
}

// Without the age, which stands beside the light: a reader would hear it each second.
function bannerText() {
  const { error } = poller;
  if (!error || error.isAbsence || poller.paused) return "";
  if (error.asksForToken) return `${tokenWanted(error)} is needed: ${error.message}.`;
  const old = poller.answeredAt === undefined ? "" : " What you see is old.";
  const what = error.isSilence ? "The server can't be asked" : "The server refuses";
  return `${what}: ${error.message}.${old} Trying again.`;
}

function showStatus() {
  const quiet = Date.now() - (poller.answeredAt ?? Date.now());
  const { mark, text } = condition(quiet);
  status.className = `light ${mark}`;
  setText(status, text);
  setText(age, poller.answeredAt !== undefined && quiet > 2 * view.interval
    ? `as of ${elapsed(quiet / 1000)} ago` : "");
  tokenForm.show(tokenWanted(poller.error));
  const trouble = bannerText();
  banner.hidden = trouble === "";
  setText(banner, trouble);
  content.classList.toggle("stale", mark === "bad" && poller.answeredAt !== undefined);
}

// Whether an address shows the same job, and so only another micro-batch.
function sameJob(route) {
  return view instanceof JobView && route.job === view.name;
}

window.addEventListener("hashchange", () => {
  const route = parseRoute(location.hash);
  if (sameJob(route) && route.step !== undefined) {
    view.choose(route.step, route.microBatch);
  } else if (!sameJob(route)) {
    visit(route);
  }
});

// Its address would be that of another view.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});

pause.addEventListener("click", () => {
  paused = !paused;
  setText(pause, paused ? "Resume" : "Pause");
  pause.setAttribute("aria-pressed", String(paused));
  poller.setPaused(paused);
});

setInterval(() => {
  if (!document.hidden) showStatus();
}, STATUS_INTERVAL);

open(parseRoute(location.hash));

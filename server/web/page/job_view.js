// One job.

import { observeJob, observeMicroBatch } from "./api.js";
import { readMicroBatch } from "./answers.js";
import { DelayChart } from "./delay_chart.js";
import { html } from "./elements.js";
import { refresh, sameHistory, StepHistory } from "./history.js";
import { ImbalanceChart } from "./imbalance_chart.js";
import { MicroBatchChart } from "./micro_batch_chart.js";
import { PlanView } from "./plan_view.js";
import { QueueChart } from "./queue_chart.js";
import { formatRoute } from "./routes.js";
import { StreamTable, SubscriberTable } from "./subscriber_table.js";
import { Summary } from "./summary.js";

const STEPS = [30, 60, 120, 240];
const STEPS_AT_FIRST = 60;

export class JobView {
  interval = 1000;

  // `onRoute(route)` hears of the micro-batch that is chosen.
  constructor({ job, step, microBatch }, onRoute) {
    this.name = job;
    this.onRoute = onRoute;
    this.history = new StepHistory(STEPS_AT_FIRST);
    this.chosen = step === undefined ? undefined : { step, microBatch };
    this.choseItself = false;
    // Whether the chosen micro-batch's plan is still to be asked for.
    this.planOwed = this.chosen !== undefined;
    // A step whose slowest micro-batch has no plan to show.
    this.passedOver = undefined;
    this.summary = new Summary();
    this.summary.showName(job);
    this.bars = new MicroBatchChart({ onChoose: (...at) => this.choose(...at) });
    this.plan = new PlanView();
    this.charts = [this.bars, new ImbalanceChart(), new QueueChart(), new DelayChart()];
    this.subscribers = new SubscriberTable();
    this.streams = new StreamTable();
    this.panels = this.layOut();
    this.gone = this.goneNotice();
    this.element = html("div", { class: "view" }, this.summary.element, this.gone, this.panels);
  }

  layOut() {
    const [bars, imbalance, queues, delay] = this.charts;
    return html("div", { class: "panels" }, this.stepChoice(), bars.element, this.plan.element,
      imbalance.element, queues.element, delay.element,
      this.subscribers.element, this.streams.element);
  }

  goneNotice() {
    return html("div", { class: "empty-state", id: "gone", role: "status", hidden: true },
      html("h2", {}, "There is no such job"),
      html("p", {}, `The server has no job ${this.name}: it was deleted, or never was. If it `
        + "is made again, it is shown here."),
      html("p", {}, html("a", { href: formatRoute() }, "All jobs")));
  }

  stepChoice() {
    const options = STEPS.map((steps) => html("option",
      { value: steps, selected: steps === STEPS_AT_FIRST }, `${steps} steps`));
    return html("label", { class: "step-choice" }, "Show the last ", html("select", {
      id: "steps",
      change: (event) => this.setSteps(Number(event.target.value)),
    }, options));
  }

  get title() {
    return this.name;
  }

  dispose() {
    for (const chart of this.charts) chart.dispose();
    this.planRequest?.abort();
  }

  setSteps(steps) {
    const shown = this.history;
    this.history = new StepHistory(steps);
    if (shown.latest) {
      this.history.take({ ...shown.latest, steps: shown.steps });
      this.show();
    }
    // More are to be had than are here: ask for all.
    if (steps > shown.limit) this.history.clear();
    this.onHurry?.();
  }

  async ask(signal) {
    const { history } = this;
    try {
      await refresh(history, (question) => observeJob(this.name, question, signal));
    } catch (error) {
      if (error.isAbsence) this.showGone();
      throw error;
    }
    if (history === this.history) this.show();
  }

  showGone() {
    this.gone.hidden = false;
    this.panels.hidden = true;
    this.summary.element.classList.add("without-figures");
    this.history.clear();
    this.forgetPlan();
    this.plan.showNothing();
  }

  show() {
    const { latest, steps } = this.history;
    if (this.shown && !sameHistory(this.shown, latest)) this.forgetPlan();
    this.shown = latest;
    if (!this.gone.hidden) {
      this.gone.hidden = true;
      this.panels.hidden = false;
      this.summary.element.classList.remove("without-figures");
    }
    this.chooseFirst(steps, latest.job.oldestStep);
    this.summary.show(latest, steps);
    const [bars, imbalance, queues, delay] = this.charts;
    bars.show(steps, this.chosen, latest.job.oldestStep);
    imbalance.show(steps, latest.totals);
    queues.show(steps, latest.queues, latest.job);
    delay.show(latest.totals);
    this.plan.setStreams(latest.job.streams.map(({ name }) => name));
    this.streams.show(latest.job);
    this.subscribers.show(latest, Date.now());
    this.panels.setAttribute("data-next-step", latest.job.nextStep);
    if (this.planOwed) this.askPlan();
  }

  // What is shown or asked for is of a history that is no more.
  forgetPlan() {
    this.shown = undefined;
    this.passedOver = undefined;
    this.planRequest?.abort();
    if (this.choseItself) this.chosen = undefined;
    this.planOwed = this.chosen !== undefined;
  }

  // The slowest micro-batch of the last step whose plan is kept, so that there is
  // something to see.
  chooseFirst(steps, oldestStep) {
    if (this.chosen) return;
    const last = steps.filter(({ workload }) => workload.length > 0).at(-1);
    if (!last) {
      this.plan.showNothing();
      return;
    }
    if (last.index < oldestStep) {
      this.plan.showNote("No step's plan is kept: every rank has made all steps durable.");
      return;
    }
    if (last.index === this.passedOver) return;
    const slowest = last.workload.reduce((best, work, i) =>
      (work > last.workload[best] ? i : best), 0);
    this.chosen = { step: last.index, microBatch: slowest };
    this.choseItself = true;
    this.planOwed = true;
  }

  choose(step, microBatch) {
    this.chosen = { step, microBatch };
    this.choseItself = false;
    this.onRoute({ job: this.name, step, microBatch });
    this.bars.choose(this.chosen);
    this.planOwed = true;
    this.askPlan();
  }

  // Of a job that was not heard of yet it stays owed, as of a step to come.
  askPlan() {
    this.planRequest?.abort();
    const job = this.history.latest?.job;
    if (!job) return;
    const { step } = this.chosen;
    if (step >= job.nextStep) {
      this.noteNoPlan("the step is not decided yet");
      return;
    }
    this.planOwed = false;
    if (step < job.oldestStep) {
      this.noteNoPlan("every rank has made the step durable, so its plan is no longer kept");
      this.passOver();
      return;
    }
    this.fetchPlan();
  }

  async fetchPlan() {
    const { step, microBatch } = this.chosen;
    const request = new AbortController();
    this.planRequest = request;
    try {
      const json = await observeMicroBatch(this.name, step, microBatch, request.signal);
      this.plan.show(step, readMicroBatch(json));
    } catch (error) {
      if (request.signal.aborted) return;
      this.noteNoPlan(error.message);
      this.planOwed = Boolean(error.isPassing);
      if (!this.planOwed) this.passOver();
    }
  }

  // What nobody chose is chosen anew once there is another step.
  passOver() {
    if (!this.choseItself) return;
    this.passedOver = this.chosen.step;
    this.chosen = undefined;
  }

  noteNoPlan(reason) {
    const { step, microBatch } = this.chosen;
    this.plan.showNote(`Micro-batch ${microBatch} of step ${step} can't be shown: ${reason}.`);
  }
}

import { Widget } from '@lumino/widgets';
import { api } from './api';
import { events } from './events';
import { InstancesView } from './instances';
import type { DagDetail, RunSummary } from './wire';
import { element, lookOf, words } from './view/looks';
import { RunView } from './view/run';

const label = (run: RunSummary) => `${lookOf(run.state).sign} ${run.run_id} (${words(run.state)})`;
const isOver = (run: RunSummary) => run.state === 'success' || run.state === 'failed';

/** A DAG in the main area: its graph, any of its runs live, and what lies behind each box. */
export class DagView extends Widget {
  private readonly choice = element('select', '');
  private readonly note = element('div', 'dagbook-note');
  private readonly stage = element('div', '');
  private readonly cancel: HTMLButtonElement;
  private readonly instances = new InstancesView();
  private view: RunView | null = null;
  private run: string | null = null;
  private leaveRun: (() => void) | null = null;
  private readonly leaveList: () => void;
  private detail: DagDetail | null = null;

  constructor(private readonly dagId: string) {
    super();
    this.addClass('dagbook');
    this.addClass('dagbook-dag');
    this.choice.setAttribute('aria-label', 'Run');
    this.choice.addEventListener('change', () => this.look(this.choice.value || null));
    this.cancel = this.button('Cancel run', async () => void (this.run && (await api.cancel(this.dagId, this.run))));
    const bar = element('div', 'dagbook-bar');
    bar.append(element('h2', '', dagId), this.choice, this.button('▶ Run', () => this.trigger()), this.cancel);
    this.node.append(bar, this.note, this.stage, this.instances.node);
    this.leaveList = events.watchList(() => void this.refresh());
    void this.refresh();
  }

  dispose(): void {
    this.leaveList();
    this.leaveRun?.();
    this.view?.dispose();
    super.dispose();
  }

  private async trigger(): Promise<void> {
    const made = await api.trigger(this.dagId);
    this.run = null;
    await this.refresh(made.run.run_id);
  }

  private async refresh(wanted?: string): Promise<void> {
    try {
      const runs = await api.runs(this.dagId);
      this.detail ??= await api.dag(this.dagId);
      this.note.textContent = runs.length ? '' : 'It has not run yet.';
      this.offer(runs);
      const next = wanted ?? this.run ?? runs[0]?.run_id ?? null;
      if (next !== this.run || !this.view) {
        this.look(next);
      }
      this.cancel.hidden = !runs.some(r => r.run_id === this.run && !isOver(r));
    } catch (error) {
      this.note.textContent = (error as Error).message;
    }
  }

  private offer(runs: RunSummary[]): void {
    this.choice.hidden = !runs.length;
    this.choice.replaceChildren(
      ...runs.map(run => {
        const option = element('option', '', label(run));
        option.value = run.run_id;
        return option;
      })
    );
    if (this.run) {
      this.choice.value = this.run;
    }
  }

  /** The run that is looked at comes by its own events, sooner than the list. */
  private relabel(run: RunSummary): void {
    const option = Array.from(this.choice.options).find(o => o.value === run.run_id);
    if (option) {
      option.textContent = label(run);
    }
    this.cancel.hidden = isOver(run);
  }

  private look(run: string | null): void {
    this.run = run;
    this.leaveRun?.();
    this.view?.dispose();
    this.instances.clear();
    this.view = new RunView(this.stage, run ? task => void this.instances.show(this.dagId, run, task) : undefined);
    if (run) {
      this.choice.value = run;
      this.leaveRun = events.watchRun(this.dagId, run, event => {
        this.view?.update(event);
        this.relabel(event.detail.run);
        void this.instances.refresh();
      });
    } else if (this.detail) {
      this.view.outline(this.dagId, this.detail.tasks, this.detail.dag.schedule ?? 'by hand');
    }
  }

  private button(text: string, act: () => Promise<unknown>): HTMLButtonElement {
    const button = element('button', 'dagbook-button', text);
    button.addEventListener('click', () => {
      act().catch(error => (this.note.textContent = (error as Error).message));
    });
    return button;
  }
}

import { Widget } from '@lumino/widgets';
import { api } from './api';
import { events } from './events';
import type { DagSummary } from './wire';
import { element, lookOf, words } from './view/looks';

/** The side panel: every DAG with its last runs; search, pause, run, open. */
export class DagsPanel extends Widget {
  private readonly search = element('input', '');
  private readonly list = element('ul', 'dagbook-list');
  private readonly note = element('div', 'dagbook-note');
  private leave: (() => void) | null = null;
  private asked = 0;

  constructor(private readonly open: (dagId: string) => void) {
    super();
    this.addClass('dagbook');
    this.addClass('dagbook-panel');
    this.search.type = 'search';
    this.search.placeholder = 'Search DAGs';
    this.search.setAttribute('aria-label', 'Search DAGs');
    this.search.addEventListener('input', () => void this.refresh());
    const header = element('header', '');
    header.append(this.search);
    this.node.append(header, this.note, this.list);
  }

  protected onAfterShow(): void {
    this.leave ??= events.watchList(() => void this.refresh());
    void this.refresh();
  }

  protected onAfterHide(): void {
    this.leave?.();
    this.leave = null;
  }

  async refresh(): Promise<void> {
    const asked = ++this.asked;
    try {
      const dags = await api.dags(this.search.value);
      if (asked === this.asked) {
        this.say(dags.length ? '' : this.search.value ? 'No DAG matches.' : 'No DAGs yet. Make one in a notebook cell: %%dag my_dag');
        this.list.replaceChildren(...dags.map(dag => this.row(dag)));
      }
    } catch (error) {
      this.fail(error);
    }
  }

  private say(text: string): void {
    delete this.note.dataset.look;
    this.note.textContent = text;
  }

  private fail(error: unknown): void {
    this.note.dataset.look = 'bad';
    this.note.textContent = (error as Error).message;
  }

  private row(dag: DagSummary): HTMLElement {
    const row = element('li', 'dagbook-row');
    row.dataset.dag = dag.dag_id;
    const first = element('div', 'dagbook-line');
    const name = element('button', 'dagbook-name', dag.dag_id);
    name.title = dag.description ?? dag.dag_id;
    row.addEventListener('click', () => this.open(dag.dag_id));
    first.append(name, this.button('▶ Run', `Run ${dag.dag_id}`, () => api.trigger(dag.dag_id)));
    if (!dag.is_draft) {
      const verb = dag.is_paused ? 'Unpause' : 'Pause';
      first.append(this.button(verb, `${verb} ${dag.dag_id}`, () => api.pause(dag.dag_id, !dag.is_paused)));
    }
    const second = element('div', 'dagbook-line');
    second.append(element('span', 'dagbook-tag', dag.is_draft ? 'draft' : dag.is_paused ? 'paused' : 'on'));
    const next = dag.next_run ? ` · next ${dag.next_run.slice(0, 16).replace('T', ' ')}` : '';
    second.append(element('span', 'dagbook-faint', `${dag.schedule ?? 'by hand'}${next}`), this.dots(dag));
    row.append(first, second);
    return row;
  }

  private dots(dag: DagSummary): HTMLElement {
    const dots = element('span', 'dagbook-dots');
    for (const run of dag.recent_runs.slice(0, 8).reverse()) {
      const { look, sign } = lookOf(run.state);
      const dot = element('span', 'dagbook-dot', sign);
      dot.dataset.look = look;
      dot.title = `${run.run_id}: ${words(run.state)}`;
      dots.append(dot);
    }
    dots.setAttribute('aria-label', `last runs: ${dag.recent_runs.map(r => words(r.state)).join(', ') || 'none'}`);
    return dots;
  }

  private button(text: string, label: string, act: () => Promise<unknown>): HTMLButtonElement {
    const button = element('button', 'dagbook-button', text);
    button.setAttribute('aria-label', label);
    button.addEventListener('click', event => {
      event.stopPropagation();
      button.disabled = true;
      act().then(() => this.refresh(), error => this.fail(error)).finally(() => (button.disabled = false));
    });
    return button;
  }
}

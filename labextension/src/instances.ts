import { api } from './api';
import type { InstanceDetail } from './wire';
import { duration, element, lookOf, words } from './view/looks';

/** What lies behind one box of the graph: its instances, and the log of the one that is chosen. */
export class InstancesView {
  readonly node = element('div', 'dagbook-detail');
  private readonly title = element('h3', '');
  private readonly table = element('table', '');
  private readonly log = element('pre', 'dagbook-text');
  private shown: { dag: string; run: string; task: string } | null = null;
  private chosen = -1;
  private busy = false;

  constructor() {
    this.clear();
    this.node.append(this.title, this.table, this.log);
  }

  clear(): void {
    this.shown = null;
    this.node.hidden = true;
  }

  async show(dag: string, run: string, task: string): Promise<void> {
    this.shown = { dag, run, task };
    this.chosen = -1;
    this.node.hidden = false;
    this.title.textContent = task;
    this.log.textContent = '';
    this.busy = false;
    await this.refresh();
  }

  async refresh(): Promise<void> {
    const at = this.shown;
    if (!at || this.busy) {
      return;
    }
    this.busy = true;
    try {
      const found = await api.instances(at.dag, at.run, at.task);
      if (at !== this.shown) {
        return;
      }
      this.chosen = found.some(i => i.map_index === this.chosen) ? this.chosen : (telling(found)?.map_index ?? -1);
      this.table.replaceChildren(header(), ...found.map(i => this.row(i)));
      if (found.length) {
        const chunk = await api.log(at.dag, at.run, at.task, this.chosen);
        this.log.textContent = chunk.text || '(nothing was written to its log)';
      }
    } catch (error) {
      this.log.textContent = (error as Error).message;
    } finally {
      this.busy = false;
    }
  }

  private row(instance: InstanceDetail): HTMLElement {
    const row = element('tr', '');
    row.tabIndex = 0;
    row.setAttribute('aria-selected', String(instance.map_index === this.chosen));
    const { look, sign } = lookOf(instance.state);
    const state = element('td', 'state', `${sign} ${words(instance.state)}`);
    state.dataset.look = look;
    const name = instance.map_index < 0 ? '–' : `[${instance.map_index}] ${instance.label ?? ''}`;
    row.append(
      element('td', '', name),
      state,
      element('td', '', duration(instance.start_date, instance.end_date)),
      element('td', '', String(instance.try_number)),
      element('td', '', instance.reason ?? '')
    );
    const choose = (): void => {
      this.chosen = instance.map_index;
      void this.refresh();
    };
    row.addEventListener('click', choose);
    row.addEventListener('keydown', event => event.key === 'Enter' && choose());
    return row;
  }
}

function telling(found: InstanceDetail[]): InstanceDetail | undefined {
  return found.find(i => i.state === 'failed') ?? found.find(i => i.state === 'running') ?? found[0];
}

function header(): HTMLElement {
  const row = element('tr', '');
  row.append(...['instance', 'state', 'took', 'try', 'reason'].map(word => element('th', '', word)));
  return row;
}

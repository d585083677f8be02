import type { RunDetail, TaskNode } from '../wire';
import { GraphView } from './graph';
import { duration, element, lookOf, words } from './looks';

/** What a picture needs; the event stream and a saved output both have it. */
export interface Picture {
  detail: RunDetail;
  log_tail?: string;
  log_task?: string | null;
}

/** A run: its state, its graph, the tail of the log that tells most.  Updated in place. */
export class RunView {
  private readonly root = element('div', 'dagbook dagbook-run');
  private readonly title = element('span', 'dagbook-title');
  private readonly pill = element('span', 'dagbook-pill');
  private readonly facts = element('span', 'dagbook-faint');
  private readonly reason = element('span', 'dagbook-reason');
  private readonly canvas = element('div', 'dagbook-graph');
  private readonly log = element('div', 'dagbook-log');
  private readonly logTitle = element('b', '');
  private readonly logText = element('pre', 'dagbook-text');
  private graph: GraphView | null = null;
  private shape = '';
  private picture: Picture | null = null;
  /** Milliseconds by which the server's clock is ahead of this one. */
  private ahead = 0;
  private readonly ticking: number;

  constructor(
    host: HTMLElement,
    private readonly onNode?: (taskId: string) => void
  ) {
    const head = element('div', 'dagbook-head');
    head.append(this.title, this.pill, this.facts, this.reason);
    this.log.append(this.logTitle, this.logText);
    this.log.hidden = true;
    this.pill.setAttribute('role', 'status');
    this.root.append(head, this.canvas, this.log);
    host.append(this.root);
    this.ticking = window.setInterval(() => this.tick(), 500);
  }

  update(picture: Picture): void {
    this.picture = picture;
    const { run, nodes, now } = picture.detail;
    this.ahead = run.end_date ? 0 : Date.parse(now) - Date.now();
    this.title.textContent = run.dag_id;
    const { look, sign } = lookOf(run.state);
    this.pill.dataset.look = look;
    this.pill.dataset.state = run.state;
    this.pill.textContent = `${sign} ${words(run.state)}`;
    this.reason.textContent = run.reason ?? '';
    this.draw(nodes);
    this.tick();
    this.log.hidden = !(picture.log_tail ?? '').trim();
    this.logTitle.textContent = picture.log_task ?? '';
    this.follow(picture.log_tail ?? '');
  }

  /** A DAG that has not run. */
  outline(title: string, nodes: TaskNode[], note: string): void {
    this.title.textContent = title;
    this.pill.hidden = true;
    this.facts.textContent = note;
    this.draw(nodes);
  }

  dispose(): void {
    window.clearInterval(this.ticking);
    this.root.remove();
  }

  private draw(nodes: TaskNode[]): void {
    const shape = JSON.stringify(nodes.map(n => [n.task_id, n.upstream]));
    if (shape !== this.shape) {
      this.shape = shape;
      this.graph = new GraphView(this.canvas, nodes, this.onNode);
    }
  }

  private tick(): void {
    if (!this.picture) {
      return;
    }
    const { run, tasks } = this.picture.detail;
    const now = Date.now() + this.ahead;
    const took = duration(run.start_date, run.end_date ?? now);
    this.facts.textContent = [run.run_id, took].filter(Boolean).join(' · ');
    this.graph?.update(tasks, now);
    if (run.end_date) {
      window.clearInterval(this.ticking);
    }
  }

  /** Stay at the log's end unless its reader has scrolled up. */
  private follow(text: string): void {
    const at = this.logText;
    const atEnd = at.scrollTop + at.clientHeight >= at.scrollHeight - 4;
    if (at.textContent !== text) {
      at.textContent = text;
      if (atEnd) {
        at.scrollTop = at.scrollHeight;
      }
    }
  }
}

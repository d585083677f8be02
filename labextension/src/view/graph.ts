import * as dagre from '@dagrejs/dagre';
import type { TaskNode, TaskProgress } from '../wire';
import { duration, lookOf, words } from './looks';

const SVG = 'http://www.w3.org/2000/svg';
const HEIGHT = 54;
const NONE: TaskProgress = {
  task_id: '',
  state: 'none',
  counts: {},
  expanded: null,
  start_date: null,
  end_date: null,
  try_number: 0,
  reason: null
};
let graphs = 0;

function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number>
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, String(value));
  }
  return made;
}

/** One task's box: made once, then only its words and colours change. */
class NodeBox {
  readonly group = svg('g', { class: 'dagbook-node' });
  private readonly words = svg('text', { class: 'words', x: 14, y: 42 });
  private readonly time: SVGTextElement;
  private readonly hint = document.createElementNS(SVG, 'title');
  private readonly progress: SVGRectElement | null = null;

  constructor(
    private readonly node: TaskNode,
    x: number,
    y: number,
    private readonly width: number
  ) {
    this.group.setAttribute('transform', `translate(${x},${y})`);
    if (node.mapped) {
      this.group.append(svg('rect', { class: 'stack', x: 5, y: 5, width, height: HEIGHT, rx: 6 }));
    }
    this.group.append(this.hint, svg('rect', { class: 'box', width, height: HEIGHT, rx: 6 }));
    this.group.append(svg('rect', { class: 'bar', width: 5, height: HEIGHT, rx: 2 }));
    const name = svg('text', { x: 14, y: 22 });
    name.textContent = shortened(node.task_id);
    this.time = svg('text', { class: 'time', x: width - 10, y: 42, 'text-anchor': 'end' });
    this.group.append(name, this.words, this.time);
    if (node.mapped) {
      this.group.append(svg('rect', { class: 'track', x: 14, y: HEIGHT - 7, width: width - 24, height: 3, rx: 1.5 }));
      this.progress = svg('rect', { class: 'bar', x: 14, y: HEIGHT - 7, width: 0, height: 3, rx: 1.5 });
      this.group.append(this.progress);
    }
  }

  update(task: TaskProgress, now: number): void {
    const { look, sign } = lookOf(task.state);
    this.group.setAttribute('data-look', look);
    this.group.setAttribute('data-task', this.node.task_id);
    this.group.setAttribute('data-state', task.state);
    this.words.textContent = task === NONE ? this.node.operator : task.expanded === null ? `${sign} ${words(task.state)}` : counts(task);
    this.time.textContent = duration(task.start_date, task.end_date ?? (task.state === 'running' ? now : null));
    this.hint.textContent = [`${this.node.task_id}: ${words(task.state)}`, task.reason ?? '', place(this.node)].filter(Boolean).join('\n');
    this.group.setAttribute('aria-label', `task ${this.node.task_id}, ${words(task.state)}`);
    if (this.progress) {
      const all = task.expanded ?? 0;
      const done = ['success', 'failed', 'skipped', 'upstream_failed'].reduce((n, s) => n + (task.counts[s] ?? 0), 0);
      this.progress.setAttribute('width', String(all ? (done / all) * (this.width - 24) : 0));
    }
  }
}

function counts(task: TaskProgress): string {
  const parts = Object.entries(task.counts).sort((a, b) => b[1] - a[1]);
  return parts.map(([state, n]) => `${n} ${lookOf(state).sign}`).join('  ') || '0 instances';
}

function place(node: TaskNode): string {
  return node.origin ? `${node.origin}, line ${node.line}` : '';
}

function shortened(word: string): string {
  return word.length > 30 ? `${word.slice(0, 29)}…` : word;
}

function path(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  let d = `M${first.x} ${first.y}`;
  for (let i = 0; i < rest.length; i++) {
    const from = i === 0 ? first : rest[i - 1];
    const middle = (from.x + rest[i].x) / 2;
    d += ` C${middle} ${from.y} ${middle} ${rest[i].y} ${rest[i].x} ${rest[i].y}`;
  }
  return d;
}

/** The graph of a DAG, laid out once. */
export class GraphView {
  private readonly boxes = new Map<string, NodeBox>();

  constructor(host: HTMLElement, nodes: TaskNode[], onNode?: (taskId: string) => void) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: 'LR', nodesep: 16, ranksep: 48, marginx: 8, marginy: 10 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const node of nodes) {
      graph.setNode(node.task_id, { width: Math.max(160, Math.min(node.task_id.length, 30) * 8 + 34), height: HEIGHT });
    }
    for (const node of nodes) {
      node.upstream.filter(u => graph.hasNode(u)).forEach(u => graph.setEdge(u, node.task_id));
    }
    dagre.layout(graph);
    const { width = 0, height = 0 } = graph.graph();
    const canvas = svg('svg', { viewBox: `0 0 ${width + 8} ${height + 8}`, role: 'group', 'aria-label': `graph of ${nodes.length} tasks` });
    // It shrinks to the room there is, but never until its words can't be read; then it scrolls.
    canvas.style.cssText = `width:100%;max-width:${width + 8}px;min-width:${0.7 * (width + 8)}px`;
    const arrow = `dagbook-arrow-${++graphs}`;
    canvas.append(this.marker(arrow));
    for (const edge of graph.edges()) {
      const line = svg('path', { class: 'dagbook-edge', d: path(graph.edge(edge).points), 'marker-end': `url(#${arrow})` });
      canvas.append(line);
    }
    for (const node of nodes) {
      const at = graph.node(node.task_id);
      const box = new NodeBox(node, at.x - at.width / 2, at.y - at.height / 2, at.width);
      this.boxes.set(node.task_id, box);
      if (onNode) {
        this.makeButton(box.group, () => onNode(node.task_id));
      }
      canvas.append(box.group);
    }
    host.replaceChildren(canvas);
    this.update([], Date.now());
  }

  update(tasks: TaskProgress[], now: number): void {
    const known = new Map(tasks.map(t => [t.task_id, t]));
    this.boxes.forEach((box, id) => box.update(known.get(id) ?? NONE, now));
  }

  private marker(id: string): SVGDefsElement {
    const defs = svg('defs', {});
    const marker = svg('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' });
    marker.append(svg('path', { class: 'dagbook-arrow', d: 'M0 0 L8 4 L0 8 z' }));
    defs.append(marker);
    return defs;
  }

  private makeButton(group: SVGGElement, act: () => void): void {
    group.setAttribute('role', 'button');
    group.setAttribute('tabindex', '0');
    group.addEventListener('click', act);
    group.addEventListener('keydown', event => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        act();
      }
    });
  }
}

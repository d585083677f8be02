import { eventsUrl } from './api';
import type { Event, RunEvent } from './wire';

type RunWatcher = (event: RunEvent) => void;
type ListWatcher = () => void;

/** One connection for everything that this page watches; taken up again when it breaks. */
class Events {
  private socket: WebSocket | null = null;
  private readonly runs = new Map<string, Set<RunWatcher>>();
  private readonly lists = new Set<ListWatcher>();
  private pause = 500;

  /** Pictures of a run until the function that is returned is called. */
  watchRun(dag: string, run: string, watcher: RunWatcher): () => void {
    const key = JSON.stringify([dag, run]);
    const watchers = this.runs.get(key) ?? new Set();
    this.runs.set(key, watchers.add(watcher));
    this.say({ type: 'subscribe', dag_id: dag, run_id: run });
    return () => {
      watchers.delete(watcher);
      if (!watchers.size) {
        this.runs.delete(key);
      }
      this.closeIfIdle();
    };
  }

  /** Told whenever something in the list of DAGs may have changed. */
  watchList(watcher: ListWatcher): () => void {
    this.lists.add(watcher);
    this.say({ type: 'subscribe' });
    return () => {
      this.lists.delete(watcher);
      this.closeIfIdle();
    };
  }

  private say(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(message));
    } else if (!this.socket) {
      this.connect();
    }
  }

  private connect(): void {
    const socket = new WebSocket(eventsUrl());
    this.socket = socket;
    socket.onopen = () => {
      this.pause = 500;
      if (this.lists.size) {
        this.say({ type: 'subscribe' });
        this.lists.forEach(watcher => watcher());
      }
      for (const key of this.runs.keys()) {
        const [dag_id, run_id] = JSON.parse(key);
        this.say({ type: 'subscribe', dag_id, run_id });
      }
    };
    socket.onmessage = message => this.hear(JSON.parse(message.data) as Event);
    socket.onclose = () => {
      this.socket = null;
      if (this.runs.size || this.lists.size) {
        window.setTimeout(() => this.socket ?? this.connect(), this.pause);
        this.pause = Math.min(this.pause * 2, 10000);
      }
    };
  }

  private hear(event: Event): void {
    if (event.type === 'run') {
      const { dag_id, run_id } = event.detail.run;
      this.runs.get(JSON.stringify([dag_id, run_id]))?.forEach(watcher => watcher(event));
    } else if (event.type === 'dags') {
      this.lists.forEach(watcher => watcher());
    }
  }

  private closeIfIdle(): void {
    if (!this.runs.size && !this.lists.size) {
      this.socket?.close();
    }
  }
}

export const events = new Events();

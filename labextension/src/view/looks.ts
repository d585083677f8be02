import type { RunState, TaskState } from '../wire';

/** How a state looks: a colour class and a sign, so that colour alone never tells. */
export interface Look {
  look: string;
  sign: string;
}

const LOOKS: Record<TaskState | RunState, Look> = {
  none: { look: 'none', sign: '○' },
  scheduled: { look: 'none', sign: '◔' },
  queued: { look: 'wait', sign: '◑' },
  running: { look: 'run', sign: '▶' },
  deferred: { look: 'defer', sign: '⏸' },
  up_for_reschedule: { look: 'wait', sign: '↻' },
  up_for_retry: { look: 'warn', sign: '↻' },
  restarting: { look: 'warn', sign: '↻' },
  success: { look: 'good', sign: '✔' },
  failed: { look: 'bad', sign: '✘' },
  skipped: { look: 'skip', sign: '⤼' },
  upstream_failed: { look: 'warn', sign: '⚠' },
  removed: { look: 'none', sign: '–' }
};

export function lookOf(state: string): Look {
  return LOOKS[state as TaskState] ?? LOOKS.none;
}

export function words(state: string): string {
  return state.replace(/_/g, ' ');
}

/** "4.2 s", "3 min 5 s", "2 h 4 min"; empty where it has not begun. */
export function duration(start: string | null, end: string | null | number): string {
  if (!start || end === null) {
    return '';
  }
  const until = typeof end === 'number' ? end : Date.parse(end);
  const seconds = Math.max((until - Date.parse(start)) / 1000, 0);
  if (seconds < 60) {
    return `${seconds.toFixed(1)} s`;
  }
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** An element with text; text is only ever text. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  text = ''
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}
